/**
 * Parses the trust file of a host: the signers whose signatures a config needs before the host starts it. docs/signing.md shows the
 * format.
 */
import type { Entry, Position, Value } from '../../go/yaml/value.js';
import { DocumentError, readDocument } from '../document.js';
import { type AllowedSigner, parseAllowedSigner, parsePublicKey } from './allowed-signers.js';
import { poolName } from './statement.js';

export interface Trust {
  /** Undefined: the host accepts only statements without pools. */
  pool: string | undefined;
  /** How many distinct principals must have signed. */
  threshold: number;
  signers: AllowedSigner[];
  /** Fingerprints of keys. */
  revoked: ReadonlySet<string>;
}

const known = ['apiVersion', 'kind', 'pool', 'threshold', 'signers', 'revoked'] as const;
const header = { apiVersion: 'relet.dev/v1alpha1', kind: 'Trust' };

type Fail = (at: Position, why: string) => never;

/** Throws an Error that names the line: a file that is only partly read would not protect the host. */
export function parseTrust(text: string, file: string): Trust {
  const fail: Fail = ({ line }, why) => {
    throw new Error(`trust file ${file}, line ${line}: ${why}`);
  };
  const fields = fieldsOf(text, fail);
  for (const [name, wanted] of Object.entries(header))
    if (textAt(fields, name, fail) !== wanted)
      fail(fields.get(name)?.at ?? { line: 1, column: 1 }, `${name} must be ${wanted}`);
  const signers = itemsOf(fields, 'signers', fail, parseAllowedSigner);
  checkPersons(signers, fail);
  const persons = new Set(signers.map(({ value }) => value.principal)).size;
  return {
    pool: textAt(fields, 'pool', fail, poolName),
    threshold: thresholdOf(fields.get('threshold'), persons, fail),
    signers: signers.map(({ value }) => value),
    revoked: new Set(itemsOf(fields, 'revoked', fail, fingerprintIn).map(({ value }) => value)),
  };
}

function fieldsOf(text: string, fail: Fail): Map<string, Value> {
  const first = { line: 1, column: 1 };
  let entries: Entry[] = [];
  try {
    const { value, duplicates } = readDocument(text);
    if (value.kind !== 'object') return fail(first, 'must be a mapping with signers');
    if (duplicates[0]) return fail(duplicates[0].at, duplicates[0].message);
    entries = value.entries;
  } catch (error) {
    if (error instanceof DocumentError) return fail(error.at, error.message);
    throw error;
  }
  for (const { key, keyAt } of entries)
    if (!known.some((name) => name === key)) fail(keyAt, `${key} is not known; known are ${known.join(', ')}`);
  const fields = new Map(entries.map(({ key, value }) => [key, value]));
  if (!fields.has('signers')) fail(first, 'signers must be a list');
  return fields;
}

function textAt(fields: Map<string, Value>, name: string, fail: Fail, form = /^/): string | undefined {
  const value = fields.get(name);
  if (value === undefined) return undefined;
  if (value.kind !== 'string' || !form.test(value.value))
    return fail(value.at, `${name} must be a name of letters, digits, '-', '.' and '_', in quotes if it is a number`);
  return value.value;
}

function thresholdOf(value: Value | undefined, persons: number, fail: Fail): number {
  if (value === undefined) return 1;
  const number = value.kind === 'number' ? Number(value.text) : Number.NaN;
  if (!Number.isInteger(number) || number < 1) return fail(value.at, 'threshold must be a whole number of at least 1');
  if (number > persons)
    return fail(value.at, `threshold is ${number} and signers has ${persons} principals: nothing could be accepted`);
  return number;
}

function itemsOf<T>(
  fields: Map<string, Value>,
  name: string,
  fail: Fail,
  parse: (line: string) => T,
): { value: T; at: Position }[] {
  const list = fields.get(name);
  if (list === undefined) return [];
  if (list.kind !== 'array') return fail(list.at, `${name} must be a list`);
  return list.items.map((item) => {
    if (item.kind !== 'string') return fail(item.at, `${name} must be a list of lines`);
    try {
      return { value: parse(item.value), at: item.at };
    } catch (error) {
      return fail(item.at, (error as Error).message);
    }
  });
}

/** One key for two principals would let one person be two. */
function checkPersons(signers: { value: AllowedSigner; at: Position }[], fail: Fail): void {
  const personOf = new Map<string, string>();
  for (const { value, at } of signers) {
    const { fingerprint, principal } = value;
    const other = personOf.get(fingerprint) ?? principal;
    if (other !== principal)
      fail(at, `the key of ${principal} is also that of ${other}: a threshold counts principals`);
    personOf.set(fingerprint, principal);
  }
}

function fingerprintIn(line: string): string {
  if (/^SHA256:[A-Za-z0-9+/]{43}$/.test(line.trim())) return line.trim();
  return parsePublicKey(line).fingerprint;
}

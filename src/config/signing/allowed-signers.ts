/**
 * One line of OpenSSH's allowed_signers: `ann@example.com namespaces="…",valid-before="20271231Z" ssh-ed25519 AAAA…`.
 * Stricter than OpenSSH where a threshold counts persons, or where two hosts could read a line in two ways.
 */
import { signatureNamespace } from '../../api/signing.js';
import { readPublicKey } from './public-key.js';
import { decodeBase64 } from './signatures.js';

export interface AllowedSigner {
  /** The person, or the program. A threshold counts these. */
  principal: string;
  keyType: string;
  /** Base64. */
  key: string;
  fingerprint: string;
  /** Patterns, of which one that begins with ! excludes. */
  namespaces?: string[];
  /** UTC seconds. */
  validAfter?: number;
  /** UTC seconds. */
  validBefore?: number;
}

const lineParts = /^(\S+)\s+(?:((?:[^\s"]|"[^"]*")+)\s+)??([-@.a-z0-9]+)\s+([A-Za-z0-9+/=]+)(?:\s.*)?$/;
const option = /([^=",]+)(?:="([^"]*)")?(?:,|$)/y;

/** Throws an Error with what is wrong. */
export function parseAllowedSigner(line: string): AllowedSigner {
  const [, principal, options, keyType, key] = lineParts.exec(line.trim()) ?? [];
  if (principal === undefined || key === undefined)
    throw new Error('must be a principal, options if any, and a public key, as in allowed_signers of OpenSSH');
  if (/[*?!,"]/.test(principal) || principal.length > 253)
    throw new Error(`${principal} must be one principal without wildcards: a threshold counts principals`);
  return { principal, ...parsePublicKey(`${keyType} ${key}`), ...(options !== undefined && optionsOf(options)) };
}

/** `ssh-ed25519 AAAA… comment`. Throws an Error with what is wrong. */
export function parsePublicKey(text: string): Pick<AllowedSigner, 'keyType' | 'key' | 'fingerprint'> {
  const [keyType, key = ''] = text.trim().split(/\s+/);
  let type: string;
  let fingerprint: string;
  try {
    ({ type, fingerprint } = readPublicKey(decodeBase64(key)));
  } catch (cause) {
    throw new Error(`the public key cannot be read: ${(cause as Error).message}`, { cause });
  }
  if (type !== keyType) throw new Error(`the public key is of type ${type}, the line says ${keyType}`);
  return { keyType, key, fingerprint };
}

/** Whether the line is for configs. */
export function isForConfigs({ namespaces }: AllowedSigner): boolean {
  if (namespaces === undefined) return true;
  const matches = (pattern: string) => globOf(pattern).test(signatureNamespace);
  if (namespaces.some((pattern) => pattern.startsWith('!') && matches(pattern.slice(1)))) return false;
  return namespaces.some(matches);
}

function optionsOf(text: string): Pick<AllowedSigner, 'namespaces' | 'validAfter' | 'validBefore'> {
  const given = new Map<string, string | undefined>();
  option.lastIndex = 0;
  for (let at = 0; at < text.length; at = option.lastIndex) {
    const found = option.exec(text);
    if (found === null) throw new Error(`its options ${text} cannot be read`);
    const name = found[1]!.toLowerCase();
    if (given.has(name)) throw new Error(`the option ${name} is given twice`);
    given.set(name, found[2]);
  }
  const signer: ReturnType<typeof optionsOf> = {};
  for (const [name, value] of given) {
    if (name === 'cert-authority')
      throw new Error('cert-authority is not supported: list the key of each signer, without a certificate');
    if (value === undefined) throw new Error(`the option ${name} has no value in quotes`);
    if (name === 'namespaces') signer.namespaces = value.split(',');
    else if (name === 'valid-after') signer.validAfter = timeOf(name, value);
    else if (name === 'valid-before') signer.validBefore = timeOf(name, value);
    else throw new Error(`the option ${name} is not known; known are namespaces, valid-after and valid-before`);
  }
  return signer;
}

const timeForm = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?Z$/;

function timeOf(name: string, text: string): number {
  const parts = timeForm.exec(text);
  const [year, month, day, hour, minute, second] = (parts ?? []).slice(1).map((part) => part ?? '00');
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const ms = parts === null ? Number.NaN : Date.parse(iso);
  // Date.parse() reads 30 February as 2 March.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== iso)
    throw new Error(
      `${name}="${text}" must be YYYYMMDDZ or YYYYMMDDHHMM[SS]Z; without Z each host would use its own time zone`,
    );
  return ms / 1000;
}

function globOf(pattern: string): RegExp {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`);
}

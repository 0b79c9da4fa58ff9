/**
 * Signs a config: makes the statement over its bytes, and adds one signature. A signed config keeps its statement, so that several
 * people sign the same text one after the other; other bytes, or other options, make a new statement.
 */
import { CannotRun } from '../../cannot-run.js';
import { rfc3339 } from '../../clock.js';
import { readSignatures, type Signature, whyInvalid } from '../../config/signing/signatures.js';
import {
  contentDigest,
  contentOf,
  formatStatement,
  parseStatement,
  type Statement,
} from '../../config/signing/statement.js';
import { sshSignature } from './ssh-keygen.js';

export interface StatementOptions {
  pools?: string[];
  serial?: number;
  floor?: number;
  /** False: nodes must not roll back to the config before. */
  return?: boolean;
  /** UTC seconds. */
  notBefore?: number;
  notAfter?: number;
  /** Annotations that loosen checks, and that the statement covers. */
  annotation?: Record<string, string>;
}

const optionNames = ['pools', 'serial', 'floor', 'notBefore', 'notAfter', 'annotation'] as const;

/** Picks the statement's options that were given to a command. */
export function statementOptions(options: StatementOptions): StatementOptions {
  const given = optionNames.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]]));
  return { ...Object.fromEntries(given), ...(options.return === false && { return: false }) };
}

/** Statement and signatures that a config carries already. */
export interface Signed {
  statement: string;
  /** Each armoured. */
  signatures: string[];
}

export interface ToSign {
  data?: Record<string, string> | undefined;
  binaryData?: Record<string, string> | undefined;
  signed?: Signed | undefined;
}

/** From the cluster, where there is one. */
export interface SigningFacts {
  /** Pools of the nodes that get the config. */
  pools?: string[];
  /** Serial of the config that it replaces. */
  replaced?: number;
}

export interface SigningResult extends Signed {
  facts: Statement;
  keys: string[];
  /** An earlier statement, and how many signatures it had, which do not count for this one. */
  dropped: number | undefined;
}

/** Without a key, only the statement is made, to be signed elsewhere. */
export async function sign(
  config: ToSign,
  options: StatementOptions & { key?: string | undefined },
  { facts = {}, nowMs }: { facts?: SigningFacts; nowMs: number },
): Promise<SigningResult> {
  const before = config.signed && { ...config.signed, facts: factsOf(config.signed.statement) };
  const wanted = statementFor(config, before?.facts, options, { facts, nowMs });
  const statement = format(wanted);
  const kept = before?.statement === statement ? validSignatures(before) : [];
  const dropped = before === undefined || before.statement === statement ? undefined : before.signatures.length;
  const result = { statement, facts: wanted, dropped };
  if (options.key === undefined) return { ...result, ...listed(kept) };
  const added = await signedWith(statement, options.key);
  const others = kept.filter(({ about }) => about.key !== added.about.key);
  return { ...result, ...listed([...others, added]) };
}

/** Returns the existing statement if it has the same content for the same bytes. */
function statementFor(
  { data, binaryData }: ToSign,
  before: Statement | undefined,
  options: StatementOptions,
  { facts, nowMs }: { facts: SigningFacts; nowMs: number },
): Statement {
  const content = contentOf({ data, binaryData, annotations: options.annotation ?? before?.annotations });
  const last = Math.max(before?.serial ?? -1, facts.replaced ?? -1);
  const serial = options.serial ?? Math.max(Math.floor(nowMs / 1000), last + 1);
  const present = before !== undefined && contentDigest(before) === contentDigest(content) ? before : undefined;
  const start = present ?? {
    ...content,
    pools: before?.pools ?? facts.pools ?? [],
    serial,
    floor: before?.serial ?? facts.replaced ?? 0,
  };
  const asked = { ...start, ...defined(options), ...(options.return === false && { floor: start.serial }) };
  if (present !== undefined && sameFacts(asked, present)) return present;
  return { ...asked, serial, floor: options.return === false ? serial : asked.floor };
}

const factNames = ['pools', 'serial', 'floor', 'notBefore', 'notAfter'] as const;

/** Options that name a fact of a statement. */
const defined = (options: StatementOptions): Partial<Statement> =>
  Object.fromEntries(factNames.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])));

const sameFacts = (a: Statement, b: Statement): boolean =>
  contentDigest(a) === contentDigest(b) &&
  factNames.every((name) => JSON.stringify(sorted(a[name])) === JSON.stringify(sorted(b[name])));

const sorted = (value: unknown): unknown => (Array.isArray(value) ? [...value].sort() : value);

function format(facts: Statement): string {
  try {
    return formatStatement(facts);
  } catch (error) {
    throw new CannotRun(`this cannot be signed: ${(error as Error).message}`);
  }
}

export function factsOf(statement: string): Statement {
  try {
    return parseStatement(statement);
  } catch (error) {
    throw new CannotRun(
      `the statement beside the config cannot be read: ${(error as Error).message}; remove it, and sign again`,
    );
  }
}

interface OneSignature {
  text: string;
  about: Signature;
}

/** Signatures of the present statement. Those of another text are left out. */
function validSignatures({ statement, signatures }: Signed): OneSignature[] {
  return signatures.flatMap((text) => {
    try {
      const [about] = readSignatures(text);
      return about !== undefined && whyInvalid(about, statement) === undefined ? [{ text, about }] : [];
    } catch {
      return [];
    }
  });
}

async function signedWith(statement: string, key: string): Promise<OneSignature> {
  const text = await sshSignature(statement, key);
  const [about] = readSignatures(text);
  const why = about === undefined ? 'it is empty' : whyInvalid(about, statement);
  if (about === undefined || why !== undefined)
    throw new CannotRun(`nodes could not verify the signature of ${key} (${why}); use an ed25519 key`);
  return { text, about };
}

const listed = (signatures: readonly OneSignature[]): Pick<SigningResult, 'signatures' | 'keys'> => ({
  signatures: signatures.map(({ text }) => text),
  keys: signatures.map(({ about }) => keyText(about)),
});

/** `SHA256:… (ssh-ed25519)`: how people compare keys; a signature does not have the name of its owner. */
export const keyText = ({ fingerprint, keyType }: Pick<Signature, 'fingerprint' | 'keyType'>): string =>
  `${fingerprint} (${keyType})`;

/** One armoured signature each. */
export const splitSignatures = (text: string): string[] =>
  (text.match(/-----BEGIN SSH SIGNATURE-----[^-]*-----END SSH SIGNATURE-----/g) ?? []).map((one) => `${one}\n`);

/** For a person: `pools gpu, serial 1795030000, floor 1795020000, until 2027-02-18T19:00:00Z`. */
export function statementText({ pools, serial, floor, notBefore, notAfter }: Statement): string {
  const time = (seconds: number) => rfc3339(seconds * 1000);
  return [
    pools.length === 0 ? 'no pool' : `${pools.length === 1 ? 'pool' : 'pools'} ${pools.join(', ')}`,
    `serial ${serial}`,
    `floor ${floor}`,
    ...(notBefore === undefined ? [] : [`from ${time(notBefore)}`]),
    ...(notAfter === undefined ? [] : [`until ${time(notAfter)}`]),
  ].join(', ');
}

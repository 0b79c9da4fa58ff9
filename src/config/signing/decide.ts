/**
 * Decides whether a host accepts a signed config: the statement matches exactly this content, enough people signed it, and it is valid
 * for this host and now. Pure: the host passes its trust file, its clock and its records.
 */
import { type SignatureReason, signaturesAnnotation, statementAnnotation } from '../../api/signing.js';
import { type AllowedSigner, isForConfigs } from './allowed-signers.js';
import { readSignatures, type Signature, whyInvalid } from './signatures.js';
import {
  contentDigest,
  contentOf,
  parseStatement,
  type SignedContent,
  type Statement,
  sameContent,
  sha256,
} from './statement.js';
import type { Trust } from './trust.js';

/** A config that the host accepted, signed or not. */
export interface AcceptedBytes {
  /** Its contentDigest(). */
  content: string;
  /** UTC seconds. */
  at: number;
  /** SHA-256 of its statement. These are absent for a config that was accepted without a signature. */
  statement?: string;
  serial?: number;
  floor?: number;
  /** UTC seconds; absent also for a statement without an end. */
  notAfter?: number;
  signers?: string[];
}

export type SignedBytes = Omit<AcceptedBytes, 'at'> &
  Required<Pick<AcceptedBytes, 'statement' | 'serial' | 'floor' | 'signers'>>;

export interface SignedParts {
  content: SignedContent;
  statement: string | undefined;
  signatures: string | undefined;
}

export interface SigningHost {
  /** UTC seconds; undefined if the clock cannot be trusted. */
  now: number | undefined;
  floor: number;
  accepted: readonly AcceptedBytes[];
}

export type SignatureDecision =
  | { kind: 'accepted'; accepted: SignedBytes }
  | { kind: 'rejected'; reason: SignatureReason; message: string }
  /** Only because of the clock: what runs is kept. */
  | { kind: 'cannot tell'; message: string };

/** The parts of a ConfigMap that are signed. */
export function signedParts(parts: Parameters<typeof contentOf>[0]): SignedParts {
  const { annotations = {} } = parts;
  return {
    content: contentOf(parts),
    statement: annotations[statementAnnotation],
    signatures: annotations[signaturesAnnotation],
  };
}

export function decideSignature(parts: SignedParts, trust: Trust, host: SigningHost): SignatureDecision {
  const { statement: text, signatures: armored } = parts;
  if (text === undefined || armored === undefined)
    return rejected(
      'SignatureMissing',
      `the ConfigMap has no annotation ${text === undefined ? statementAnnotation : signaturesAnnotation}`,
    );
  let statement: Statement;
  let signatures: Signature[];
  try {
    statement = parseStatement(text);
  } catch (error) {
    return rejected('SignatureInvalid', `the statement cannot be read: ${(error as Error).message}`);
  }
  try {
    signatures = readSignatures(armored);
  } catch (error) {
    return rejected('SignatureInvalid', `the signatures cannot be read: ${(error as Error).message}`);
  }
  const difference = differenceOf(parts.content, statement);
  if (difference !== undefined) return rejected('SignatureInvalid', difference);
  const content = contentDigest(parts.content);
  const digest = sha256(text);
  const clock = clockFor(host, digest);
  try {
    const signers = signersOf(signatures, text, trust, clock);
    if ('reason' in signers) return rejected(signers.reason, signers.message);
    const objection =
      poolObjection(statement, trust) ?? timeObjection(statement, clock) ?? serialObjection(statement, content, host);
    if (objection !== undefined) return rejected(...objection);
    const { serial, floor, notAfter } = statement;
    const until = notAfter === undefined ? {} : { notAfter };
    return { kind: 'accepted', accepted: { content, statement: digest, serial, floor, ...until, signers } };
  } catch (error) {
    if (error instanceof CannotTell) return { kind: 'cannot tell', message: error.message };
    throw error;
  }
}

const rejected = (reason: SignatureReason, message: string) => ({ kind: 'rejected', reason, message }) as const;

function differenceOf(content: SignedContent, statement: Statement): string | undefined {
  if (sameContent(content, statement)) return undefined;
  const parts = [
    ['key', content.data, statement.data],
    ['key of binaryData', content.binaryData, statement.binaryData],
    ['annotation', content.annotations, statement.annotations],
  ] as const;
  const differences = parts.flatMap(([what, found, signed]) => [
    ...Object.keys(found).flatMap((key) => {
      if (!Object.hasOwn(signed, key)) return `the ${what} ${JSON.stringify(key)} is not in the statement`;
      return found[key] === signed[key] ? [] : `the ${what} ${JSON.stringify(key)} is not as the statement has it`;
    }),
    ...Object.keys(signed).flatMap((key) =>
      Object.hasOwn(found, key) ? [] : `the ${what} ${JSON.stringify(key)} of the statement is missing`,
    ),
  ]);
  return differences.join('; ');
}

class CannotTell extends Error {}

interface HostClock {
  isBefore(time: number | undefined): boolean;
  isAfter(time: number | undefined): boolean;
}

/** A statement that was accepted once does not expire: the time of the acceptance counts. */
function clockFor({ now, accepted }: SigningHost, statement: string): HostClock {
  const before = accepted.find((one) => one.statement === statement)?.at;
  const known = (at: number | undefined): number => {
    if (at === undefined)
      throw new CannotTell('the clock of the host cannot be trusted, and the signature depends on the time');
    return at;
  };
  return {
    isBefore: (time) => time !== undefined && !(before !== undefined && before >= time) && known(now) < time,
    isAfter: (time) => time !== undefined && known(before ?? now) > time,
  };
}

type Signers = string[] | { reason: SignatureReason; message: string };

function signersOf(signatures: readonly Signature[], statement: string, trust: Trust, clock: HostClock): Signers {
  const signers = new Set<string>();
  const invalid: string[] = [];
  const others: string[] = [];
  for (const signature of signatures) {
    const { keyType, fingerprint } = signature;
    const signer = signerOf(signature, trust, clock);
    if (typeof signer === 'string') {
      others.push(`${keyType} key ${fingerprint} ${signer}`);
      continue;
    }
    const why = whyInvalid(signature, statement);
    if (why === undefined) signers.add(signer.principal);
    else invalid.push(`signature of ${signer.principal}: ${why}`);
  }
  if (signers.size >= trust.threshold) return [...signers].sort();
  if (invalid.length > 0) return { reason: 'SignatureInvalid', message: invalid.join('; ') };
  const beside = others.length > 0 ? `; ${others.join('; ')}` : '';
  if (signers.size === 0) return { reason: 'SignerNotAllowed', message: others.join('; ') || 'there is no signature' };
  const message = `signed by ${[...signers].join(', ')}, and ${trust.threshold} principals are required${beside}`;
  return { reason: 'TooFewSignatures', message };
}

/** Returns the signer, or why the key does not count. */
function signerOf({ fingerprint }: Signature, { signers, revoked }: Trust, clock: HostClock): AllowedSigner | string {
  if (revoked.has(fingerprint)) return 'is revoked';
  const lines = signers.filter((signer) => signer.fingerprint === fingerprint);
  if (lines.length === 0) return 'is not one of the allowed signers';
  const forConfigs = lines.filter(isForConfigs);
  if (forConfigs.length === 0) return 'is not for configs, by its namespaces';
  const begun = forConfigs.filter(({ validAfter }) => !clock.isBefore(validAfter));
  if (begun.length === 0) return 'is not valid yet';
  return begun.find(({ validBefore }) => !clock.isAfter(validBefore)) ?? 'has expired';
}

type Objection = [reason: SignatureReason, message: string] | undefined;

function poolObjection({ pools }: Statement, { pool }: Trust): Objection {
  if (pool === undefined ? pools.length === 0 : pools.includes(pool)) return undefined;
  const signed = pools.length === 0 ? 'hosts without a pool' : `the pools ${pools.join(', ')}`;
  return ['WrongPool', `it is signed for ${signed}, the pool of this host is ${pool ?? 'not set'}`];
}

function timeObjection({ notBefore, notAfter }: Statement, clock: HostClock): Objection {
  const text = (seconds: number) => new Date(seconds * 1000).toISOString();
  if (clock.isBefore(notBefore)) return ['NotYetValid', `it is valid from ${text(notBefore!)}`];
  if (clock.isAfter(notAfter)) return ['Expired', `it was valid until ${text(notAfter!)}`];
  return undefined;
}

function serialObjection({ serial }: Statement, content: string, { floor, accepted }: SigningHost): Objection {
  if (serial < floor) return ['SerialTooLow', `its serial is ${serial}, the lowest that this node accepts is ${floor}`];
  const other = serial === floor && accepted.some((one) => one.serial === serial && one.content !== content);
  if (!other) return undefined;
  return ['SerialTooLow', `its serial is ${serial}, and this node accepted other content with that serial`];
}

/**
 * The signed config of a set: the signatures that its ConfigMap carries beside the payload, and the part that the status keeps. Bytes
 * are copied unchanged. Pure.
 */
import { createHash } from 'node:crypto';
import type { RevisionSignatures, SignedConfig } from '../api/node-config-set.js';
import type { ConfigMap } from '../api/object.js';
import { signaturesAnnotation, statementAnnotation } from '../api/signing.js';
import { readSignatures, whyInvalid } from '../config/signing/signatures.js';
import { parseStatement } from '../config/signing/statement.js';

/** As one text, as the annotation has them. */
export const joinedSignatures = (signatures: readonly string[]): string =>
  signatures.map((one) => (one.endsWith('\n') ? one : `${one}\n`)).join('');

/** Statement and signatures, and the annotations that the statement covers: they loosen checks, and count only as they were signed. */
export function signedAnnotations({ statement, signatures }: SignedConfig): Record<string, string> {
  return {
    ...coveredAnnotations(statement),
    [statementAnnotation]: statement,
    [signaturesAnnotation]: joinedSignatures(signatures),
  };
}

/** None of a statement that cannot be read: nodes reject it. */
function coveredAnnotations(statement: string): Record<string, string> {
  try {
    return parseStatement(statement).annotations;
  } catch {
    return {};
  }
}

/** A ConfigMap that carries signatures as a set has them; undefined if it carries none. */
export function signedIn({ metadata: { annotations = {} } }: ConfigMap, payload: string): SignedConfig | undefined {
  const { [statementAnnotation]: statement, [signaturesAnnotation]: signatures } = annotations;
  return statement === undefined || signatures === undefined
    ? undefined
    : { payload, statement, signatures: [signatures] };
}

/** Signatures are verified once for each object: a set is reconciled at most once a second. */
const known = new WeakMap<SignedConfig, RevisionSignatures>();

export function revisionSignatures(signed: SignedConfig): RevisionSignatures {
  const before = known.get(signed);
  if (before !== undefined) return before;
  const { statement, signatures } = signed;
  const text = joinedSignatures(signatures);
  const digest = createHash('sha256')
    .update(JSON.stringify([statement, text]))
    .digest('hex')
    .slice(0, 16);
  const found = { digest, ...serialOf(statement), keys: signingKeys(statement, text) };
  known.set(signed, found);
  return found;
}

function serialOf(statement: string): { serial?: number } {
  try {
    return { serial: parseStatement(statement).serial };
  } catch {
    return {};
  }
}

/** Fingerprints of the keys whose signatures are valid, each once. */
export function signingKeys(statement: string, signatures: string): string[] {
  try {
    const valid = readSignatures(signatures).filter((one) => whyInvalid(one, statement) === undefined);
    return [...new Set(valid.map(({ fingerprint }) => fingerprint))];
  } catch {
    return [];
  }
}

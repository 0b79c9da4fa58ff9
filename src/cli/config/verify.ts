/**
 * `relet config verify FILE`: shows the signatures of a config and, with a trust file, whether a host would accept it now. Needs no
 * cluster.
 */
import { parseAllDocuments } from 'yaml';
import { CannotRun } from '../../cannot-run.js';
import { decideSignature, type SignedParts, signedParts } from '../../config/signing/decide.js';
import { readSignatures, whyInvalid } from '../../config/signing/signatures.js';
import { contentOf, type Statement, sameContent } from '../../config/signing/statement.js';
import { parseTrust } from '../../config/signing/trust.js';
import { newConfigMap } from '../../fleet/config-maps.js';
import { isObject } from '../../json.js';
import { setConfigMap } from '../../rollout/revision.js';
import { readNamedBy } from '../read-file.js';
import { readSigned } from '../sign/signed-file.js';
import { factsOf, keyText, statementText } from '../sign/statement.js';
import { openTerminal } from '../terminal/terminal.js';
import { readBytes } from './documents.js';

export interface VerifyOptions {
  trust?: string;
  /** The lowest serial that the host accepts. */
  floor: number;
  key: string;
  output: 'text' | 'json';
}

interface Verified {
  accepted: boolean;
  reason?: string;
  message?: string;
  statement: Statement;
  signatures: { key: string; isValid: boolean; message?: string }[];
  /** By the trust file. */
  signers?: string[];
}

export function verifyFile(file: string, options: VerifyOptions): void {
  const parts = partsIn(file, options.key);
  const found = verify(file, parts, options);
  const terminal = openTerminal();
  if (options.output === 'json') terminal.print(JSON.stringify(found, null, 2));
  else terminal.print(verifiedText(file, found));
  if (!found.accepted) process.exitCode = 1;
}

function verify(file: string, parts: SignedParts, { trust, floor }: VerifyOptions): Verified {
  if (parts.statement === undefined)
    throw new CannotRun(`${file} is not signed: 'relet config sign ${file} -f KEY' signs it`);
  const statement = factsOf(parts.statement);
  const signatures = signaturesIn(parts.signatures ?? '', parts.statement);
  const facts = { statement, signatures };
  if (trust !== undefined) {
    const now = Math.floor(Date.now() / 1000);
    const decision = decideSignature(parts, readTrust(trust), { now, floor, accepted: [] });
    if (decision.kind === 'accepted') return { accepted: true, ...facts, signers: decision.accepted.signers };
    const reason = decision.kind === 'rejected' ? decision.reason : 'ClockNotTrusted';
    return { accepted: false, reason, message: decision.message, ...facts };
  }
  const isCovered = sameContent(parts.content, statement);
  if (isCovered && signatures.length > 0 && signatures.every(({ isValid }) => isValid))
    return { accepted: true, ...facts };
  const message = isCovered
    ? 'not every signature is one of this statement, or there is none'
    : 'the statement is for other bytes, another key or other annotations';
  return { accepted: false, reason: 'SignatureInvalid', message, ...facts };
}

function readTrust(file: string) {
  try {
    return parseTrust(readNamedBy('trust', file), file);
  } catch (error) {
    if (error instanceof CannotRun) throw error;
    throw new CannotRun((error as Error).message);
  }
}

function signaturesIn(text: string, statement: string): Verified['signatures'] {
  try {
    return readSignatures(text).map((one) => {
      const message = whyInvalid(one, statement);
      return { key: keyText(one), isValid: message === undefined, ...(message !== undefined && { message }) };
    });
  } catch (error) {
    return [{ key: 'unreadable', isValid: false, message: (error as Error).message }];
  }
}

/** Reads the manifest of a ConfigMap or of a set, or a config with its statement beside it. */
function partsIn(file: string, key: string): SignedParts {
  const bytes = readBytes(file);
  const object = objectIn(bytes.toString('utf8'));
  if (object?.kind === 'ConfigMap') return signedParts({ ...object, ...(object.metadata as object) });
  if (object?.kind === 'NodeConfigSet') {
    const { signed } = (object.spec as { config?: { signed?: Parameters<typeof setConfigMap>[3] } }).config ?? {};
    if (signed === undefined)
      throw new CannotRun(`the set in ${file} is not signed: 'relet rollout sign ${file} -f KEY' signs it`);
    const { data, metadata } = setConfigMap('verified', signed.payload, 1, signed);
    return signedParts({ data, annotations: metadata.annotations });
  }
  const signed = readSigned(file);
  const { data, binaryData } = newConfigMap({ name: 'verified', namespace: 'verified', key, bytes });
  const annotations = signed && factsOf(signed.statement).annotations;
  return {
    content: contentOf({ data, binaryData, annotations }),
    statement: signed?.statement,
    signatures: signed?.signatures.join(''),
  };
}

/** The one object in a manifest that may be signed. */
function objectIn(text: string): Record<string, unknown> | undefined {
  if (!text.includes('ConfigMap') && !text.includes('NodeConfigSet')) return undefined;
  const objects = parseAllDocuments(text, { logLevel: 'silent' }).map((one): unknown => one.toJS());
  return objects.filter(isObject).find(({ kind }) => kind === 'ConfigMap' || kind === 'NodeConfigSet');
}

function verifiedText(file: string, { accepted, reason, message, statement, signatures, signers }: Verified): string {
  const verdict = accepted
    ? signers === undefined
      ? 'signed, and the signatures are valid; --trust FILE checks whether a host would accept it'
      : `a host with this trust file accepts it, signed by ${signers.join(', ')}`
    : `rejected (${reason}): ${message}`;
  const lines = signatures.map(
    ({ key, message: why }) => `  - ${key}${why === undefined ? '' : `, not valid: ${why}`}`,
  );
  return [`${file}: ${verdict}`, `Statement: ${statementText(statement)}`, 'Signatures:', ...lines].join('\n');
}

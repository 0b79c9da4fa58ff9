/**
 * Predicts which hosts would reject a config for its signature. Decided as on the host, from what its status shows: pool, threshold,
 * floor. Only the host knows its allowed signers, so every valid signature counts here as one of an allowed signer. Pure.
 */
import type { ConfigMap } from '../api/object.js';
import type { SignatureReason, SigningStatus } from '../api/signing.js';
import { decideSignature, type SignedParts, signedParts } from '../config/signing/decide.js';
import { readSignatures } from '../config/signing/signatures.js';
import { parseStatement, type Statement } from '../config/signing/statement.js';
import type { Trust } from '../config/signing/trust.js';

export interface SignatureRejection {
  reason: SignatureReason;
  message: string;
}

interface ForecastContext {
  nowMs: number;
  /** The host had this config: its times were checked then. */
  had?: boolean;
}

export function signatureRejection(
  { data, binaryData, metadata: { annotations } }: ConfigMap,
  signing: SigningStatus | undefined,
  { nowMs, had = false }: ForecastContext,
): SignatureRejection | undefined {
  if (!signing?.required) return undefined;
  const parts = signedParts({ data, binaryData, annotations });
  const { pool, threshold = 1, floor = 0 } = signing;
  const trust: Trust = { pool, threshold, signers: signersIn(parts), revoked: new Set() };
  const decision = decideSignature(parts, trust, { now: Math.floor(nowMs / 1000), floor, accepted: [] });
  if (decision.kind !== 'rejected') return undefined;
  const { reason, message } = decision;
  return had && (reason === 'Expired' || reason === 'NotYetValid') ? undefined : { reason, message };
}

/** Whether a host would reject its present config once this one is its last known good: an undo would fail then. */
export function returnRejection(
  present: ConfigMap,
  next: ConfigMap,
  signing: SigningStatus | undefined,
  { nowMs }: ForecastContext,
): SignatureRejection | undefined {
  const floor = Math.max(signing?.floor ?? 0, statementOf(next)?.floor ?? 0);
  return signatureRejection(present, signing && { ...signing, floor }, { nowMs, had: true });
}

/** Undefined if it carries none that can be read. */
export function statementOf({ metadata: { annotations } }: ConfigMap): Statement | undefined {
  const { statement } = signedParts({ annotations });
  try {
    return statement === undefined ? undefined : parseStatement(statement);
  } catch {
    return undefined;
  }
}

function signersIn({ signatures = '' }: SignedParts): Trust['signers'] {
  try {
    return readSignatures(signatures).map(({ keyType, key, fingerprint }) => ({
      principal: fingerprint,
      keyType,
      key,
      fingerprint,
    }));
  } catch {
    return [];
  }
}

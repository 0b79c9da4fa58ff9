/**
 * Adds the signature check to the validation of a host with a trust file. The signature is checked before anything else.
 *
 *   config                               trust file      result
 *   local                                –               as without
 *   fallback, accepted before            –               as without
 *   assigned, accepted when it arrived   –               as without: neither expiry nor a lost trust file keeps a node from booting
 *   else                                 can be used     by decideSignature()
 *   else                                 gone, unusable  TrustFileUnusable: nothing new is accepted, and the running config is kept
 *
 * While a person on the host allows unsigned configs, these are accepted too.
 */
import { ConfigError } from '../../api/config-error.js';
import { sameConfig } from '../../api/config-ref.js';
import { signatureReasons } from '../../api/signing.js';
import type { Clock } from '../../clock.js';
import type { AcceptedBytes, SignatureDecision, SignedParts } from '../../config/signing/decide.js';
import { contentDigest } from '../../config/signing/statement.js';
import type { Log } from '../../log.js';
import {
  acceptsUnsigned,
  assignmentOf,
  forgetAssigned,
  partsOf,
  recordAccepted,
  requireSignatures,
  type SigningRecord,
  signingRecord,
} from '../signing-record.js';
import type { Checkpoint } from '../state/checkpoints.js';
import type { NodeState } from '../state/node-state.js';
import type { TrustFile, TrustSource } from './trust-file.js';
import type { Rejected, ValidateOptions, Validator } from './validate.js';

export interface SignatureParts {
  state: NodeState;
  trustFile: TrustSource;
  clock: Pick<Clock, 'now'>;
  log: Log;
}

/** Throws a ConfigError where nothing can be decided. */
export function withSignatures(validator: Validator, parts: SignatureParts): Validator {
  return {
    ...validator,
    async validate(candidate, options) {
      const { checkpoint } = candidate;
      await parts.trustFile.load();
      const checked = checkpoint && checkSignature(parts, checkpoint, options.role);
      if (checked !== undefined && 'kind' in checked) return checked;
      const result = await validator.validate(candidate, options);
      if (checked === undefined || result.kind === 'rejected') return result;
      const { source } = checkpoint!;
      const assigned = options.role && assignmentOf(source, checked.content);
      const isRecorded = recordAccepted(parts.state, checked, assigned);
      if (isRecorded || options.role !== 'arriving') return result;
      const why = new Error('the record of accepted configs cannot be written');
      throw new ConfigError('AssignmentNotSaved', why, { uid: source.uid });
    },
  };
}

/** Undefined if no signature is needed. */
function checkSignature(
  { state, trustFile, clock, log }: SignatureParts,
  checkpoint: Checkpoint,
  role: ValidateOptions['role'],
): AcceptedBytes | Rejected | undefined {
  const now = Math.floor(clock.now() / 1000);
  const found = readTrust(trustFile, state.read(signingRecord) !== undefined);
  if (found === undefined) return undefined;
  const record = requireSignatures(state, now);
  const parts = partsOf(checkpoint);
  const content = contentDigest(parts.content);
  const isKnown = record.accepted.some((one) => one.content === content);
  const assigned = assignmentOf(checkpoint.source, content);
  const isFallback = role === undefined || isLastKnownGood(state, checkpoint);
  if (role !== 'arriving' && isKnown && (isFallback || record.assigned === assigned)) return undefined;
  const decision = decide(parts, found, record, now);
  if (decision.kind === 'accepted') return { ...decision.accepted, at: now };
  const unsigned = acceptsUnsigned(state, now);
  if (unsigned !== undefined) {
    log.warn('config accepted without a signature', { uid: checkpoint.source.uid, why: unsigned.why });
    return { content, at: now };
  }
  if (decision.kind === 'unknown') throw decision.error;
  forgetAssigned(state, assigned);
  return { kind: 'rejected', reason: decision.reason, cause: new Error(decision.message), warnings: [] };
}

function isLastKnownGood(state: NodeState, { source }: Checkpoint): boolean {
  const lastKnownGood = state.lastKnownGood();
  return 'source' in lastKnownGood && sameConfig(lastKnownGood.source, source, 'version');
}

type Decision = Exclude<SignatureDecision, { kind: 'cannot tell' }> | { kind: 'unknown'; error: ConfigError };

function decide(parts: SignedParts, found: Found, { floor, accepted }: SigningRecord, now: number): Decision {
  if ('problem' in found) return { kind: 'unknown', error: new ConfigError('TrustFileUnusable', found.problem) };
  const latest = Math.max(found.writtenMs / 1000, ...accepted.map(({ at }) => at));
  const isBehind = now < latest - day;
  const decision = found.decide(parts, found.trust, { now: isBehind ? undefined : now, floor, accepted });
  if (decision.kind !== 'cannot tell') return decision;
  return { kind: 'unknown', error: new ConfigError('ClockNotTrusted', new Error(decision.message)) };
}

/** A clock that is further behind what was recorded is wrong. */
const day = 86_400;

/** Rejections that the trust file of the host, or time, may take back. */
export function isSignatureReason(reason: string | undefined): boolean {
  return signatureReasons.some((one) => one === reason);
}

type Found = TrustFile | { problem: Error };

/** Undefined on a host that never had one. */
export function readTrust(trustFile: TrustSource, isRequired: boolean): Found | undefined {
  try {
    const found = trustFile.read();
    if (found !== undefined || !isRequired) return found;
    return { problem: new Error(`${trustFile.path} is missing, and this host had a trust file`) };
  } catch (error) {
    return { problem: error as Error };
  }
}

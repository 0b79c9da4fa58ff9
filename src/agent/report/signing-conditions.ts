/** The conditions of a NodeConfig about signatures: TrustFileUsable, SignatureExpired and UnsignedAccepted. Pure. */
import { type ConditionReason, expiryReasons, trustReasons, unsignedReasons } from '../../api/condition-reasons.js';
import { type NodeConfigCondition, nodeConditions } from '../../api/node-config.js';
import { shorten } from '../../shorten.js';
import type { SigningReport } from './report.js';

const longest = 1000;

/** None on a host that never had a trust file. */
export function signingConditions(
  signing: SigningReport | undefined,
  present: readonly NodeConfigCondition[],
): Omit<NodeConfigCondition, 'lastTransitionTime'>[] {
  const [trustFile, expired, unsigned] = [nodeConditions[6], nodeConditions[7], nodeConditions[8]];
  if (signing === undefined && !present.some(({ type }) => type === trustFile)) return [];
  const { problem, expiredAt, unsigned: asked } = signing ?? {};
  const status = (isTrue: boolean) => (isTrue ? 'True' : 'False');
  return [
    {
      type: trustFile,
      status: status(!problem),
      ...text(problem ? trustReasons.unusable : trustReasons.read, problem),
    },
    { type: expired, status: status(!!expiredAt), ...text(expiryReasons[expiredAt ? 'expired' : 'none'], expiredAt) },
    { type: unsigned, status: status(!!asked), ...text(unsignedReasons[asked ? 'accepted' : 'none'], asked) },
  ];
}

function text({ reason, message }: ConditionReason, more: string | undefined): ConditionReason {
  return { reason, message: more === undefined ? message : `${message} ${shorten(more, longest)}` };
}

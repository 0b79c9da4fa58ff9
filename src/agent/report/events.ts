/** Events about the Node: a changed config, as Kubernetes had it; and rejected, rolled back, trial passed, a risky upgrade. */
import { type ExactRef, formatRef } from '../../api/config-ref.js';
import { rfc3339 } from '../../clock.js';
import { shorten } from '../../shorten.js';
import { type UpgradeReport, upgradeText } from './report.js';

export interface EventText {
  type: 'Normal' | 'Warning';
  reason:
    | 'KubeletConfigChanged'
    | 'KubeletConfigRejected'
    | 'KubeletConfigRolledBack'
    | 'KubeletConfigTrialPassed'
    | 'KubeletUpgradeRisk';
  message: string;
}

export function changed(source: ExactRef | undefined): EventText {
  return { type: 'Normal', reason: 'KubeletConfigChanged', message: `Kubelet restarting to use ${withKey(source)}` };
}

export function rejected(source: ExactRef | undefined, error: string, cause: string): EventText {
  return { type: 'Warning', reason: 'KubeletConfigRejected', message: `${withKey(source)}: ${error}: ${cause}` };
}

export function rolledBack(source: ExactRef | undefined, error: string, cause: string): EventText {
  return { type: 'Warning', reason: 'KubeletConfigRolledBack', message: `${withKey(source)}: ${error}: ${cause}` };
}

export function trialPassed(source: ExactRef | undefined): EventText {
  return { type: 'Normal', reason: 'KubeletConfigTrialPassed', message: `${withKey(source)} is now last known good` };
}

export function upgradeRisk(report: UpgradeReport): EventText {
  return { type: 'Warning', reason: 'KubeletUpgradeRisk', message: upgradeText(report) };
}

/** The key is said too: two configs may be in one ConfigMap. */
function withKey(ref: ExactRef | undefined): string {
  return ref === undefined
    ? formatRef(ref, 'log')
    : `${formatRef(ref, 'log')}, KubeletConfigKey: ${ref.kubeletConfigKey}`;
}

/** API servers refuse a longer message. */
const longestMessage = 1024;

/** As the kubelet itself writes one: in namespace default, with the node's name for its uid. */
export function eventObject(node: string, { type, reason, message }: EventText, nowMs: number, serial: number): object {
  const time = rfc3339(nowMs);
  // Unique among the events of a node: time in nanoseconds, the last digits a serial number.
  const unique = (BigInt(Math.trunc(nowMs)) * 1_000_000n + BigInt(serial % 1_000_000)).toString(16);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${node}.${unique}`, namespace: 'default' },
    involvedObject: { kind: 'Node', name: node, uid: node },
    type,
    reason,
    message: shorten(message, longestMessage),
    source: { component: 'kubelet', host: node },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}

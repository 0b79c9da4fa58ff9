/**
 * Events about the Node. KubeletConfigChanged is upstream's: where the reference is the Node's, it is sent for each assigned config,
 * in upstream's words, also where no restart follows; the event after it then says so. With a NodeConfig it is sent for each restart.
 */
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
    | 'KubeletConfigUnchanged'
    | 'KubeletConfigTrialPassed'
    | 'KubeletUpgradeRisk'
    | 'KubeletConfigUnsignedAccepted';
  message: string;
}

export function changed(source: ExactRef | undefined): EventText {
  return { type: 'Normal', reason: 'KubeletConfigChanged', message: `Kubelet restarting to use ${withKey(source)}` };
}

/** The kubelet runs with these bytes already. */
export function unchanged(source: ExactRef | undefined): EventText {
  const message = `Kubelet not restarted: it already runs with the document of ${withKey(source)}`;
  return { type: 'Normal', reason: 'KubeletConfigUnchanged', message };
}

export function rejected(source: ExactRef | undefined, error: string, cause: string): EventText {
  const message = `Kubelet not started with ${withKey(source)}: ${error}: ${cause}`;
  return { type: 'Warning', reason: 'KubeletConfigRejected', message };
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

/** `text`: until when, who and why. */
export function unsignedAccepted(text: string): EventText {
  const message = `Configs are accepted without a signature. ${text}`;
  return { type: 'Warning', reason: 'KubeletConfigUnsignedAccepted', message };
}

/** With the key, since two configs may be in one ConfigMap. */
function withKey(ref: ExactRef | undefined): string {
  return ref === undefined
    ? formatRef(ref, 'log')
    : `${formatRef(ref, 'log')}, KubeletConfigKey: ${ref.kubeletConfigKey}`;
}

/**
 * The time of an event has whole seconds, and programs take the KubeletConfigChanged with the latest one for the newest: two of them
 * never have the same, and what follows is not earlier.
 */
export function eventTime(nowMs: number, lastMs: number, { reason }: EventText): number {
  const nextSecondMs = (Math.floor(lastMs / 1000) + 1) * 1000;
  return Math.max(nowMs, reason === 'KubeletConfigChanged' ? nextSecondMs : lastMs);
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

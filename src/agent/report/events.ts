/** Events about the Node: what upstream told (a changed config), and what it kept silent (refusal, rollback, graduation). */

import { shorten } from '../../shorten.js';
import { rfc3339 } from '../../time.js';
import { apiPath, type SourceOrLocal } from '../source.js';

export interface EventText {
  type: 'Normal' | 'Warning';
  reason: 'KubeletConfigChanged' | 'KubeletConfigRefused' | 'KubeletConfigRolledBack' | 'KubeletConfigGraduated';
  message: string;
}

export function changed(source: SourceOrLocal): EventText {
  return { type: 'Normal', reason: 'KubeletConfigChanged', message: `Kubelet restarting to use ${exactly(source)}` };
}

export function refused(source: SourceOrLocal, error: string, cause: string): EventText {
  return { type: 'Warning', reason: 'KubeletConfigRefused', message: `${exactly(source)}: ${error}: ${cause}` };
}

export function rolledBack(source: SourceOrLocal, error: string, cause: string): EventText {
  return { type: 'Warning', reason: 'KubeletConfigRolledBack', message: `${exactly(source)}: ${error}: ${cause}` };
}

export function graduated(source: SourceOrLocal): EventText {
  return { type: 'Normal', reason: 'KubeletConfigGraduated', message: `${exactly(source)} is now last known good` };
}

function exactly(source: SourceOrLocal): string {
  if (source === undefined) return 'local config';
  const { uid, resourceVersion, kubeletConfigKey } = source;
  return `${apiPath(source)}, UID: ${uid}, ResourceVersion: ${resourceVersion}, KubeletConfigKey: ${kubeletConfigKey}`;
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

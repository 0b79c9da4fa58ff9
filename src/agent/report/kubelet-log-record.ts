/**
 * The last lines of kubelets whose config failed, by the key of that config's result (bytes, kubelet version and flags): so the
 * status shows them beside the error that they explain, also after a restart of relet, and never beside another one.
 */
import { isObject } from '../../json.js';
import type { KubeletDriver } from '../drivers/driver.js';
import { defineRecord } from '../state/json-record.js';
import type { NodeState } from '../state/node-state.js';

export type KubeletLogs = Record<string, string[]>;

export const kubeletLogRecord = defineRecord('kubelet-logs', isKubeletLogs, { durable: false });

/** The assigned config and what it may fall back to. The oldest go first. */
const mostLogs = 4;

/** Keeps what the kubelet that was started last has logged, and returns why it exited, if a line shows it. */
export async function keepKubeletLog(
  { driver, state }: { driver: Pick<KubeletDriver, 'kubeletLog'>; state: NodeState },
  key: string,
): Promise<string | undefined> {
  const log = await driver.kubeletLog();
  const others = Object.entries(state.read(kubeletLogRecord) ?? {}).filter(([other]) => other !== key);
  const kept = log ? [...others, [key, log.lines] as const] : others;
  state.write(kubeletLogRecord, Object.fromEntries(kept.slice(-mostLogs)));
  return log?.error;
}

function isKubeletLogs(value: unknown): value is KubeletLogs {
  return (
    isObject(value) &&
    Object.values(value).every((lines) => Array.isArray(lines) && lines.every((line) => typeof line === 'string'))
  );
}

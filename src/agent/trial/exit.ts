/** Explains a kubelet exit: the cause, whether it counts against the config, and the log lines that are kept on disk. */

import { isObject } from '../../json.js';
import type { ExitStatus, KubeletDriver } from '../drivers/driver.js';
import { defineRecord } from '../state/json-record.js';
import type { NodeState } from '../state/node-state.js';

export interface Circumstances {
  /** relet itself is stopping, or the machine shuts down. */
  stopping: boolean;
  /** The node's client certificate has expired: then a kubelet exits with any config. */
  certificateExpired: boolean;
}

export type ExitCause = { blame: 'config' | 'none'; why: string };

// A Go program gets these only from outside; by itself it ends with an exit code, SIGABRT or SIGSEGV.
const sentFromOutside: ReadonlySet<string> = new Set([
  'SIGTERM',
  'SIGKILL',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
]);

export function explainExit(exit: ExitStatus, { stopping, certificateExpired }: Circumstances): ExitCause {
  if (stopping) return { blame: 'none', why: 'the host is shutting down' };
  if (exit.error !== undefined) return { blame: 'none', why: `could not be started: ${exit.error.message}` };
  if (certificateExpired) return { blame: 'none', why: 'the client certificate of the node has expired' };
  if (exit.signal !== null)
    return sentFromOutside.has(exit.signal)
      ? { blame: 'none', why: `killed from outside by ${exit.signal}` }
      : { blame: 'config', why: `crashed with ${exit.signal}` };
  // A kubelet exits 0 only on request.
  if (exit.code === 0 && exit.byItself !== true) return { blame: 'none', why: 'stopped from outside' };
  return { blame: 'config', why: `exit code ${exit.code}` };
}

/** How the kubelet last exited on its own, kept on disk for `relet up`, which waits for the node and shows why it is not Ready. */
export interface LastExit {
  /** RFC 3339. */
  at: string;
  /** As in the log: `exit code 1`. */
  why: string;
  /** The kubelet's own error, where its log can be read. */
  error?: string;
  /** Whether it counts against the config. */
  blame: 'config' | 'none';
  /** Exits on its own so far, this one included. */
  count: number;
}

export const lastExitRecord = defineRecord('last-exit', isLastExit, { durable: false });

function isLastExit(value: unknown): value is LastExit {
  return (
    isObject(value) &&
    typeof value.at === 'string' &&
    typeof value.why === 'string' &&
    (value.blame === 'config' || value.blame === 'none') &&
    (value.error === undefined || typeof value.error === 'string') &&
    Number.isInteger(value.count)
  );
}

/**
 * The last lines of kubelets whose config failed, by the key of that config's result (bytes, kubelet version and flags): so the
 * status shows them beside the error that they explain, also after a restart of relet, and never beside another one.
 */
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

/** How the kubelet last exited on its own, kept on disk for `relet up`, which waits for the node and shows why it is not Ready. */
import { isObject } from '../../json.js';
import { defineRecord } from '../state/json-record.js';

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

/** Log lines in the kubelet's format, so that the log reads like a kubelet's. */
import type { Clock } from '../../clock.js';
import type { Fields, Log } from '../../log.js';

export interface KlogOptions {
  write(line: string): void;
  pid: number;
  /** -v: from 4 on debug lines are written. Default 0. */
  verbosity?: number;
  clock: Pick<Clock, 'now'>;
}

export function createKlog({ write, pid, verbosity = 0, clock }: KlogOptions): Log {
  const at =
    (letter: string) =>
    (message: string, fields: Fields = {}) => {
      const pairs = Object.entries(fields)
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => ` ${key === 'error' ? 'err' : key}=${shown(value)}`);
      write(
        `${letter}${stamp(new Date(clock.now()))} ${String(pid).padStart(7)} hollow.ts:1] ${JSON.stringify(message)}${pairs.join('')}\n`,
      );
    };
  return { debug: verbosity >= 4 ? at('I') : () => {}, info: at('I'), warn: at('W'), error: at('E') };
}

function shown(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(withCauses(value));
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : JSON.stringify(value);
}

function withCauses(error: Error): string {
  return error.cause instanceof Error && !error.message.includes(error.cause.message)
    ? `${error.message}: ${withCauses(error.cause)}`
    : error.message;
}

/** `1115 20:36:22.473251`: month and day, and microseconds, of which three digits are known. */
function stamp(date: Date): string {
  const [day, time] = date.toISOString().split('T') as [string, string];
  return `${day.slice(5).replace('-', '')} ${time.slice(0, -1)}000`;
}

/** Starts the kubelet as a child that outlives a crash of relet and can be found again by the token in its environment. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type ExactRef, isExactRef } from '../../api/config-ref.js';
import { isObject } from '../../json.js';
import { identify, isProcessIdentity, type ProcessIdentity, pids, quietly } from '../../proc.js';
import { defineRecord } from '../state/json-record.js';
import type { ExitStatus } from './driver.js';

export type Environment = Record<string, string | undefined>;

export interface Child {
  process: ProcessIdentity | undefined;
  exited: Promise<ExitStatus>;
  kill(signal: NodeJS.Signals): void;
}

export type StartChild = (command: string[], token: string) => Child;

/** Inherited standard streams and environment: a Go program exits when it writes to a broken pipe. */
export function childStarter(env: Environment): StartChild {
  // WATCHDOG_PID names relet: a kubelet that finds another pid there ignores the watchdog, and systemd ends the unit.
  const forKubelet = without(env, ['WATCHDOG_PID']);
  return (command, token) => {
    try {
      return startChild(command, { ...forKubelet, [childTokenVariable]: token });
    } catch (error) {
      // Out of memory or processes: handled like a missing program, and retried.
      const exited = Promise.resolve({ code: null, signal: null, error: error as Error });
      return { process: undefined, exited, kill() {} };
    }
  };
}

function startChild([program, ...args]: string[], env: Environment): Child {
  // In a session of its own: otherwise Ctrl-C in a terminal would reach it twice, directly and through relet.
  const child = spawn(program!, args, { stdio: 'inherit', env, detached: true });
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error });
    });
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  return {
    process: child.pid === undefined ? undefined : identify(child.pid),
    exited,
    kill: (signal) => void child.kill(signal),
  };
}

export function without(env: Environment, names: string[]): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}

/** Running processes that have such a token in their environment. */
export function findByToken(isOurs: (token: string) => boolean): ProcessIdentity[] {
  return pids()
    .filter((pid) => {
      const environment = quietly(() => readFileSync(`/proc/${pid}/environ`, 'utf8'));
      const entry = environment?.split('\0').find((line) => line.startsWith(`${childTokenVariable}=`));
      return entry !== undefined && isOurs(entry.slice(childTokenVariable.length + 1));
    })
    .flatMap((pid) => identify(pid) ?? []);
}

/**
 * Which kubelet relet started, so that after a kill -9 of relet the next one finds the old child and never runs two.
 * Written twice: before the start with only a token, which the child carries in its environment, and after it with the
 * pid. A crash between the two leaves the token to search for.
 */
export interface ChildRecord {
  token: string;
  bootId: string;
  process?: ProcessIdentity;
  /** Config that it was started with; undefined is local. Its checkpoint is not deleted while it runs. */
  source?: ExactRef;
  /** The file it was started with. The name is that of the first edition, which kept only converted copies apart. */
  converted?: string;
}

// Not durable: a process does not survive a power cut.
export const childRecord = defineRecord('child', isChildRecord, { durable: false });

/** The variable in the child's environment that carries the token. */
export const childTokenVariable = 'RELET_CHILD';

function isChildRecord(value: unknown): value is ChildRecord {
  return (
    isObject(value) &&
    typeof value.token === 'string' &&
    typeof value.bootId === 'string' &&
    (value.process === undefined || isProcessIdentity(value.process)) &&
    (value.source === undefined || isExactRef(value.source)) &&
    (value.converted === undefined || typeof value.converted === 'string')
  );
}

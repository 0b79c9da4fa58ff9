/**
 * The one seam to the machine: processes, /proc and systemd. Nothing else in the agent starts, finds or ends a process.
 * Narrow on purpose: the same few verbs can drive a kubelet that runs as a service of its own.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import type { Clock } from '../../clock.js';
import { bootId, identify, type ProcessIdentity, pids, quietly } from '../../proc.js';
import { sha256 } from '../state/checkpoints.js';
import { childTokenVariable } from '../state/child-record.js';
import { ownerOf, type Port, type PortOwner } from './listeners.js';

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The program could not be started at all. */
  error?: Error;
}

export interface Child {
  process: ProcessIdentity | undefined;
  exited: Promise<Exit>;
  kill(signal: NodeJS.Signals): void;
}

export interface Output {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Host {
  /** Changes with every boot of the machine. */
  bootId(): string;
  /** Undefined when no such process lives. */
  identify(pid: number): ProcessIdentity | undefined;
  /** Living processes that carry such a token in their environment. */
  findChildren(isOurs: (token: string) => boolean): ProcessIdentity[];
  /** The kubelet: inherited standard streams and environment, so that it survives relet's own death. */
  start(command: string[], token: string): Child;
  kill(pid: number, signal: NodeJS.Signals): void;
  /** A short run whose output is wanted; ended by SIGKILL after `timeoutMs`. */
  ask(command: string[], timeoutMs: number): Promise<Output>;
  /** True while the whole machine goes down: deaths then mean nothing, and nothing new is begun. */
  isStopping(): Promise<boolean>;
  /** Changes when the file is replaced; undefined when it is not there. */
  fingerprint(path: string): string | undefined;
  /** Changes with the bytes of a file, the names in a directory, and whether there is one at all. */
  contentOf(path: string): string;
  /** Whether a directory has anything in it. */
  hasEntries(path: string): boolean;
  /** Who listens on a port that the child should have. */
  ownerOf(port: Port, child: ProcessIdentity): PortOwner;
}

/** As a shell would say it: 128 and the signal's number when it was killed, 127 when it could not be started. */
export function exitCode({ code, signal, error }: Exit): number {
  if (error !== undefined) return 127;
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

type Environment = Record<string, string | undefined>;

export function createHost(env: Environment): Host {
  // It names relet. A kubelet that finds another pid there takes the watchdog for not meant, and systemd ends the unit.
  const forKubelet = without(env, ['WATCHDOG_PID']);
  // Who is only asked has nothing to tell the service manager, and must not be taken for a kubelet of ours.
  const forQuestions = without(forKubelet, ['NOTIFY_SOCKET', 'WATCHDOG_USEC', childTokenVariable]);
  return {
    bootId,
    identify,
    findChildren: (isOurs) =>
      pids()
        .filter((pid) => carries(pid, isOurs))
        .flatMap((pid) => identify(pid) ?? []),
    start: (command, token) => {
      try {
        return startChild(command, { ...forKubelet, [childTokenVariable]: token });
      } catch (error) {
        // No memory, no processes left: like a program that is not there, and tried again.
        return {
          process: undefined,
          exited: Promise.resolve({ code: null, signal: null, error: error as Error }),
          kill() {},
        };
      }
    },
    kill: (pid, signal) => void quietly(() => process.kill(pid, signal)),
    ask: (command, timeoutMs) => ask(command, forQuestions, timeoutMs),
    async isStopping() {
      if (!existsSync('/run/systemd/system')) return false;
      const { stdout } = await ask(['systemctl', 'is-system-running'], forQuestions, 2000).catch(() => ({
        stdout: '',
      }));
      return stdout.trim() === 'stopping';
    },
    fingerprint(path) {
      const found = statSync(path, { throwIfNoEntry: false });
      return found && [found.dev, found.ino, found.size, found.mtimeMs, found.ctimeMs].join(':');
    },
    contentOf,
    hasEntries: (path) => (quietly(() => readdirSync(path).length) ?? 0) > 0,
    ownerOf,
  };
}

const largestHashedBytes = 1_048_576;

function contentOf(path: string): string {
  try {
    const found = statSync(path);
    if (found.isDirectory()) return `directory ${sha256(readdirSync(path).sort().join('\0'))}`;
    // A socket or a device is there or not; its inode changes with every boot.
    if (!found.isFile()) return 'special';
    return found.size > largestHashedBytes ? `${found.size} ${found.mtimeMs}` : sha256(readFileSync(path));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable';
  }
}

export interface StopOptions {
  /** How long it may take after SIGTERM until SIGKILL. */
  graceMs: number;
  clock: Clock;
}

/** Ends a process that is not our child, and waits until it is gone. True when it was still there. */
export async function stopProcess(
  host: Host,
  target: ProcessIdentity,
  { graceMs, clock }: StopOptions,
): Promise<boolean> {
  const lives = () => host.identify(target.pid)?.startTime === target.startTime;
  if (!lives()) return false;
  host.kill(target.pid, 'SIGTERM');
  const deadline = clock.monotonic() + graceMs;
  while (lives()) {
    if (clock.monotonic() >= deadline) host.kill(target.pid, 'SIGKILL');
    await clock.sleep(20);
  }
  return true;
}

/** The kubelet is the last to be killed for memory, and what brings it back must not go before it. Needs root. */
export function protectFromOom(): boolean {
  return (
    quietly(() => {
      writeFileSync('/proc/self/oom_score_adj', '-999');
      return true;
    }) ?? false
  );
}

function startChild([program, ...args]: string[], env: Environment): Child {
  // A session of its own: Ctrl-C in a terminal reaches it once, through relet, and not twice.
  const child = spawn(program!, args, { stdio: 'inherit', env, detached: true });
  const exited = new Promise<Exit>((resolve) => {
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

function ask([program, ...args]: string[], env: Environment, timeoutMs: number): Promise<Output> {
  return new Promise((resolve, reject) => {
    const child = spawn(program!, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    const text = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (chunk: string) => {
        // A kubelet says what is wrong in a few lines, the verdict in the last; a megabyte is a program gone mad.
        text[stream] = (text[stream] + chunk).slice(-1_000_000);
      });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...text }));
  });
}

function without(env: Environment, names: string[]): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}

function carries(pid: number, isOurs: (token: string) => boolean): boolean {
  const environment = quietly(() => readFileSync(`/proc/${pid}/environ`, 'utf8'));
  const entry = environment?.split('\0').find((line) => line.startsWith(`${childTokenVariable}=`));
  return entry !== undefined && isOurs(entry.slice(childTokenVariable.length + 1));
}

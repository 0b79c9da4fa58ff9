/**
 * The one seam between the agent and the kubelet of its machine. process.ts: relet is the kubelet's parent. fake.ts: in memory,
 * for tests and simulations. contract.ts: the tests that every driver passes.
 *
 * none ── start ──► running ── stop, shutdown ──► none (exit: requested)
 *                      └───── exits by itself ──► none
 */
import { constants } from 'node:os';
import type { ExactRef } from '../../api/config-ref.js';
import type { KubeletLog } from './kubelet-error.js';

export interface KubeletDriver {
  /** As the status shows it. */
  readonly name: DriverName;
  /** Changes with every boot of the machine. */
  bootId(): string;
  /** True while the machine shuts down: an exit then means nothing, and nothing new is started. */
  isHostStopping(): Promise<boolean>;
  /** Such as v1.32.1. Asked before each start, since the binary may have been replaced. Throws when it is missing or not a kubelet. */
  version(): Promise<string>;
  /** Changes when the kubelet's binary is replaced; empty when there is none. */
  fingerprint(): string;
  /** Once, before the first start: deals with a kubelet that an earlier agent left running, so that there are never two. */
  recover(): Promise<void>;
  /** Starts the kubelet with this config, at once; resolves when it has exited. Throws when one is running or none may be started. */
  start(config: StartedConfig): Promise<Exit>;
  /** Resolves when the kubelet has exited, which it is made to after a grace period. Harmless when none is running. */
  stop(): Promise<void>;
  /** The agent ends. A kubelet that cannot live without it is stopped with this signal. */
  shutdown(signal: NodeJS.Signals): Promise<void>;
  /** Who listens on each of these ports. Undefined when no kubelet is running, or it exited meanwhile: then nothing can be known. */
  portOwners(ports: readonly Port[]): PortOwner[] | undefined;
  /** What the kubelet that was started last has logged since; undefined where that cannot be read. Never rejects. */
  kubeletLog(): Promise<KubeletLog | undefined>;
}

export type DriverName = 'process' | 'fake';

export interface StartedConfig {
  /** Undefined for the local config. */
  source: ExactRef | undefined;
  /** The file to start with; undefined for the local config. */
  file: string | undefined;
}

export interface ExitStatus {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The program could not be started at all. */
  error?: Error;
}

export interface Exit extends ExitStatus {
  /** stop or shutdown was called. */
  requested: boolean;
  /** No other kubelet is to be started: the service manager starts the agent and the kubelet again. */
  last?: true;
}

export interface Port {
  /** The address that the kubelet binds, or 0.0.0.0 and :: for all. */
  host: string;
  port: number;
}

/** The kubelet with the processes it started; another process, described for people; or nobody, as far as can be seen. */
export type PortOwner = 'kubelet' | 'nobody' | { other: string };

/** As a shell reports it: 128 and the signal's number when it was killed, 127 when it could not be started. */
export function exitCode({ code, signal, error }: ExitStatus): number {
  if (error !== undefined) return 127;
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

/**
 * The interface through which the agent starts and stops the kubelet of its machine. process.ts: relet is the parent of the kubelet.
 * systemd/driver.ts: the kubelet stays in its own unit. fake.ts: in memory, for tests and simulations. Every implementation passes the
 * tests of test/rig/driver-contract.ts.
 *
 *   none ── start ──► running ── stop, shutdown ──► none (exit: requested)
 *                        └───── exits on its own ─► none
 */
import { constants } from 'node:os';
import type { NoticeReason } from '../../api/condition-reasons.js';
import type { ExactRef } from '../../api/config-ref.js';
import type { EmbeddedDriver } from '../../api/driver-name.js';
import type { KubeletLog } from './kubelet-error.js';

export interface KubeletDriver {
  /** As the status shows it. */
  readonly name: DriverName;
  /** Changes with every boot of the machine. */
  bootId(): string;
  /** True while the machine shuts down: an exit does not count then, and no kubelet is started. */
  isHostStopping(): Promise<boolean>;
  /** Such as v1.32.1. Read before each start, since the binary may have been replaced. Throws if it is missing or not a kubelet. */
  version(): Promise<string>;
  /** Changes when the kubelet's binary is replaced; empty when there is none. */
  fingerprint(): string;
  /** Called once before the first start: stops or adopts a kubelet that an earlier agent left running, so that there are never two. */
  recover(): Promise<void>;
  /**
   * Starts the kubelet with this config at once, or adopts the one that runs with it; resolves when it has exited. An unreported
   * exit of a kubelet with this config is returned first. Throws if one is running or none may be started. `onRunning` is
   * called when the kubelet runs with this config, and no longer with another one.
   */
  start(config: StartedConfig, onRunning?: () => void): Promise<Exit>;
  /**
   * Ends this run, so that another config can be started. A kubelet that is a child of relet is made to exit, after a grace period
   * by force; one in its own unit runs on until the next start, which is then a single restart. Harmless when none is running.
   */
  stop(): Promise<void>;
  /** Called when the agent ends. A kubelet that is its child process is stopped with this signal. */
  shutdown(signal: NodeJS.Signals): Promise<void>;
  /** Owners of these ports. Undefined if no kubelet is running, or if it has exited meanwhile. */
  portOwners(ports: readonly Port[]): Promise<PortOwner[] | undefined>;
  /** Log of the kubelet that was started last; undefined if it cannot be read. Never rejects. */
  kubeletLog(): Promise<KubeletLog | undefined>;
  /** Set for a kubelet that others start and stop too: an operator, a package, a boot without the agent. */
  readonly unit?: KubeletUnit;
}

export type DriverName = 'process' | 'systemd' | 'fake' | EmbeddedDriver;

/**
 * The systemd unit of the kubelet. The config of its next start is on the host, so that the start does not need the agent:
 *
 *   start(config) ──► trial: ends with keep(), or after too many exits or the deadline the host returns to the kept config
 *   keep(config) ───► kept: every boot starts it
 *   stage(config) ──► the next start, by anyone, is a trial of it; the kubelet keeps running
 */
export interface KubeletUnit {
  /** The config that the kubelet runs with now; its next start may use another. Undefined if no kubelet runs, or if unknown. */
  running(): Promise<StartedConfig | undefined>;
  /** Called after the first healthy answer with the config on trial: removes the deadline. */
  confirmHealthy(): Promise<void>;
  /** Called when the config has passed its trial: every boot starts it. Never rejects: a failure becomes a notice. */
  keep(config: StartedConfig): Promise<void>;
  stage(config: StartedConfig): Promise<void>;
  /**
   * Requests a rollback from systemd, from the trial to the kept config, without waiting for its end. Runs no program and
   * reads only relet's own files. Returns false if the kept config is not `to`, or if no config is on trial.
   */
  rollBack(to: ExactRef | undefined): Promise<boolean>;
  /** Present changes on the host that the agent did not make. */
  notices(): Notice[];
  /** Undefined if it is not known. */
  nextStart(): StartedConfig | undefined;
  /** Clears the notice that somebody removed relet's drop-in: the next start writes the drop-in again. */
  forgetRemoval(): Promise<void>;
  /** Removes relet's files from the host. The kubelet keeps running with its local config. */
  detach(): Promise<void>;
  /** Called when notices() or nextStart() may have changed. */
  onChange(listener: () => void): void;
}

export interface Notice {
  reason: NoticeReason;
  /** Description for people, with the place. */
  message: string;
}

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
  /** The exit was not requested, even if the exit code is 0. */
  byItself?: true;
}

export interface Exit extends ExitStatus {
  /** stop or shutdown was called. */
  requested: boolean;
  /** The agent must not start another kubelet: the service manager restarts the agent and the kubelet. */
  last?: true;
  /** The exit reached the limit, and the host has rolled back to the kept config. */
  rolledBack?: true;
  /** The deadline on the host has passed while this agent waited for the kubelet's first healthy answer. */
  overdue?: true;
}

export interface Port {
  /** The address that the kubelet binds, or 0.0.0.0 and :: for all. */
  host: string;
  port: number;
}

/** Owner of a port: the kubelet or a process that it started; another process, described for people; or nobody visible. */
export type PortOwner = 'kubelet' | 'nobody' | { other: string };

/** As a shell reports it: 128 and the signal's number when it was killed, 127 when it could not be started. */
export function exitCode({ code, signal, error }: ExitStatus): number {
  if (error !== undefined) return 127;
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

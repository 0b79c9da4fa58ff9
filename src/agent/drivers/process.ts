/**
 * The process driver: relet is the parent of the kubelet, one at a time. A kubelet that survived a kill -9 of an earlier relet is found
 * by its record and stopped first.
 */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import type { Clock } from '../../clock.js';
import type { Log } from '../../log.js';
import { bootId, identify, type ProcessIdentity, quietly, stopProcess } from '../../proc.js';
import type { Random } from '../../random.js';
import type { NodeState } from '../state/node-state.js';
import { type Child, childRecord, childStarter, type Environment, findByToken, type StartChild } from './child.js';
import type { RunCommand } from './command.js';
import type { Exit, KubeletDriver, Port, PortOwner, StartedConfig } from './driver.js';
import type { KubeletLog } from './kubelet-error.js';
import { type LogPlaces, markKubeletLog } from './kubelet-log.js';
import { askVersion, kubeletRecord } from './kubelet-version.js';
import { ownerOf } from './listeners.js';

export interface ProcessDriverOptions {
  /** The kubelet's executable and, for the hollow kubelet, the words before its flags. */
  command: string[];
  /** The kubelet's flags; with a dynamic config its file instead of --config and --config-dir. */
  args(configFile: string | undefined): string[];
  /** The kubelet inherits it. */
  env: Environment;
  run: RunCommand;
  state: NodeState;
  clock: Clock;
  random: Random;
  log: Log;
  /** From SIGTERM to SIGKILL. */
  stopGraceMs: number;
  /** The directory of the records. One that cannot be written may have lost the last record: then the kubelet is found by this path. */
  place?: { dir: string; writable: boolean };
  /** Called before each start. Throws when this relet may not start a kubelet, since another one has taken its place. */
  mayStart?(): void;
  /** Places of the kubelet's log. Default none. */
  logPlaces?: LogPlaces;
  /** For tests. */
  startChild?: StartChild;
}

const systemctlTimeoutMs = 2000;
const noPlaces: LogPlaces = { files: [], journal: false };

export class ProcessDriver implements KubeletDriver {
  readonly name = 'process';
  readonly #options: ProcessDriverOptions;
  readonly #startChild: StartChild;
  #child: Child | undefined;
  #requested = false;
  #isLast = false;
  /** Reads the log of the kubelet that was started last. */
  #readLog: () => Promise<KubeletLog | undefined> = async () => undefined;

  constructor(options: ProcessDriverOptions) {
    this.#options = options;
    this.#startChild = options.startChild ?? childStarter(options.env);
  }

  bootId(): string {
    return bootId();
  }

  async isHostStopping(): Promise<boolean> {
    if (!existsSync('/run/systemd/system')) return false;
    const command = ['systemctl', 'is-system-running'];
    const { stdout } = await this.#options.run(command, systemctlTimeoutMs).catch(() => ({ stdout: '' }));
    return stdout.trim() === 'stopping';
  }

  version(): Promise<string> {
    const { command, run, state } = this.#options;
    return askVersion({ command, fingerprint: this.fingerprint(), run, record: state.record(kubeletRecord) });
  }

  fingerprint(): string {
    const found = statSync(this.#options.command[0]!, { throwIfNoEntry: false });
    return found ? [found.dev, found.ino, found.size, found.mtimeMs, found.ctimeMs].join(':') : '';
  }

  async recover(): Promise<void> {
    const { state, clock, log, stopGraceMs } = this.#options;
    for (const orphan of this.#orphans())
      if (await stopProcess(orphan, { graceMs: stopGraceMs, clock }))
        log.warn('stopped kubelet of an earlier relet', { pid: orphan.pid });
    state.remove(childRecord);
  }

  #orphans(): ProcessIdentity[] {
    const { state, place } = this.#options;
    if (place?.writable === false) {
      const found = findByToken((token) => token.endsWith(`@${place.dir}`));
      // Processes of the kubelet, such as mounts in user space, inherit its environment; the oldest is the kubelet.
      return found.sort((a, b) => Number(a.startTime) - Number(b.startTime) || a.pid - b.pid).slice(0, 1);
    }
    const record = state.read(childRecord);
    if (record === undefined || record.bootId !== this.bootId()) return [];
    return record.process ? [record.process] : findByToken((token) => token === record.token);
  }

  start({ source, file }: StartedConfig, onRunning?: () => void): Promise<Exit> {
    const { command, args, run, state, clock, random, log, mayStart, place, logPlaces = noPlaces } = this.#options;
    if (this.#child !== undefined) throw new Error('start the kubelet: one is running');
    const token = `${random.uuid()}@${place?.dir ?? ''}`;
    const record = { token, bootId: this.bootId(), ...(source && { source }), ...(file && { converted: file }) };
    // First the token, then the process: a relet that starts after a crash here knows what to search for.
    state.write(childRecord, record);
    // After that write: a relet that takes the lock reads the record then, so at least one sees the other.
    mayStart?.();
    this.#requested = false;
    const words = [...command, ...args(file)];
    const readLog = markKubeletLog(logPlaces, run);
    const startedMs = clock.monotonic();
    const child = this.#startChild(words, token);
    this.#child = child;
    // Counted back from now: the wall clock may have jumped since.
    const startedAtMs = () => clock.now() - (clock.monotonic() - startedMs);
    this.#readLog = () => readLog({ pid: child.process?.pid, startedAtMs: startedAtMs() });
    if (child.process) state.write(childRecord, { ...record, process: child.process });
    log.info('kubelet started', { pid: child.process?.pid, command: words.join(' ') });
    if (child.process) onRunning?.();
    return child.exited.then((exit) => {
      this.#child = undefined;
      state.remove(childRecord);
      const { code, signal, error } = exit;
      log.info('kubelet ended', { pid: child.process?.pid, code, signal, error });
      return { ...exit, requested: this.#requested, ...(this.#isLast && { last: true }) };
    });
  }

  stop(): Promise<void> {
    return this.shutdown('SIGTERM');
  }

  async shutdown(signal: NodeJS.Signals): Promise<void> {
    const { clock, log, stopGraceMs } = this.#options;
    const child = this.#child;
    if (child === undefined) return;
    if (this.#requested) {
      // A second signal would make a real kubelet exit at once, with code 1.
      await child.exited;
      return;
    }
    this.#requested = true;
    child.kill(signal);
    const exited = new AbortController();
    const overdue = clock.sleep(stopGraceMs, exited.signal).then(
      () => {
        log.warn('kubelet did not stop in time, killed', { graceMs: stopGraceMs });
        child.kill('SIGKILL');
      },
      () => {},
    );
    await child.exited;
    exited.abort();
    await overdue;
  }

  async portOwners(ports: readonly Port[]): Promise<PortOwner[] | undefined> {
    const kubelet = this.#child?.process;
    if (kubelet === undefined) return undefined;
    const owners = ports.map((port) => ownerOf(port, kubelet));
    return identify(kubelet.pid)?.startTime === kubelet.startTime ? owners : undefined;
  }

  kubeletLog(): Promise<KubeletLog | undefined> {
    return this.#readLog();
  }

  /** Passes a signal on that does not end it. */
  forward(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Ends both as systemd's watchdog would: SIGABRT. relet exits with the kubelet, and the service manager restarts both. */
  abort(): void {
    this.#isLast = true;
    this.forward('SIGABRT');
  }
}

/** The kubelet sets oom_score_adj -999; its parent must not be OOM-killed before it. Needs root. */
export function protectFromOom(): boolean {
  return (
    quietly(() => {
      writeFileSync('/proc/self/oom_score_adj', '-999');
      return true;
    }) ?? false
  );
}

/**
 * One kubelet at a time.
 *
 * none ── start ──► running ── stop (SIGTERM, after the grace SIGKILL) ──► none
 *                      └───── dies ─────────────────────────────────────► none
 *
 * Also across a kill -9 of relet: what an earlier relet left running is found by its record and stopped first.
 */
import { randomUUID } from 'node:crypto';
import type { ExactRef } from '../../api/config-ref.js';
import type { Clock } from '../../clock.js';
import type { Log } from '../../log.js';
import type { ProcessIdentity } from '../../proc.js';
import type { ChildRecord } from '../state/child-record.js';
import type { Memory } from '../state/memory.js';
import { type Child, type Exit, type Host, stopProcess } from './host.js';

export interface KubeletProcessOptions {
  host: Host;
  memory: Memory;
  clock: Clock;
  log: Log;
  /** From SIGTERM to SIGKILL. Default 30 s. */
  stopGraceMs: number;
  /** Where the records are. A disk that takes none may have lost the last one too: then a kubelet is found by its place. */
  place?: { dir: string; writable: boolean };
  /** Asked before each start. Throws when this relet may start no kubelet, since another one has taken its place. */
  mayStart?(): void;
}

export class KubeletProcess {
  readonly #options: KubeletProcessOptions;
  #child: Child | undefined;
  #told = false;
  #isLast = false;

  constructor(options: KubeletProcessOptions) {
    this.#options = options;
  }

  get process(): ProcessIdentity | undefined {
    return this.#child?.process;
  }

  /** Whether the end that is under way, or just happened, was asked for. */
  get toldToStop(): boolean {
    return this.#told;
  }

  /** Stops a kubelet that an earlier relet started and could not end. */
  async stopOrphan(): Promise<void> {
    const { host, memory, clock, log, stopGraceMs } = this.#options;
    for (const suspect of this.#suspects())
      if (await stopProcess(host, suspect, { graceMs: stopGraceMs, clock }))
        log.warn('kubelet of an earlier relet stopped', { pid: suspect.pid });
    memory.child.remove();
  }

  #suspects(): ProcessIdentity[] {
    const { host, memory, place } = this.#options;
    if (place?.writable === false) {
      const found = host.findChildren((token) => token.endsWith(`@${place.dir}`));
      // What a kubelet starts inherits its environment, mounts in user space among them; the oldest is the kubelet.
      return found.sort((a, b) => Number(a.startTime) - Number(b.startTime) || a.pid - b.pid).slice(0, 1);
    }
    const record = memory.child.read();
    if (record === undefined || record.bootId !== host.bootId()) return [];
    return record.process ? [record.process] : host.findChildren((token) => token === record.token);
  }

  start(command: string[], runs: Pick<ChildRecord, 'converted'> & { source: ExactRef | undefined }): Promise<Exit> {
    const { host, memory, log, mayStart, place } = this.#options;
    if (this.#child !== undefined) throw new Error('start the kubelet: one is running');
    const token = `${randomUUID()}@${place?.dir ?? ''}`;
    const { source, converted } = runs;
    const record = { token, bootId: host.bootId(), ...(source && { source }), ...(converted && { converted }) };
    // First the token, then the process: whoever comes after a crash here knows what to search for.
    memory.child.write(record);
    // Asked after that write: a relet that takes the lock reads the record then, so at least one sees the other.
    mayStart?.();
    this.#told = false;
    const child = host.start(command, token);
    this.#child = child;
    if (child.process) memory.child.write({ ...record, process: child.process });
    log.info('kubelet started', { pid: child.process?.pid, command: command.join(' ') });
    return child.exited.then((exit) => {
      this.#child = undefined;
      memory.child.remove();
      log.info('kubelet ended', { pid: child.process?.pid, code: exit.code, signal: exit.signal, error: exit.error });
      return exit;
    });
  }

  /** Asks it to end, and makes it end when it does not. Harmless when none runs. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const { clock, log, stopGraceMs } = this.#options;
    const child = this.#child;
    if (child === undefined) return;
    if (this.#told) {
      // A second signal would make a real kubelet exit on the spot, with code 1.
      await child.exited;
      return;
    }
    this.#told = true;
    child.kill(signal);
    const ended = new AbortController();
    const overdue = clock.sleep(stopGraceMs, ended.signal).then(
      () => {
        log.warn('kubelet did not stop in time, killed', { graceMs: stopGraceMs });
        child.kill('SIGKILL');
      },
      () => {},
    );
    await child.exited;
    ended.abort();
    await overdue;
  }

  /** As a watchdog that was not fed: it dies of this as of itself, and whoever started relet starts both anew. */
  abort(): void {
    this.#isLast = true;
    this.forward('SIGABRT');
  }

  /** No other is to be started after it. */
  get isLast(): boolean {
    return this.#isLast;
  }

  /** Passes a signal on that does not end it. */
  forward(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }
}

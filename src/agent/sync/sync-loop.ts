/**
 * The sync loop: reads the reference when it may have changed and hands it to `sync`, with backoff after a failure. A config that the
 * node may not read yet is retried quickly: the controller grants it within moments of its assignment.
 */
import { ConfigError } from '../../api/config-error.js';
import { type ConfigRef, sameConfig } from '../../api/config-ref.js';
import { isForbidden } from '../../api/status.js';
import { ConnectionError } from '../../kube/transport.js';
import type { ReconcileResult } from '../../kube/work-queue.js';
import type { Random } from '../../random.js';
import type { Reporter } from '../report/reporter.js';
import { ApiQueue, type ApiQueueOptions } from './api-queue.js';
import { type ConfigMapWatch, type Resolved, resolve } from './config-map.js';
import type { Instruction, Reference } from './reference.js';

/** One pass: the reference as it is now. */
export interface SyncPass {
  instruction: Instruction;
  /** The exact version and the files of the ConfigMap that is assigned; undefined where none is. Throws a ConfigError. */
  resolve(): Promise<Resolved | undefined>;
  /** The reference was taken back during the pass: it names the assigned config again. */
  isTakenBack(assigned: ConfigRef | undefined): boolean;
}

/** `followed`: the instruction is in effect, or will be after `againMs`. `waits`: it is read again after `afterMs`. */
export type SyncResult = { kind: 'followed'; againMs?: number } | { kind: 'waits'; afterMs: number };

export interface Sync {
  /** Time until the reference may be read again. */
  readWaitMs(): number;
  /** Throws a ConfigError when the reference cannot be followed. */
  sync(pass: SyncPass, signal: AbortSignal): Promise<SyncResult>;
}

export interface SyncLoopOptions extends ApiQueueOptions {
  reference: Reference;
  configMaps: ConfigMapWatch;
  sync: Sync;
  reporter: Reporter;
}

/** How long a fresh assignment may be forbidden before that is an error. */
const permissionPatienceMs = 5000;
/** How long the condition Granted is awaited before the ConfigMap is read without it. */
const grantPatienceMs = 1000;
/** The controller needs two writes for a grant, 100 ms and more, and reports it in the status, which is watched. */
const permissionRetryMs = (waitedMs: number, random: Random) =>
  Math.max(100, Math.min(waitedMs / 2, 1000)) * (0.5 + 0.5 * random.number());

export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #queue: ApiQueue;
  #forbiddenSinceMs: number | undefined;
  #ungranted: { generation: number | undefined; sinceMs: number } | undefined;
  /** The last pass followed the reference. */
  #isSynced = false;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#queue = new ApiQueue('sync', options, () => this.#pass());
  }

  /** State of this loop: whether it is idle, and when it has stopped. */
  get queue(): Pick<ApiQueue, 'isIdle' | 'stopped'> {
    return this.#queue;
  }

  /** The reference, or the ConfigMap, may have changed. */
  soon(): void {
    this.#queue.soon();
  }

  /** A node that has read its config need not read it again when it is granted. */
  granted(isGranted: boolean): void {
    if (!isGranted || !this.#isSynced) this.#queue.soon();
  }

  async #pass(): Promise<ReconcileResult> {
    const { sync, reference, reporter, signal } = this.#options;
    const readWaitMs = sync.readWaitMs();
    if (readWaitMs > 0) return { kind: 'requeue', afterMs: readWaitMs };
    let generation: number | undefined;
    try {
      const instruction = await reference.read(signal);
      generation = instruction.generation;
      const grantWaitMs = this.#grantWaitMs(instruction);
      if (grantWaitMs > 0) return { kind: 'requeue', afterMs: grantWaitMs };
      const pass: SyncPass = {
        instruction,
        resolve: () => this.#resolve(instruction),
        isTakenBack: (assigned) => this.#isTakenBack(instruction, assigned),
      };
      const result = await sync.sync(pass, signal);
      this.#isSynced = true;
      this.#forbiddenSinceMs = undefined;
      // A change that waits for its time is not followed yet.
      const isFollowed = result.kind === 'followed';
      reporter.update({ syncError: undefined, ...(isFollowed && { observedGeneration: generation }) });
      if (!isFollowed) return { kind: 'requeue', afterMs: result.afterMs };
      if (result.againMs !== undefined) this.#queue.after(result.againMs);
      return { kind: 'done' };
    } catch (error) {
      return this.#failed(error, generation);
    }
  }

  #isTakenBack(instruction: Instruction, assigned: ConfigRef | undefined): boolean {
    const newest = this.#options.reference.newest?.();
    if (newest === undefined || newest.kind === 'none') return false;
    const [then, now] = [instruction, newest].map((one) => (one.kind === 'source' ? one.target : undefined));
    return sameConfig(now, assigned, 'name') && !sameConfig(now, then, 'name');
  }

  #failed(error: unknown, generation: number | undefined): ReconcileResult {
    const { client, reporter, clock, log } = this.#options;
    const isDenied = isForbidden((error as Error).cause);
    this.#isSynced = false;
    if (isDenied && this.#forbiddenSinceMs === undefined) log.info('waiting for permission', { error });
    this.#forbiddenSinceMs = isDenied ? (this.#forbiddenSinceMs ?? clock.monotonic()) : undefined;
    const waitedMs = clock.monotonic() - (this.#forbiddenSinceMs ?? Number.NEGATIVE_INFINITY);
    if (waitedMs < permissionPatienceMs)
      return { kind: 'requeue', afterMs: permissionRetryMs(waitedMs, client.random) };
    if (error instanceof ConfigError && !isSilence(error))
      reporter.update({ syncError: error, observedGeneration: generation });
    return { kind: 'retry', error };
  }

  /** The controller has not looked at this generation yet: a read now would be forbidden. */
  #grantWaitMs({ kind, generation, awaitsGrant }: Instruction): number {
    const { clock } = this.#options;
    if (kind !== 'source' || !awaitsGrant) {
      this.#ungranted = undefined;
      return 0;
    }
    const now = clock.monotonic();
    if (this.#ungranted?.generation !== generation) this.#ungranted = { generation, sinceMs: now };
    this.#isSynced = false;
    return Math.max(0, this.#ungranted!.sinceMs + grantPatienceMs - now);
  }

  async #resolve(instruction: Instruction): Promise<Resolved | undefined> {
    const { configMaps, signal } = this.#options;
    if (instruction.kind === 'source') return resolve(instruction.target, (target) => configMaps.read(target, signal));
    configMaps.follow(undefined);
    return undefined;
  }
}

/** The API server did not answer: that is not an error of the reference, and could not be reported. */
function isSilence({ reason, cause }: ConfigError): boolean {
  return (reason === 'DownloadFailed' || reason === 'ReferenceUnreadable') && cause instanceof ConnectionError;
}

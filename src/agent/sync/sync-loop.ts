/** The sync loop: reads the reference when it may have changed and passes it to the agent. Retries with backoff after a failure. */
import { ConfigError } from '../../api/config-error.js';
import { type ConfigRef, sameConfig } from '../../api/config-ref.js';
import { ConnectionError } from '../../kube/transport.js';
import type { ReconcileResult } from '../../kube/work-queue.js';
import type { Reporter } from '../report/reporter.js';
import { ApiQueue, type ApiQueueOptions } from './api-queue.js';
import { type ConfigMapWatch, type Resolved, resolve } from './config-map.js';
import { PermissionWait } from './permission.js';
import type { Instruction, Reference } from './reference.js';

/** One pass: the reference as it is now. */
export interface SyncPass {
  instruction: Instruction;
  /** The exact version and the files of the ConfigMap that is assigned; undefined if none is. Throws a ConfigError. */
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

export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly queue: ApiQueue;
  readonly #permission: PermissionWait;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#permission = new PermissionWait(options);
    this.queue = new ApiQueue('sync', options, () => this.#pass());
  }

  granted(isGranted: boolean): void {
    if (this.#permission.isNews(isGranted)) this.queue.soon();
  }

  async #pass(): Promise<ReconcileResult> {
    const { sync, reference, reporter, signal } = this.#options;
    const readWaitMs = sync.readWaitMs();
    if (readWaitMs > 0) return { kind: 'requeue', afterMs: readWaitMs };
    let generation: number | undefined;
    try {
      const instruction = await reference.read(signal);
      generation = instruction.generation;
      const grantWaitMs = this.#permission.grantWaitMs(instruction);
      if (grantWaitMs > 0) return { kind: 'requeue', afterMs: grantWaitMs };
      const result = await sync.sync(this.#passOf(instruction), signal);
      this.#permission.granted();
      // A change that is delayed is not in effect yet.
      const isFollowed = result.kind === 'followed';
      reporter.update({ syncError: undefined, ...(isFollowed && { observedGeneration: generation }) });
      if (!isFollowed) return { kind: 'requeue', afterMs: result.afterMs };
      if (result.againMs !== undefined) this.queue.after(result.againMs);
      return { kind: 'done' };
    } catch (error) {
      const retryMs = this.#permission.retryMs(error);
      if (retryMs !== undefined) return { kind: 'requeue', afterMs: retryMs };
      if (error instanceof ConfigError && !isSilence(error))
        reporter.update({ syncError: error, observedGeneration: generation });
      return { kind: 'retry', error };
    }
  }

  #passOf(instruction: Instruction): SyncPass {
    const { reference, configMaps, signal } = this.#options;
    return {
      instruction,
      async resolve() {
        if (instruction.kind === 'source')
          return resolve(instruction.target, (target) => configMaps.read(target, signal));
        configMaps.follow(undefined);
        return undefined;
      },
      isTakenBack(assigned) {
        const newest = reference.newest?.();
        if (newest === undefined || newest.kind === 'none') return false;
        const [then, now] = [instruction, newest].map((one) => (one.kind === 'source' ? one.target : undefined));
        return sameConfig(now, assigned, 'name') && !sameConfig(now, then, 'name');
      },
    };
  }
}

/** The API server did not answer: that is not an error of the reference, and could not be reported. */
function isSilence({ reason, cause }: ConfigError): boolean {
  return (reason === 'DownloadFailed' || reason === 'ReferenceUnreadable') && cause instanceof ConnectionError;
}

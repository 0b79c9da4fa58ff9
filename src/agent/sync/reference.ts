/**
 * The object that refers to a node's config and takes its report: one interface, so that the flow does not know which object it is.
 * node-reference.ts is the Node itself, node-config-reference.ts a NodeConfig; ChosenReference picks.
 */
import { ConfigError } from '../../api/config-error.js';
import type { Owed } from '../../api/node-annotations.js';
import type { KubeObject } from '../../api/object.js';
import type { ObserveRequest } from '../../api/observe.js';
import { ApiError } from '../../api/status.js';
import type { Clock } from '../../clock.js';
import { isObject } from '../../json.js';
import { backoffMs } from '../../kube/backoff.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import type { Report } from '../report/report.js';
import { defineRecord } from '../state/json-record.js';
import type { AssignedRef } from './config-map.js';

/** Present content of the object. Only an existing object without a configSource means local. */
export type Instruction = (
  | { kind: 'none'; why: string }
  | { kind: 'local' }
  | { kind: 'source'; target: AssignedRef }
) & {
  /** Generation of the object it was read from; a Node has none. */
  generation?: number;
  /** Actions on the host that a person accepted for this config. */
  owed?: Owed;
  /** The reference is the Node's own, as upstream had it. */
  isNodes?: true;
  /** With local: relet is to leave the host. */
  detach?: true;
  /** The controller has not yet decided whether the node may read what this generation assigns. */
  awaitsGrant?: true;
};

export interface ReferenceListener {
  /** The instruction may have changed, or was seen for the first time. */
  onInstruction(): void;
  /** Permission to read what the instruction names was granted, or is missing. */
  onGrant?(isGranted: boolean): void;
  /** The object's status may differ from what was written. */
  onStatus(): void;
  /** The request of an analysis, if there is one. */
  onObserve?(request: ObserveRequest | undefined): void;
  /** The Node was read. */
  onNode?(node: KubeObject): void;
  /** The watch was interrupted, or is open again: it may be checked again which object holds the reference. */
  onWatchInterrupted?(): void;
}

export interface Reference {
  /** Follows the object by name until the signal fires. */
  follow(listener: ReferenceListener, signal: AbortSignal): Promise<void>;
  /** Returns the watched object, or reads it. Throws a ConfigError if the API rejects the read, another error if it does not answer. */
  read(signal: AbortSignal): Promise<Instruction>;
  /** The instruction that the watch has delivered last; undefined if that is not known. */
  newest?(): Instruction | undefined;
  /** Writes the report to the status, if it differs. Throws if the API rejects it. Returns false if the object does not exist yet. */
  write(report: Report, signal: AbortSignal): Promise<boolean>;
}

export type ReferenceKind = 'Node' | 'NodeConfig';

export interface FollowedReference {
  kind: 'NodeConfig';
}

export const followedRecord = defineRecord('followed', isFollowedReference);

function isFollowedReference(value: unknown): value is FollowedReference {
  return isObject(value) && value.kind === 'NodeConfig';
}

export interface ChosenReferenceOptions {
  references: Record<ReferenceKind, Reference>;
  /** Whether the API serves NodeConfigs. Throws when it gave no answer. */
  served(signal: AbortSignal): Promise<boolean>;
  /** Record that a NodeConfig was followed, across restarts. */
  followed(): { read(): FollowedReference | undefined; write(record: FollowedReference): void; remove(): void };
  /** Waits before a retry, and until the server can be reached. */
  waitBeforeRetry(ms: number, signal: AbortSignal): Promise<void>;
  clock: Clock;
  random: Random;
  log: Log;
  /** Interval for checking whether the API serves NodeConfigs, while the Node holds the reference. Default 60 s. */
  askAgainMs?: number;
}

const backoff = { initialMs: 200, maxMs: 30_000 };

/**
 * Picks the object that holds the reference: a NodeConfig where the API serves them, else the Node; and changes over while
 * running, either way:
 *
 * asking ──► NodeConfig ── no longer served ──► Node, which then has no effect until it names a config itself
 *    └─────► Node ── NodeConfigs are served ──► NodeConfig
 *
 * Deleting NodeConfigs is not an instruction. So it is recorded on disk that one was followed: a Node without a
 * configSource, which all Nodes are on such a cluster, must not be read as "back to local".
 */
export class ChosenReference implements Reference {
  readonly #options: ChosenReferenceOptions;
  #kind: ReferenceKind | undefined;
  #askedMs = Number.NEGATIVE_INFINITY;
  /** Ends the watch of an object that no longer holds the reference. */
  #over = new AbortController();

  constructor(options: ChosenReferenceOptions) {
    this.#options = options;
  }

  async follow(listener: ReferenceListener, signal: AbortSignal): Promise<void> {
    const { references } = this.#options;
    while (!signal.aborted) {
      const kind = this.#kind ?? (await this.#askPatiently(signal));
      if (kind === undefined) return;
      this.#over = new AbortController();
      const onWatchInterrupted = () => void this.#askOnOccasion(signal);
      await references[kind].follow({ ...listener, onWatchInterrupted }, AbortSignal.any([signal, this.#over.signal]));
      listener.onInstruction();
      listener.onStatus();
    }
  }

  async read(signal: AbortSignal): Promise<Instruction> {
    const kind = this.#kind ?? (await this.#ask(signal).catch(refused));
    const instruction = await this.#options.references[kind].read(signal);
    // The NodeConfig is missing: find out whether the API still serves NodeConfigs at all.
    if (kind === 'NodeConfig' && instruction.kind === 'none' && (await this.#ask(signal)) === 'Node')
      return this.read(signal);
    return this.#remembering(kind, instruction);
  }

  newest(): Instruction | undefined {
    return this.#kind && this.#options.references[this.#kind].newest?.();
  }

  async write(report: Report, signal: AbortSignal): Promise<boolean> {
    return this.#options.references[this.#kind ?? (await this.#ask(signal))].write(report, signal);
  }

  #remembering(kind: ReferenceKind, instruction: Instruction): Instruction {
    const followed = this.#options.followed();
    if (kind === 'NodeConfig') {
      if (instruction.kind !== 'none') followed.write({ kind });
      return instruction;
    }
    if (instruction.kind === 'source') followed.remove();
    if (instruction.kind === 'local' && followed.read() !== undefined)
      return { kind: 'none', why: 'the API no longer serves NodeConfigs, and this node followed one' };
    return instruction;
  }

  async #ask(signal: AbortSignal): Promise<ReferenceKind> {
    const { served, clock, log } = this.#options;
    this.#askedMs = clock.monotonic();
    const kind = (await served(signal)) ? 'NodeConfig' : 'Node';
    if (kind === this.#kind) return kind;
    log.info('reference found', { in: kind, before: this.#kind });
    this.#kind = kind;
    this.#over.abort();
    return kind;
  }

  /** After each failure of a NodeConfig's watch, and whenever a Node changes. */
  async #askOnOccasion(signal: AbortSignal): Promise<void> {
    const { clock, log, askAgainMs = 60_000 } = this.#options;
    if (this.#kind === 'Node' && clock.monotonic() - this.#askedMs < askAgainMs) return;
    await this.#ask(signal).catch((error) => log.debug('API discovery failed', { error }));
  }

  async #askPatiently(signal: AbortSignal): Promise<ReferenceKind | undefined> {
    const { waitBeforeRetry, random, log } = this.#options;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await this.#ask(signal);
      } catch (error) {
        if (failures === 1) log.warn('API discovery failed, keeping the current config', { error });
        await waitBeforeRetry(backoffMs(failures, backoff, random), signal).catch(() => {});
      }
    }
    return undefined;
  }
}

/** A response such as 401 is reported like an error of the object itself. */
function refused(error: unknown): never {
  throw error instanceof ApiError ? new ConfigError('ReferenceUnreadable', error) : error;
}

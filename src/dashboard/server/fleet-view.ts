/**
 * The fleet as one person sees it: nodes as rows, and sets, kept up to date with their own credential while somebody looks.
 *
 *   stopped ── a stream opens, or a request needs it ──► listing ──► synced ◄──► stale
 *      ▲                                                                │
 *      └── 30 s after the last stream closed, or access changed ────────┘
 */
import { type NodeConfigSet, nodeConfigSets } from '../../api/node-config-set.js';
import { isForbidden, isNotFound, isUnauthorized } from '../../api/status.js';
import type { Clock } from '../../clock.js';
import type { ConfigReferences, ConfiguredNode } from '../../fleet/configured-node.js';
import type { KubeClient } from '../../kube/client.js';
import { watchLoop } from '../../kube/watch.js';
import { Targets } from '../../rollout/target.js';
import { shorten } from '../../shorten.js';
import { oneLine } from '../../visible-text.js';
import type { May, Row } from '../wire.js';
import { RequestProblem } from './problem.js';
import { isSameRow, rowOf } from './row.js';

/** Each is called when something changed, and reads what it is. */
export interface FleetListener {
  onSnapshot(): void;
  onRow(name: string): void;
  onSets(): void;
  onFreshness(): void;
}

export interface FleetViewOptions {
  client: KubeClient;
  references: ConfigReferences;
  clock: Clock;
  may(): Pick<May, 'seeFleet' | 'seeSets'>;
  /** The API server no longer accepts the credential. */
  onUnauthorized(error: Error): void;
  /** A list or watch that was allowed is not any more. */
  onForbidden(): void;
}

export interface Staleness {
  since: number;
  why: string;
}

const lingerMs = 30_000;
const patienceMs = 30_000;
const renewRowsMs = 60_000;
/** `server`: the API server answers no request. */
type Source = 'fleet' | 'sets' | 'server';

export class FleetView {
  readonly nodes = new Map<string, ConfiguredNode>();
  readonly rows = new Map<string, Row>();
  readonly sets = new Map<string, NodeConfigSet>();
  readonly #options: FleetViewOptions;
  readonly #listeners = new Set<FleetListener>();
  readonly #failing = new Map<Source, Staleness>();
  #running: AbortController | undefined;
  #lingering: AbortController | undefined;
  #synced = settable();
  #isListed = false;
  #targets = new Targets();

  constructor(options: FleetViewOptions) {
    this.#options = options;
  }

  /** Undefined: up to date. */
  get stale(): Staleness | undefined {
    return [...this.#failing.values()].sort((a, b) => a.since - b.since)[0];
  }

  /** The fleet was listed; false as long as nothing is known. */
  get isListed(): boolean {
    return this.#isListed;
  }

  /** Returns the function that ends it. */
  attach(listener: FleetListener): () => void {
    this.#listeners.add(listener);
    this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#linger();
    };
  }

  /** For a request: resolves when the fleet is listed. Rejects when the signal fires, and after a while. */
  async listed(signal: AbortSignal): Promise<void> {
    this.#start();
    if (this.#listeners.size === 0) this.#linger();
    const done = new AbortController();
    const tooLate = this.#options.clock.sleep(patienceMs, AbortSignal.any([signal, done.signal])).then(() => {
      throw new RequestProblem(503, {
        reason: 'FleetUnknown',
        message: `The nodes could not be listed within ${patienceMs / 1000} s${this.stale ? `: ${this.stale.why}` : ''}.`,
        remedy: 'The page tries again automatically; check the API server and the network.',
      });
    });
    try {
      await Promise.race([this.#synced.promise, tooLate]);
    } finally {
      done.abort();
      tooLate.catch(() => {});
    }
  }

  /** Permissions changed: all that was read with the old ones is forgotten. */
  restart(): void {
    if (this.#running === undefined) return;
    this.stop();
    this.#start();
    if (this.#listeners.size === 0) this.#linger();
  }

  stop(): void {
    this.#running?.abort();
    this.#lingering?.abort();
    this.#running = undefined;
    // Requests that wait for the first list get the next one.
    if (this.#isListed) this.#synced = settable();
    this.#isListed = false;
    this.#targets = new Targets();
    for (const map of [this.nodes, this.rows, this.sets, this.#failing]) map.clear();
  }

  #start(): void {
    this.#lingering?.abort();
    if (this.#running !== undefined) return;
    this.#running = new AbortController();
    const { signal } = this.#running;
    const may = this.#options.may();
    if (may.seeFleet) void this.#watchNodes(signal);
    else this.#listedAll([]);
    if (may.seeSets) void this.#watchSets(signal);
    void this.#renewRowsFromTimeToTime(signal);
    void this.#options.client.followLiveness({
      signal,
      onSilent: ({ sinceMs, why }) => this.#fail('server', silentText(why), sinceMs),
      onAnswer: () => this.#works('server'),
    });
  }

  #linger(): void {
    this.#lingering?.abort();
    this.#lingering = new AbortController();
    this.#options.clock.sleep(lingerMs, this.#lingering.signal).then(
      () => this.stop(),
      () => {},
    );
  }

  #watchNodes(signal: AbortSignal): Promise<void> {
    return this.#options.references.watch({
      signal,
      onList: (present) => this.#listedAll(present),
      onChange: (node, gone) => this.#changed(node, gone),
      onFailure: (error) => this.#failed('fleet', error),
      onWatching: () => this.#works('fleet'),
    });
  }

  #watchSets(signal: AbortSignal): Promise<void> {
    return watchLoop<NodeConfigSet>(this.#options.client, {
      type: nodeConfigSets,
      signal,
      trim: withoutManagedFields,
      onList: (present) => {
        this.sets.clear();
        for (const set of present) this.sets.set(set.metadata.name, set);
        this.#setsChanged();
      },
      onChange: (type, set) => {
        if (type === 'DELETED') this.sets.delete(set.metadata.name);
        else this.sets.set(set.metadata.name, set);
        this.#setsChanged();
      },
      // A cluster before 1.22, or one where only nodes were installed, has no sets.
      onFailure: (error) => (isNotFound(error) ? this.#works('sets') : this.#failed('sets', error)),
      onWatching: () => this.#works('sets'),
    });
  }

  #listedAll(present: ConfiguredNode[]): void {
    this.nodes.clear();
    this.rows.clear();
    for (const node of present) {
      this.nodes.set(node.name, node);
      this.rows.set(node.name, this.#row(node));
    }
    this.#isListed = true;
    this.#synced.resolve();
    for (const listener of this.#listeners) listener.onSnapshot();
  }

  #changed(node: ConfiguredNode, gone: boolean): void {
    if (gone) {
      this.nodes.delete(node.name);
      this.rows.delete(node.name);
    } else {
      this.nodes.set(node.name, node);
      // Most changes of a Node are heartbeats.
      if (!this.#isChanged(node)) return;
    }
    for (const listener of this.#listeners) listener.onRow(node.name);
  }

  #row(node: ConfiguredNode): Row {
    return rowOf(node, { nowMs: this.#options.clock.now(), isOutdated: this.#targets.isOutdated });
  }

  /** Its row is another one now. */
  #isChanged(node: ConfiguredNode): boolean {
    const [before, row] = [this.rows.get(node.name), this.#row(node)];
    if (before !== undefined && isSameRow(before, row)) return false;
    this.rows.set(node.name, row);
    return true;
  }

  /** Rows depend on the time, by which an agent becomes silent, and on what sets want of nodes. */
  #renewRows(): void {
    for (const node of this.nodes.values())
      if (this.#isChanged(node)) for (const listener of this.#listeners) listener.onRow(node.name);
  }

  async #renewRowsFromTimeToTime(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(renewRowsMs, signal).catch(() => {});
      if (!signal.aborted) this.#renewRows();
    }
  }

  #setsChanged(): void {
    if (this.#targets.update(this.sets.values())) this.#renewRows();
    for (const listener of this.#listeners) listener.onSets();
  }

  #failed(source: Source, error: unknown): void {
    const { clock, onUnauthorized, onForbidden } = this.#options;
    if (isUnauthorized(error)) {
      onUnauthorized(error as Error);
      return;
    }
    if (isForbidden(error)) {
      onForbidden();
      return;
    }
    this.#fail(source, error instanceof Error ? error.message : String(error), this.stale?.since ?? clock.now());
  }

  #fail(source: Source, text: string, since: number): void {
    const why = shorten(oneLine(text), 500);
    const before = this.#failing.get(source);
    if (before?.why === why) return;
    this.#failing.set(source, { since: before?.since ?? since, why });
    for (const listener of this.#listeners) listener.onFreshness();
  }

  #works(source: Source): void {
    if (!this.#failing.delete(source)) return;
    for (const listener of this.#listeners) listener.onFreshness();
  }
}

const silentText = (why: string): string =>
  why === '' ? 'The API server does not answer.' : `The API server does not answer: ${why}.`;

function withoutManagedFields(set: NodeConfigSet): NodeConfigSet {
  const { managedFields: _, ...metadata } = set.metadata;
  return { ...set, metadata };
}

function settable() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

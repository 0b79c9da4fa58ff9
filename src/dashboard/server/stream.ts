/**
 * The stream of one tab: a snapshot in parts, then changes, as server-sent events.
 *
 *   snapshot ─► rows, a few times a second ─► (a new list) ─► snapshot …
 *
 * What a slow reader has not got yet is a set of names, never a queue of messages: it gets the newest row of each when it can. One that
 * reads nothing for a minute is disconnected, and begins with a snapshot when it comes back.
 */
import type { Clock } from '../../clock.js';
import { type May, type Problem, packRows, type Row, type StreamEvents } from '../wire.js';
import type { FleetListener, FleetView } from './fleet-view.js';
import { summaryOf } from './row.js';

/** The part of a ServerResponse that a stream needs. */
export interface StreamOut {
  /** False: not all is sent yet; `onDrain` is called then. */
  write(text: string): boolean;
  onDrain(listener: () => void): void;
  end(): void;
  /** Without waiting for the reader. */
  destroy(): void;
}

export interface StreamOptions {
  view: FleetView;
  out: StreamOut;
  clock: Clock;
  /** The reader has gone. */
  signal: AbortSignal;
}

const rowsInPart = 2000;
const batchMs = 200;
/** The page calls its data old after three of them. */
const heartbeatMs = 4000;
const mostSilentMs = 60_000;

export class FleetStream implements FleetListener {
  readonly #options: StreamOptions;
  readonly #changed = new Set<string>();
  #toSnapshot: Row[] | undefined;
  #part = 0;
  #areSetsDue = true;
  #isFreshnessDue = true;
  #wasStale = false;
  #isFull = false;
  #isScheduled = false;
  #blockedSinceMs = 0;
  #isEnded = false;
  #detach: () => void = () => {};

  constructor(options: StreamOptions) {
    this.#options = options;
    options.out.onDrain(() => {
      this.#isFull = false;
      this.#flush();
    });
  }

  open(): void {
    const { view, signal } = this.#options;
    this.#detach = view.attach(this);
    if (view.isListed) this.onSnapshot();
    signal.addEventListener('abort', () => this.#detach(), { once: true });
    this.#flush();
    void this.#beat();
  }

  onSnapshot(): void {
    const { view } = this.#options;
    this.#changed.clear();
    this.#toSnapshot = [...view.rows.values()];
    this.#part = 0;
    this.#schedule(0);
  }

  onRow(name: string): void {
    this.#changed.add(name);
    this.#schedule(batchMs);
  }

  onSets(): void {
    this.#areSetsDue = true;
    this.#schedule(batchMs);
  }

  onFreshness(): void {
    this.#isFreshnessDue = true;
    this.#schedule(0);
  }

  access(may: May): void {
    this.#send('access', { may });
    this.onSets();
  }

  /** The last event: the credential is no longer valid. */
  login(problem: Problem): void {
    this.#send('login', problem);
    this.end();
  }

  end(): void {
    this.#isEnded = true;
    this.#detach();
    this.#options.out.end();
  }

  #schedule(ms: number): void {
    if (this.#isScheduled && ms > 0) return;
    this.#isScheduled = true;
    const { clock, signal } = this.#options;
    clock.sleep(ms, signal).then(
      () => {
        this.#isScheduled = false;
        this.#flush();
      },
      () => {},
    );
  }

  /** As much as the reader takes. */
  #flush(): void {
    const { view, clock, signal } = this.#options;
    const at = clock.now();
    while (!this.#isFull && !signal.aborted) {
      if (this.#isFreshnessDue) {
        this.#isFreshnessDue = false;
        this.#sendFreshness(at);
      } else if (this.#areSetsDue) {
        this.#areSetsDue = false;
        this.#send('sets', { at, sets: [...view.sets.values()].map((set) => summaryOf(set, at, view.nodes)) });
      } else if (this.#toSnapshot !== undefined) this.#sendPart(this.#toSnapshot, at);
      else if (this.#changed.size > 0) {
        const names = [...this.#changed].slice(0, rowsInPart);
        for (const name of names) this.#changed.delete(name);
        const upsert = names.flatMap((name) => view.rows.get(name) ?? []);
        this.#send('rows', { at, upsert, remove: names.filter((name) => !view.rows.has(name)) });
      } else return;
    }
  }

  #sendPart(rows: Row[], at: number): void {
    const parts = Math.max(1, Math.ceil(rows.length / rowsInPart));
    const part = this.#part++;
    if (this.#part >= parts) this.#toSnapshot = undefined;
    const some = rows.slice(part * rowsInPart, (part + 1) * rowsInPart);
    this.#send('fleet', { part, parts, at, rows: packRows(some) });
  }

  #sendFreshness(at: number): void {
    const { stale } = this.#options.view;
    if (stale !== undefined) this.#send('stale', stale);
    else if (this.#wasStale) this.#send('fresh', { at });
    this.#wasStale = stale !== undefined;
  }

  #send<Name extends keyof StreamEvents>(name: Name, data: StreamEvents[Name]): void {
    // A write that is due when it ends: after the end it is an error that nobody handles.
    if (this.#isEnded) return;
    const { out, clock } = this.#options;
    const isFull = !out.write(eventText(name, data));
    if (isFull && !this.#isFull) this.#blockedSinceMs = clock.monotonic();
    this.#isFull = isFull;
  }

  async #beat(): Promise<void> {
    const { clock, signal, out } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(heartbeatMs, signal).catch(() => {});
      if (signal.aborted) return;
      if (!this.#isFull) this.#send('heartbeat', { at: clock.now() });
      else if (clock.monotonic() - this.#blockedSinceMs > mostSilentMs) {
        this.#detach();
        return out.destroy();
      }
    }
  }
}

/** JSON has no line breaks, which would end an event. */
export const eventText = <Name extends keyof StreamEvents>(name: Name, data: StreamEvents[Name]): string =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

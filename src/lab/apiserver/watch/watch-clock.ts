/** One slow pulse for all open watches: timeouts and bookmarks, instead of two timers per watch. */
import type { Clock } from '../../../clock.js';
import type { Resource } from '../resource.js';
import type { Watcher } from './watcher.js';

interface Timed {
  watcher: Watcher;
  endsAt: number;
  /** The bookmark just before the end was sent. */
  isEnding: boolean;
  bookmarkAt: number;
}

const pulseMs = 500;
const bookmarkEveryMs = 60_000;
/** Clients get a last bookmark so long before the end. */
const lastBookmarkMs = 2_000;

export class WatchClock {
  readonly #clock: Clock;
  readonly #watches = new Set<Timed>();
  #stop: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(watcher: Watcher, timeoutMs: number): void {
    const now = this.#clock.monotonic();
    const bookmarkAt = now + bookmarkEveryMs;
    this.#watches.add({ watcher, endsAt: now + timeoutMs, isEnding: false, bookmarkAt });
    if (this.#stop === undefined) void this.#run();
  }

  /** Ends watches of kinds that are gone: their clients must learn it, not wait. */
  endUnserved(isServed: (resource: Resource) => boolean): void {
    for (const { watcher } of this.#watches) if (!isServed(watcher.resource)) watcher.end();
  }

  /** Ends every watch in an orderly way. */
  close(): void {
    for (const { watcher } of this.#watches) watcher.end();
    this.#watches.clear();
    this.#stop?.abort(new Error('the server is closing'));
  }

  async #run(): Promise<void> {
    const stop = new AbortController();
    this.#stop = stop;
    try {
      while (this.#watches.size > 0) {
        await this.#clock.sleep(pulseMs, stop.signal);
        this.#pulse(this.#clock.monotonic());
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    } finally {
      this.#stop = undefined;
    }
  }

  #pulse(now: number): void {
    for (const timed of this.#watches) {
      const { watcher } = timed;
      if (watcher.isClosed) this.#watches.delete(timed);
      else if (now >= timed.endsAt) {
        this.#watches.delete(timed);
        watcher.end();
      } else if (!timed.isEnding && now >= timed.endsAt - lastBookmarkMs) {
        timed.isEnding = true;
        watcher.sendBookmark();
      } else if (now >= timed.bookmarkAt) {
        timed.bookmarkAt = now + bookmarkEveryMs;
        watcher.sendBookmark();
      }
    }
  }
}

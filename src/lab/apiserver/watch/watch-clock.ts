/** One periodic tick for all open watches: timeouts and bookmarks, instead of two timers per watch. */
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

const tickMs = 500;
const bookmarkEveryMs = 60_000;
/** The last bookmark is sent this long before the end. */
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

  /** Ends watches of kinds that are no longer served. */
  endUnserved(isServed: (resource: Resource) => boolean): void {
    for (const { watcher } of this.#watches) if (!isServed(watcher.resource)) watcher.end();
  }

  /** Ends every watch. */
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
        await this.#clock.sleep(tickMs, stop.signal);
        this.#tick(this.#clock.monotonic());
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    } finally {
      this.#stop = undefined;
    }
  }

  #tick(now: number): void {
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

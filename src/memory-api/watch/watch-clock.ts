/** Timeouts and bookmarks of all open watches: those that are due within half a second share one timer. */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../clock.js';
import type { Resource } from '../resource.js';
import type { Watcher } from './watcher.js';

interface Timed {
  /** Undefined once it has ended: its memory is not kept until it would have been due. */
  watcher: Watcher | undefined;
  endsAt: number;
  /** The bookmark just before the end was sent. */
  isEnding: boolean;
  bookmarkAt: number;
}

const tickMs = 500;
const defaultBookmarkMs = 60_000;
/** The last bookmark is sent this long before the end. */
const lastBookmarkMs = 2_000;

export class WatchClock {
  readonly #clock: Clock;
  readonly #bookmarkMs: number;
  readonly #watches = new Set<Watcher>();
  /** By the time when they are due. */
  readonly #due = new Map<number, Timed[]>();
  readonly #stop = new AbortController();

  /** `bookmarkMs` is between two bookmarks of a watch; each has one at its end all the same. */
  constructor(clock: Clock, bookmarkMs = defaultBookmarkMs) {
    this.#clock = clock;
    this.#bookmarkMs = bookmarkMs;
    // One for each timer.
    setMaxListeners(0, this.#stop.signal);
  }

  add(watcher: Watcher, timeoutMs: number): void {
    const now = this.#clock.monotonic();
    const bookmarkAt = now + this.#bookmarkMs;
    const timed: Timed = { watcher, endsAt: now + timeoutMs, isEnding: false, bookmarkAt };
    this.#watches.add(watcher);
    watcher.onLeave = () => {
      this.#watches.delete(watcher);
      timed.watcher = undefined;
    };
    this.#schedule(timed);
  }

  /** Ends watches of kinds that are no longer served. */
  endUnserved(isServed: (resource: Resource) => boolean): void {
    for (const watcher of this.#watches) if (!isServed(watcher.resource)) watcher.end();
  }

  /** Ends every watch. */
  close(): void {
    for (const watcher of this.#watches) watcher.end();
    this.#stop.abort(new Error('the server is closing'));
  }

  #schedule(timed: Timed): void {
    const dueMs = Math.min(timed.bookmarkAt, timed.isEnding ? timed.endsAt : timed.endsAt - lastBookmarkMs);
    const at = Math.ceil(dueMs / tickMs) * tickMs;
    const others = this.#due.get(at);
    if (others !== undefined) return void others.push(timed);
    this.#due.set(at, [timed]);
    void this.#clock.sleep(at - this.#clock.monotonic(), this.#stop.signal).then(
      () => this.#tick(at),
      () => {},
    );
  }

  #tick(at: number): void {
    const due = this.#due.get(at) ?? [];
    this.#due.delete(at);
    const now = this.#clock.monotonic();
    for (const timed of due) {
      const { watcher } = timed;
      if (watcher === undefined) continue;
      if (now >= timed.endsAt) {
        watcher.end();
        continue;
      }
      timed.isEnding ||= now >= timed.endsAt - lastBookmarkMs;
      timed.bookmarkAt = now + this.#bookmarkMs;
      watcher.sendBookmark();
      this.#schedule(timed);
    }
  }
}

/** The recent events in order of revisions, for watches that resume and lists that continue. */
import type { JournalRecord } from './journal.js';
import type { Scope } from './store.js';

/** A record in memory: one state of an object. */
export interface State extends JournalRecord {
  /** The state before; absent for a created object, and for one whose event is no longer in the history. */
  previous: State | undefined;
}

export class History {
  #states: State[] = [];
  /** Bytes of all states in the history. */
  bytes = 0;

  get length(): number {
    return this.#states.length;
  }

  get oldest(): State | undefined {
    return this.#states[0];
  }

  push(state: State): void {
    this.#states.push(state);
    this.bytes += state.bytes.length;
  }

  /** Removes the events up to a revision. The states before them are then referenced by nothing and become garbage. */
  removeUpTo(revision: number): void {
    const end = this.#indexAfter(revision);
    for (const state of this.#states.slice(0, end)) {
      this.bytes -= state.bytes.length;
      state.previous = undefined;
    }
    this.#states = this.#states.slice(end);
  }

  /** The newest event that is older than `before`, or that must go to leave `keep` events and `keepBytes` bytes. */
  excess(limits: { before: number; keep: number; keepBytes: number }): State | undefined {
    let found: State | undefined;
    let left = this.length;
    let bytes = this.bytes;
    for (const state of this.#states) {
      if (state.time >= limits.before && left <= limits.keep && bytes <= limits.keepBytes) break;
      found = state;
      bytes -= state.bytes.length;
      left--;
    }
    return found;
  }

  /** Events after a revision, oldest first; of one scope, or all. Events may be added meanwhile, not removed. */
  *after(revision: number, scope?: Scope): Generator<State> {
    const states = this.#states;
    for (let at = this.#indexAfter(revision); at < states.length; at++) {
      const state = states[at]!;
      if (scope === undefined || isWithin(state, scope)) yield state;
    }
  }

  #indexAfter(revision: number): number {
    let low = 0;
    let high = this.#states.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#states[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isWithin({ key }: State, scope: Scope): boolean {
  return (
    key.resource === scope.resource &&
    key.group === scope.group &&
    (scope.name === undefined || key.name === scope.name) &&
    (scope.namespace === undefined || key.namespace === scope.namespace)
  );
}

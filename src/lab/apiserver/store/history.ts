/** The recent past in order of revisions, for watches that resume and lists that continue. */
import type { RecordHead } from './journal.js';
import type { Scope } from './store.js';

export class History {
  #records: RecordHead[] = [];
  /** Records before this place are forgotten; the array is cut now and then. */
  #head = 0;
  bytes = 0;

  get length(): number {
    return this.#records.length - this.#head;
  }

  get oldest(): RecordHead | undefined {
    return this.#records[this.#head];
  }

  push(record: RecordHead): void {
    this.#records.push(record);
    this.bytes += record.size;
  }

  /** Takes the oldest records up to a revision away, oldest first. */
  takeUpTo(revision: number): RecordHead[] {
    const from = this.#head;
    this.#head = this.#place(revision);
    const taken = this.#records.slice(from, this.#head);
    for (const record of taken) this.bytes -= record.size;
    if (this.#head > 1024 && this.#head * 2 > this.#records.length) {
      this.#records = this.#records.slice(this.#head);
      this.#head = 0;
    }
    return taken;
  }

  /** The newest record that is older than `time` or that must go to leave `keep` records and `keepBytes` bytes. */
  excess(limits: { before: number; keep: number; keepBytes: number }): RecordHead | undefined {
    let found: RecordHead | undefined;
    let left = this.length;
    let bytes = this.bytes;
    for (let at = this.#head; at < this.#records.length; at++, left--) {
      const record = this.#records[at]!;
      if (record.time >= limits.before && left <= limits.keep && bytes <= limits.keepBytes) break;
      found = record;
      bytes -= record.size;
    }
    return found;
  }

  /** Records after a revision, oldest first. Safe against records being added meanwhile, not against taking away. */
  *after(revision: number, scope: Scope): Generator<RecordHead> {
    const records = this.#records;
    for (let at = this.#place(revision); at < records.length; at++) {
      const record = records[at]!;
      if (isWithin(record, scope)) yield record;
    }
  }

  /** The place of the first record behind a revision. */
  #place(revision: number): number {
    let low = this.#head;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#records[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isWithin({ key }: RecordHead, scope: Scope): boolean {
  return (
    key.resource === scope.resource &&
    key.group === scope.group &&
    (scope.name === undefined || key.name === scope.name) &&
    (scope.namespace === undefined || key.namespace === scope.namespace)
  );
}

/**
 * What one node remembers: a few record files under DIR/meta, each replaced whole. It is the only thing that crosses a
 * restart. `assigned` and `last-known-good` have upstream's form; the rest is ours and may be lost without harm.
 */
import { join } from 'node:path';
import { type ExactRef, isExactRef, sameConfig } from '../../api/config-ref.js';
import { type Files, isMissing, realFiles, removeTree, replaceFile, temporaryPrefix } from '../../atomic-file.js';
import type { Log } from '../../log.js';
import { isKnownBinary, type KnownBinary } from '../drivers/kubelet-version.js';
import { type Hold, isHold } from '../hold.js';
import { isRequest, type Request } from '../requests.js';
import { type FollowedReference, isFollowedReference } from '../sync/chosen-reference.js';
import { isTrial, type Trial } from '../trial/trial.js';
import { isJudged, type Judged } from '../validate/lasting-judge.js';
import { Checkpoints, isDigests } from './checkpoints.js';
import { type ChildRecord, isChildRecord } from './child-record.js';
import { JsonRecord } from './json-record.js';
import { decodeRecord, encodeRecord } from './record.js';
import { isReportRecord, type ReportRecord } from './report-record.js';
import { isVerdicts, type Verdicts } from './verdicts.js';

/** A record names a source, or local, or is broken: then boot reports it and goes on to the next candidate. */
export type Recorded = { source: ExactRef | undefined } | { broken: Error };

/** What a change under way needs although no record names it yet. */
export interface InHand {
  source?: ExactRef | undefined;
  /** Copies that the kubelet is about to be started with. */
  converted: string[];
}

export class Memory {
  readonly checkpoints: Checkpoints;
  readonly trial: JsonRecord<Trial>;
  readonly verdicts: JsonRecord<Verdicts>;
  readonly judged: JsonRecord<Judged>;
  readonly child: JsonRecord<ChildRecord>;
  readonly hold: JsonRecord<Hold>;
  readonly request: JsonRecord<Request>;
  readonly report: JsonRecord<ReportRecord>;
  readonly kubelet: JsonRecord<KnownBinary>;
  /** What a reset to local replaced, kept until local was healthy once. */
  readonly wayBack: JsonRecord<ExactRef>;
  /** Which kind of object the assignment came from, when it was not the Node. */
  readonly followed: JsonRecord<FollowedReference>;
  readonly #meta: string;
  /** Copies that the kubelet can read of configs that it cannot. */
  readonly convertedDir: string;
  readonly #files: Files;

  constructor(dir: string, log: Log, files: Files = realFiles) {
    this.#meta = join(dir, 'meta');
    this.convertedDir = join(dir, 'converted');
    this.#files = files;
    const record = <T>(name: string, is: (value: unknown) => value is T, durable = true) =>
      new JsonRecord<T>({ meta: this.#meta, name, files, log, is, durable });
    const passing = <T>(name: string, is: (value: unknown) => value is T) => record(name, is, false);
    this.checkpoints = new Checkpoints(join(dir, 'checkpoints'), files, record('digests', isDigests));
    this.trial = record('trial', isTrial);
    this.verdicts = record('verdicts', isVerdicts);
    this.judged = passing('judged', isJudged);
    // Tells of a process, which no power cut survives.
    this.child = passing('child', isChildRecord);
    this.hold = record('hold', isHold);
    this.request = record('request', isRequest);
    this.report = passing('report', isReportRecord);
    this.kubelet = passing('kubelet', isKnownBinary);
    this.wayBack = record('way-back', isExactRef);
    this.followed = record('followed', isFollowedReference);
  }

  assigned(): Recorded {
    return this.#read('assigned');
  }

  lastKnownGood(): Recorded {
    return this.#read('last-known-good');
  }

  /** The one place that writes `assigned`. The checkpoint it names must be complete. */
  assign(source: ExactRef | undefined): void {
    this.#write('assigned', source);
  }

  /** The one place that writes `last-known-good`. */
  setLastKnownGood(source: ExactRef | undefined): void {
    this.#write('last-known-good', source);
  }

  /** Deletes checkpoints that no record names and no kubelet runs with, and what a crash left half-written. */
  collect(inHand: InHand = { converted: [] }): void {
    const recorded = [this.assigned(), this.lastKnownGood()];
    // While a record is unreadable nobody knows what it names: nothing is deleted.
    if (recorded.some((record) => 'broken' in record)) return;
    const named = recorded.map((record) => ('source' in record ? record.source : undefined));
    const running = this.child.read();
    const keep = [...named, inHand.source, this.wayBack.read(), running?.source].filter(
      (source) => source !== undefined,
    );
    this.checkpoints.collect(keep);
    for (const name of this.#files.list(this.#meta))
      if (name.startsWith(temporaryPrefix)) removeTree(join(this.#meta, name), this.#files);
    const inUse = new Set([running?.converted, ...inHand.converted]);
    for (const path of this.#files.list(this.convertedDir).map((name) => join(this.convertedDir, name)))
      if (!inUse.has(path)) removeTree(path, this.#files);
  }

  #read(name: string): Recorded {
    try {
      return { source: decodeRecord(this.#files.read(join(this.#meta, name)).toString('utf8')) };
    } catch (error) {
      if (isMissing(error)) return { source: undefined };
      return { broken: new Error(`read meta/${name}`, { cause: error }) };
    }
  }

  #write(name: string, source: ExactRef | undefined): void {
    const present = this.#read(name);
    if ('source' in present && sameConfig(present.source, source, 'version')) return;
    replaceFile(join(this.#meta, name), encodeRecord(source), { files: this.#files });
  }
}

/**
 * Keeps the newest report, logs each new error once with its cause, and saves a copy on disk. The status writer (sync/status-writer.ts)
 * sends it when the API server answers; reporting never fails a sync.
 */

import { isDeepStrictEqual } from 'node:util';
import { formatRef, isExactRef, type NodeConfigStatus } from '../../api/config-ref.js';
import { betaError } from '../../api/upstream-words.js';
import type { Clock } from '../../clock.js';
import { causesOf } from '../../error-causes.js';
import { isObject } from '../../json.js';
import type { Log } from '../../log.js';
import type { Notice } from '../drivers/driver.js';
import { defineRecord } from '../state/json-record.js';
import type { NodeState } from '../state/node-state.js';
import { newCounters } from './metrics.js';
import { configOk, type Report, statusConfig } from './report.js';

/** The last report, kept on disk for `relet node status`. */
export interface ReportRecord extends NodeConfigStatus {
  node: string;
  at: string;
  /** When the API last took a report; it has this one if that was not before `at`. */
  reportedAt?: string;
  /** The private cause behind `error`. */
  cause?: string;
  warnings: string[];
  /** Absent in records of earlier versions. */
  driver?: string;
  notices?: Notice[];
  nextStart?: string;
}

export const reportRecord = defineRecord('report', isReportRecord, { durable: false });

/** Fields of the report; undefined clears one. */
export type ReportFields = { [K in keyof Report]: Report[K] | undefined };

export interface ReporterOptions {
  state: NodeState;
  clock: Clock;
  log: Log;
  initConfig: boolean;
}

export class Reporter {
  readonly counters = newCounters();
  readonly #options: ReporterOptions;
  #report: Report;
  #logged = new Map<'configError' | 'syncError', string>();
  #loggedCondition = '';
  readonly #listeners = new Set<() => void>();
  /** When the report last changed. */
  #at = '';
  /** For the copy on disk. */
  node = '';
  /** False until something is known: an unknown state is not written over a true one. */
  #known = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
    const { initConfig } = options;
    // Until a kubelet answers, active is what was active last.
    const active = options.state.read(reportRecord)?.active?.configMap;
    this.#report = {
      assigned: undefined,
      active: isExactRef(active) ? active : undefined,
      lastKnownGood: undefined,
      warnings: [],
      initConfig,
    };
  }

  /** The newest report, even if it is not complete yet. */
  get latest(): Report {
    return this.#report;
  }

  get report(): Report | undefined {
    return this.#known ? this.#report : undefined;
  }

  /** Called whenever the report changes, and when it becomes known. Returns how to stop listening. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Changes the named fields. */
  update(change: Partial<ReportFields>): void {
    const next = Object.fromEntries(
      Object.entries({ ...this.#report, ...change }).filter(([, value]) => value !== undefined),
    );
    const report = { assigned: undefined, active: undefined, lastKnownGood: undefined, ...next } as Report;
    this.#logError('configError', report);
    this.#logError('syncError', report);
    this.#logCondition(report);
    for (const warning of report.warnings)
      if (!this.#report.warnings.includes(warning)) this.#options.log.warn('warning about the config', { warning });
    if (isDeepStrictEqual(report, this.#report)) return;
    this.#report = report;
    if (this.#known) this.#publish();
  }

  /** The report is complete and may be written from now on. */
  publish(): void {
    if (this.#known) return;
    this.#known = true;
    this.#publish();
  }

  /** The message in the status says to search the log for it: each error is logged once, with its cause. */
  #logError(field: 'configError' | 'syncError', report: Report): void {
    const error = report[field];
    const text = error && `${betaError(error)}\n${causesOf(error)}`;
    if (text === this.#logged.get(field)) return;
    if (error === undefined || text === undefined) {
      this.#logged.delete(field);
      return;
    }
    this.#logged.set(field, text);
    this.#options.log.error(betaError(error), { config: formatRef(report.assigned, 'log'), cause: causesOf(error) });
  }

  /** The same for the condition. Not as fields: their quotes would be escaped, and the words not found. */
  #logCondition(report: Report): void {
    const { status, message, reason } = configOk(report);
    const error = report.syncError ?? report.configError;
    const words = status === 'False' ? `${message}, ${reason}` : '';
    if (words !== '' && words !== this.#loggedCondition)
      this.#options.log.error(`ConfigOK is False: ${words}`, { cause: error && causesOf(error) });
    this.#loggedCondition = words;
  }

  /** The API has this report. */
  delivered(report: Report): void {
    if (report === this.#report) this.#save({ reportedAt: new Date(this.#options.clock.now()).toISOString() });
  }

  #publish(): void {
    this.#at = new Date(this.#options.clock.now()).toISOString();
    this.#save({});
    for (const listener of this.#listeners) listener();
  }

  #save({ reportedAt = this.#options.state.read(reportRecord)?.reportedAt }: { reportedAt?: string }): void {
    const { state, log } = this.#options;
    const { driver, notices, nextStart } = this.#report;
    const error = this.#report.syncError ?? this.#report.configError;
    try {
      state.write(reportRecord, {
        ...statusConfig(this.#report),
        node: this.node,
        at: this.#at,
        ...(reportedAt && { reportedAt }),
        ...(error && { cause: causesOf(error) }),
        warnings: this.#report.warnings,
        ...(driver && { driver }),
        ...(notices && { notices }),
        ...(nextStart && { nextStart }),
      });
    } catch (cause) {
      log.warn('report not saved', { cause });
    }
  }
}

function isReportRecord(value: unknown): value is ReportRecord {
  return isObject(value) && typeof value.at === 'string' && Array.isArray(value.warnings);
}

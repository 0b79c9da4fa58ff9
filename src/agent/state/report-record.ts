/** The last report, kept on disk for `relet node status`: what runs and why, when nobody else can be asked. */
import type { NodeConfigStatus } from '../../api/config-ref.js';
import { isObject } from '../../json.js';

export interface ReportRecord extends NodeConfigStatus {
  node: string;
  at: string;
  /** When the API last took a report; it has this one if that was not before `at`. */
  reportedAt?: string;
  /** The private cause behind `error`. */
  cause?: string;
  warnings: string[];
}

export function isReportRecord(value: unknown): value is ReportRecord {
  return isObject(value) && typeof value.at === 'string' && Array.isArray(value.warnings);
}

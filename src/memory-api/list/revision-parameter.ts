/** The resourceVersion parameter: a number of ours, which clients must treat as opaque. */

import { ApiError } from '../../api/status.js';
import { quote } from '../../go/quote.js';
import { plainInternal, timeout } from '../status-error.js';

/** 0 if it is absent, empty or 0: any revision. */
export function parseRevision(text: string | null): number {
  if (text === null || text === '') return 0;
  if (!/^\d+$/.test(text)) throw plainInternal(`resourceVersion: Invalid value: ${quote(text)}: must be a number`);
  return Number(text);
}

/** A revision that this server has not reached: the client got it from another server. */
export function tooLargeRevision(wanted: number, current: number): ApiError {
  const { status } = timeout(`Too large resource version: ${wanted}, current: ${current}`, 1);
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  return new ApiError(504, 'Timeout', status.message!, { causes, retryAfterSeconds: 1 });
}

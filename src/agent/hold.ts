/** A node that is held follows no new assignment until it is released; what runs goes on, and a rollback still happens. */
import { isObject } from './disk/json-record.js';

export interface Hold {
  since: string;
  why: string;
}

export function isHold(value: unknown): value is Hold {
  return isObject(value) && typeof value.since === 'string' && typeof value.why === 'string';
}

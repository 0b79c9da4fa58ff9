/** A node that is held follows no new assignment until it is released; what runs goes on, and a rollback still happens. */
import { isObject } from '../json.js';

export interface Hold {
  since: string;
  why: string;
  /** The person who asked for it, where that is known. */
  who?: string;
}

export function isHold(value: unknown): value is Hold {
  return isObject(value) && typeof value.since === 'string' && typeof value.why === 'string' && isText(value.who);
}

export const isText = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string';

/**
 * Which kubelet relet started, so that after a kill -9 of relet the next one finds the old child and never runs two.
 * Written twice: before the start with only a token, which the child carries in its environment, and after it with the
 * pid. A crash between the two leaves the token to search for.
 */
import { type ExactRef, isExactRef } from '../../api/config-ref.js';
import { isObject } from '../../json.js';
import { isProcessIdentity, type ProcessIdentity } from '../../proc.js';
import { defineRecord } from '../state/json-record.js';

export interface ChildRecord {
  token: string;
  bootId: string;
  process?: ProcessIdentity;
  /** What it was started with; undefined is local. Its checkpoint is not deleted while it runs. */
  source?: ExactRef;
  /** The file it was started with. The name is that of the first edition, which kept only converted copies apart. */
  converted?: string;
}

// Not durable: a process does not survive a power cut.
export const childRecord = defineRecord('child', isChildRecord, { durable: false });

/** The variable in the child's environment that carries the token. */
export const childTokenVariable = 'RELET_CHILD';

function isChildRecord(value: unknown): value is ChildRecord {
  return (
    isObject(value) &&
    typeof value.token === 'string' &&
    typeof value.bootId === 'string' &&
    (value.process === undefined || isProcessIdentity(value.process)) &&
    (value.source === undefined || isExactRef(value.source)) &&
    (value.converted === undefined || typeof value.converted === 'string')
  );
}

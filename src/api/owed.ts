/**
 * What is left to do on a node after a change that was accepted with `--accept`: a drain, the removal of a state file, a reboot. The
 * command line writes it as an annotation of the NodeConfig (of the Node, where that has the reference) together with the reference;
 * the node reports it in the condition ActionOwed until it is done; `relet dismiss` removes it.
 *
 *   relet.dev/owed: '{"needs":["reboot"],"fields":["cgroupDriver"],"at":"2026-03-01T10:00:00Z"}'
 */
import { isObject } from '../json.js';

export const owedAnnotation = 'relet.dev/owed';

/** Mildest first. */
export const owedActions = ['drain', 'state-file', 'reboot'] as const;
export type OwedAction = (typeof owedActions)[number];

/** What `--accept` may name. Nothing is left to do after a daemon-reload: it is a part of the change itself. */
export const impacts = [...owedActions, 'daemon-reload'] as const;
export type AcceptedImpact = (typeof impacts)[number];

export interface Owed {
  needs: OwedAction[];
  /** The fields whose change needs it. */
  fields: string[];
  /** When the change was accepted. */
  at: string;
  /** The node was drained for it: the agent removes state files by itself. */
  drained?: true;
}

/** Undefined for an annotation that is not there, or has nothing in it that is understood. */
export function readOwed(text: string | undefined): Owed | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || !Array.isArray(value.needs) || typeof value.at !== 'string') return undefined;
  const { needs, fields, at, drained } = value;
  const known = owedActions.filter((one) => needs.includes(one));
  if (known.length === 0) return undefined;
  return {
    needs: known,
    fields: Array.isArray(fields) ? fields.map(String) : [],
    at,
    ...(drained === true && { drained }),
  };
}

/** After another change: what was left to do stays so. */
export function addOwed(present: Owed | undefined, next: Owed | undefined): Owed | undefined {
  if (present === undefined || next === undefined) return next ?? present;
  return {
    needs: owedActions.filter((one) => present.needs.includes(one) || next.needs.includes(one)),
    fields: [...new Set([...present.fields, ...next.fields])],
    at: next.at,
    ...(next.drained && { drained: true }),
  };
}

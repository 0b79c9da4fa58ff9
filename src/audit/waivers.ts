/** Waivers: accepted findings, each for some nodes, with a reason and an expiry date. An expired waiver has no effect. Pure. */
import { matchesLabels, parseLabelSelector, SelectorError } from '../api/label-selector.js';
import { CannotRun } from '../cannot-run.js';
import { isObject } from '../json.js';
import { oneLine } from '../visible-text.js';

export interface Waiver {
  /** A key of a check, or an id of a benchmark. */
  check: string;
  /** A selector of labels; all nodes when left out. */
  nodes?: string;
  reason: string;
  /** A date, 2027-01-31: the last day on which it counts. */
  until: string;
}

/** `value`: what the file holds. Throws CannotRun, naming the entry. */
export function readWaivers(value: unknown, file: string, isCheck: (id: string) => boolean): Waiver[] {
  const list = isObject(value) ? value.waivers : undefined;
  if (!Array.isArray(list))
    throw new CannotRun(`${file}: write it as 'waivers:' and a list of check, nodes, reason, until`);
  return list.map((entry: unknown, at) => {
    const wrong = (why: string) => new CannotRun(`${file}: waiver ${at + 1}: ${why}`);
    if (!isObject(entry)) throw wrong('it is not an object');
    const { check, nodes, reason, until, ...others } = entry;
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) throw wrong(`there is no field '${oneLine(unknown)}'; use check, nodes, reason, until`);
    if (typeof check !== 'string' || !isCheck(check))
      throw wrong(`there is no check '${oneLine(String(check))}'; docs/audit.md lists them`);
    if (typeof reason !== 'string' || reason.trim() === '') throw wrong('a reason is missing');
    const day = until instanceof Date ? until.toISOString().slice(0, 10) : String(until);
    if (!/^\d{4}-\d\d-\d\d$/.test(day) || Number.isNaN(Date.parse(day)))
      throw wrong("'until' must be a date such as 2027-01-31: a waiver without an end is never looked at again");
    if (nodes !== undefined) checkSelector(nodes, wrong);
    return { check, reason, until: day, ...(typeof nodes === 'string' && { nodes }) };
  });
}

function checkSelector(nodes: unknown, wrong: (why: string) => CannotRun): void {
  if (typeof nodes !== 'string') throw wrong('nodes must be a selector such as pool=edge');
  try {
    parseLabelSelector(nodes);
  } catch (error) {
    if (error instanceof SelectorError) throw wrong(`nodes '${oneLine(nodes)}': ${error.message}`);
    throw error;
  }
}

/** The last day counts whole, in UTC. */
export const isExpired = ({ until }: Waiver, nowMs: number): boolean => Date.parse(until) + 86_400_000 <= nowMs;

export function waiverFor(
  waivers: readonly Waiver[],
  ids: readonly string[],
  labels: Record<string, string>,
  nowMs: number,
): Waiver | undefined {
  return waivers.find(
    (waiver) =>
      ids.includes(waiver.check) &&
      !isExpired(waiver, nowMs) &&
      (waiver.nodes === undefined || matchesLabels(parseLabelSelector(waiver.nodes), labels)),
  );
}

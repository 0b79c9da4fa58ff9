/**
 * The promises of relet, as a model that knows nothing of its code: it reads the history of a schedule and returns what was broken. One
 * pass over the entries for what must hold all the time, and a look at the end for what must hold once everything has healed.
 */
import type { Entry, History } from '../history.js';
import type { ScheduleRun } from '../run-schedule.js';
import type { Schedule } from '../schedule.js';
import { checkEnd, endOf } from './end.js';
import { ObservedNode } from './observed-node.js';
import { checkActive, checkBoots, checkFollows, checkReads } from './requests.js';
import { checkRollback } from './rollback.js';
import { checkSetEnd, followSet } from './rollout.js';
import { checkStarts } from './starts.js';
import type { Report, Violation } from './violation.js';

export function findViolations({ schedule, history: { entries }, leaks }: ScheduleRun): Violation[] {
  const violations: Violation[] = [];
  const endMs = entries.at(-1)?.atMs ?? 0;
  for (const node of schedule.nodes)
    violations.push(
      ...followNode(node, schedule, entries),
      ...findFloods(node, entries),
      ...checkEnd(node, endOf(node, entries), endMs),
    );
  for (const leak of leaks) violations.push({ promise: 5, atMs: endMs, what: leak });
  for (const what of checkSetEnd(schedule, entries)) violations.push({ promise: 6, atMs: endMs, what });
  violations.push(...followSet(schedule, entries));
  return violations.sort((a, b) => a.atMs - b.atMs);
}

/** Nothing more is to happen: checked while a healed cluster runs on. */
export function hasConverged(schedule: Schedule, { entries }: History): boolean {
  return (
    checkSetEnd(schedule, entries).length === 0 &&
    schedule.nodes.every((node) => checkEnd(node, endOf(node, entries), 0).length === 0)
  );
}

function followNode(node: string, schedule: Schedule, entries: readonly Entry[]): Violation[] {
  const violations: Violation[] = [];
  const report: Report = (promise, atMs, what) => violations.push({ promise, atMs, what: `${node}: ${what}` });
  const facts = new ObservedNode(node);
  const checks = [
    checkStarts(facts, entries, report),
    checkRollback(facts, report),
    checkBoots(facts, schedule, report),
    checkReads(facts, report),
    checkActive(facts, report),
    checkFollows(facts, schedule, report),
  ];
  for (const entry of entries) {
    // Against what was known before this entry.
    for (const check of checks) check(entry);
    facts.see(entry);
  }
  return violations;
}

/** Error lines of a process in one minute: a crash loop writes some twenty. */
const mostErrorLines = 120;

function findFloods(name: string, entries: readonly Entry[]): Violation[] {
  const lines = entries.filter((entry) => entry.kind === 'log' && entry.name === name);
  const at = lines.findIndex(({ atMs }, index) => (lines[index + mostErrorLines]?.atMs ?? Infinity) - atMs < 60_000);
  if (at === -1) return [];
  const what = `${name}: more than ${mostErrorLines} errors were logged in a minute`;
  return [{ promise: 7, atMs: lines[at]!.atMs, what }];
}

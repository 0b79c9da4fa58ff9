/** Promises 4, 5, 7 and 8, where a node meets the API server: what was acknowledged is booted, and only what is assigned is read. */
import { classOf, configIn } from '../configs.js';
import type { Entry } from '../history.js';
import type { Action, Schedule } from '../schedule.js';
import { isLie, neverAnswers, type ObservedNode } from './observed-node.js';
import type { Report } from './violation.js';

/** A change is followed within this time, on a node where nothing is wrong and that was not changed lately. */
const followMs = 12_000;
const restartLimitMs = 130_000;

/** Promise 4. */
export function checkBoots(facts: ObservedNode, { actions }: Schedule, report: Report): (entry: Entry) => void {
  return (entry) => {
    if (entry.kind !== 'start' || entry.node !== facts.node) return;
    if (!facts.isBooting || facts.acknowledged === undefined || facts.wasDiskFull) return;
    const { assigned, lastKnownGood, active, error } = facts.acknowledged;
    const known = [assigned, lastKnownGood, active].map((ref) => facts.idOf(ref.split('@')[0]!));
    const config = classOf(entry.domain) === 'local' ? 'local' : configIn(entry.domain);
    // Local is the fallback if the assigned config failed and there is no other.
    const mayBeLocal = error !== '' && config === 'local';
    if (known.includes(config) || facts.sinceAcknowledged.has(config) || mayBeLocal || hasFailed(known)) return;
    const what = `booted ${entry.domain}, although ${known.join(', ')} had been reported and acknowledged`;
    report(4, entry.atMs, what);
  };

  /** One of these cannot be started any more, so another one is. */
  function hasFailed(known: readonly string[]): boolean {
    const isChanged = (name: string) =>
      actions.some((one) => (one.kind === 'edit' || one.kind === 'roll-out') && one.config.name === name);
    return known.some((config) => facts.spoilt.has(config) || isChanged(config));
  }
}

/** Promise 5. */
export function checkReads(facts: ObservedNode, report: Report): (entry: Entry) => void {
  return (entry) => {
    if (entry.kind !== 'read' || entry.node !== facts.node || entry.status >= 300) return;
    if (!facts.everAssigned.has(facts.idOf(entry.config)))
      report(5, entry.atMs, `read ${entry.config}, which was never assigned to it`);
  };
}

/** Promise 7, for what is reported as active. */
export function checkActive(facts: ObservedNode, report: Report): (entry: Entry) => void {
  return (entry) => {
    if (entry.kind !== 'status' || entry.node !== facts.node || isLie(entry.status)) return;
    const domain = facts.domains.get(entry.status.active);
    if (neverAnswers(domain))
      report(7, entry.atMs, `${domain} was reported as active, and no kubelet ever answered with it`);
  };
}

/** Promise 8. */
export function checkFollows(facts: ObservedNode, schedule: Schedule, report: Report): (entry: Entry) => void {
  let changedAtMs = Number.NEGATIVE_INFINITY;
  let expected: { config: string; byMs: number } | undefined;
  return (entry) => {
    const { atMs } = entry;
    if (expected && atMs > expected.byMs) {
      report(8, atMs, `${expected.config} was assigned, and not looked at within ${followMs / 1000} s`);
      expected = undefined;
    }
    if (entry.kind === 'pause' && entry.process === facts.node) expected = undefined;
    if (!('node' in entry) || entry.node !== facts.node) return;
    if (entry.kind === 'agent-down') expected = undefined;
    if (entry.kind === 'read' && entry.config === expected?.config) expected = undefined;
    if (entry.kind !== 'spec') return;
    const isSettled = atMs > changedAtMs + restartLimitMs && atMs > facts.upSinceMs + followMs;
    const isExpected = entry.config && facts.isUp && isSettled && isQuiet(schedule, facts.node, atMs);
    expected = isExpected && entry.config ? { config: entry.config, byMs: atMs + followMs } : undefined;
    if (entry.config !== null) changedAtMs = atMs;
  };
}

/** Nothing is wrong with the node or its network from now on until it must have followed a change. */
function isQuiet({ actions }: Schedule, node: string, fromMs: number): boolean {
  return !actions.some((action) => {
    const isHere =
      ('node' in action && action.node === node && action.kind !== 'assign') ||
      ('client' in action && [node, '*'].includes(action.client)) ||
      action.kind === 'restart-server' ||
      // Clients of earlier ones are still connected to it.
      action.kind === 'lagging-server';
    const untilMs = action.atMs + ('forMs' in action ? action.forMs : 0) + echoMs(action);
    return isHere && action.atMs <= fromMs + followMs && untilMs >= fromMs;
  });
}

/** For how long a fault is felt after its end: a request that is not answered is given up after 30 s. */
function echoMs(action: Action): number {
  if (action.kind === 'unanswered') return 35_000;
  return action.kind === 'late-events' ? action.lateMs : 0;
}

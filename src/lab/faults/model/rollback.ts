/** Promise 2: a config with which the kubelet crashes or is not healthy is replaced in time, by one that has worked. */
import type { Entry, ReportedStatus } from '../history.js';
import { isFailing, neverAnswers, type ObservedNode } from './observed-node.js';
import type { Report } from './violation.js';

/** Agent-up time until another config is started, with what each fault may add. Three starts need 1 s, 2 s and the exits in between. */
const rollbackMs = { crash: 45_000, health: 80_000, perRestart: 25_000 };

interface BadRun {
  domain: string;
  upMs: number;
  allowedMs: number;
  isExcused: boolean;
}

export function checkRollback(facts: ObservedNode, report: Report): (entry: Entry) => void {
  let lastMs = 0;
  let bad: BadRun | undefined;
  /** The config that was active, and nothing was wrong with it, when the node was reset to local. */
  let hasPrevious = false;
  /** The node has reported that it was reset: another config that it starts is a fallback. */
  let isReset = false;

  return (entry) => {
    const { atMs } = entry;
    if (bad && facts.isUp) bad.upMs += atMs - lastMs;
    lastMs = atMs;
    if (bad && bad.upMs > bad.allowedMs && !bad.isExcused) {
      report(2, atMs, `${bad.domain} was not rolled back in ${Math.round(bad.upMs / 1000)} s with the agent running`);
      bad.isExcused = true;
    }
    if (entry.kind === 'action' && 'node' in entry.action && entry.action.node === facts.node) {
      const { action } = entry;
      const { kind } = action;
      // The config to which it would roll back fails too.
      if (kind === 'hang' || (kind === 'spoil' && action.config !== 'local.test')) hasPrevious = false;
      if (bad && ['hang', 'disk-full', 'lose-power', 'crash-agent'].includes(kind)) bad.allowedMs += rollbackMs.health;
      if (bad && kind === 'disk-full') bad.isExcused = true;
    }
    if (bad && entry.kind === 'pause' && entry.process === facts.node)
      bad.allowedMs += entry.forMs + rollbackMs.perRestart;
    if (!('node' in entry) || entry.node !== facts.node) return;
    if (entry.kind === 'agent-up' && bad) bad.allowedMs += rollbackMs.perRestart;
    if (entry.kind === 'spec') {
      isReset = false;
      const isKnown = facts.acknowledged !== undefined && isSound(facts.acknowledged);
      hasPrevious = entry.config === undefined && isKnown;
    }
    if (entry.kind === 'status')
      isReset = facts.assigned === undefined && entry.isCurrent && entry.status.assigned === 'local';
    if (entry.kind === 'start') onStart(entry.domain, atMs);
  };

  function onStart(domain: string, atMs: number): void {
    if (domain !== 'local.test' && isReset && !facts.wasDiskFull && neverAnswers(domain))
      report(2, atMs, `fell back to ${domain}, which was never active`);
    const behaviour = facts.behaviourAt(domain);
    // It is kept until local was healthy once.
    if (domain === 'local.test' && !isFailing(behaviour)) hasPrevious = false;
    if (bad?.domain === domain) return;
    const allowedMs = behaviour === 'unhealthy' ? rollbackMs.health : rollbackMs.crash;
    const isExcused = facts.wasDiskFull || (domain === 'local.test' && !hasPrevious);
    bad = isFailing(behaviour) ? { domain, upMs: 0, allowedMs, isExcused } : undefined;
  }

  /** A config runs that could be returned to. */
  function isSound({ active, error }: ReportedStatus): boolean {
    const domain = facts.domains.get(active) ?? '';
    const behaviour = facts.behaviourAt(domain);
    return error === '' && domain === facts.running && (behaviour === 'good' || behaviour === 'slow');
  }
}

/** Promises for each node once everything has healed: it runs the config that it can run, and reports the one that it runs. */
import { behaviourOf, classOf, configIn } from '../configs.js';
import type { Entry, ReportedStatus } from '../history.js';
import { isFailing, statementEnd } from './observed-node.js';
import type { Violation } from './violation.js';

/** Final state of a node. */
interface NodeEnd {
  /** As assigned: `c1@123` or `local`; undefined if nobody has decided. */
  wanted: string | undefined;
  wantedClass: string | undefined;
  /** Faults of the machine itself may have failed a config that is good elsewhere. */
  mayHaveFailed: boolean;
  status: ReportedStatus | undefined;
  runs: string | undefined;
  /** It crashes with what it runs with. */
  isSpoilt: boolean;
  /** There is a config with which its kubelet does not fail: assigned, last known good or local. */
  canRun: boolean;
  domains: ReadonlyMap<string, string>;
  events: readonly { reason: string; message: string }[];
  errors: readonly string[];
}

export function endOf(node: string, entries: readonly Entry[]): NodeEnd {
  const domains = new Map<string, string>();
  const newest = new Map<string, string>();
  const spoilt = new Set<string>();
  let config: string | null | undefined = null;
  const end: Pick<NodeEnd, 'status' | 'runs' | 'isSpoilt'> = { status: undefined, runs: undefined, isSpoilt: false };
  const events: { reason: string; message: string }[] = [];
  const errors: string[] = [];
  let mayHaveFailed = false;
  for (const entry of entries) {
    if (entry.kind === 'config') {
      domains.set(`${entry.config}@${entry.resourceVersion}`, entry.domain);
      newest.set(entry.config, `${entry.config}@${entry.resourceVersion}`);
    }
    if (entry.kind === 'log' && entry.name === node) errors.push(entry.message);
    if (entry.kind === 'action') {
      const { action } = entry;
      const isHere =
        ('node' in action && action.node === node) || ('client' in action && [node, '*'].includes(action.client));
      if (isHere && action.kind === 'spoil') spoilt.add(action.config);
      if (isHere && ['hang', 'pause-machine', 'unanswered', 'lost-answers', 'disk-full', 'spoil'].includes(action.kind))
        mayHaveFailed = true;
    }
    if (!('node' in entry) || entry.node !== node) continue;
    if (entry.kind === 'spec') config = entry.config;
    if (entry.kind === 'status') end.status = entry.status;
    if (entry.kind === 'start') {
      end.runs = entry.domain;
      end.isSpoilt = spoilt.has(configIn(entry.domain));
    }
    if (entry.kind === 'exit') end.runs = undefined;
    if (entry.kind === 'event') events.push(entry);
  }
  const wanted = config === null ? undefined : config === undefined ? 'local' : newest.get(config);
  const domain = wanted === undefined || wanted === 'local' ? 'local.test' : (domains.get(wanted) ?? '');
  mayHaveFailed ||= usesUpDeadline(node, domain, entries);
  const hasStarted = entries.some((one) => one.kind === 'start' && one.node === node && one.domain === domain);
  mayHaveFailed ||= !hasStarted && statementEnd(domain, entries) !== undefined;
  const isSound = (one: string) => !spoilt.has(configIn(one)) && ['good', 'slow', 'local'].includes(classOf(one) ?? '');
  const good = domains.get(end.status?.lastKnownGood ?? '') ?? 'local.test';
  const canRun = [domain, good, 'local.test'].some(isSound);
  return { ...end, wanted, wantedClass: classOf(domain), mayHaveFailed, canRun, domains, events, errors };
}

/** How long a kubelet may run without health, over its restarts; and how much of that the pauses between two checks may add. */
const healthDeadlineMs = 60_000;
const checksMs = 5000;

/**
 * Whether the kubelet ran with the config for the whole deadline before it was healthy, in this boot and since it was assigned, because
 * it was killed meanwhile, or the agent was. Nobody can tell that from a config with which it hangs and is killed for that.
 */
function usesUpDeadline(node: string, domain: string, entries: readonly Entry[]): boolean {
  const { healthyAfterMs = 0 } = behaviourOf(classOf(domain));
  let healthyMs: number | undefined;
  let upMs: number | undefined;
  let [unhealthyMs, lastMs, isUsedUp] = [0, 0, false];
  for (const entry of entries) {
    if (entry.kind === 'action' && entry.action.kind === 'lose-power' && entry.action.node === node) unhealthyMs = 0;
    if (!('node' in entry) || entry.node !== node) continue;
    if (healthyMs !== undefined && upMs !== undefined) {
      unhealthyMs += Math.max(0, Math.min(entry.atMs, healthyMs) - lastMs);
      if (unhealthyMs >= healthDeadlineMs - checksMs) isUsedUp = true;
      if (entry.atMs >= Math.max(healthyMs, upMs) + checksMs) unhealthyMs = 0;
    }
    lastMs = entry.atMs;
    if (entry.kind === 'spec') [unhealthyMs, isUsedUp] = [0, false];
    if (entry.kind === 'agent-up') upMs = entry.atMs;
    if (entry.kind === 'agent-down') upMs = undefined;
    if (entry.kind === 'exit') healthyMs = undefined;
    if (entry.kind !== 'start') continue;
    healthyMs = entry.domain === domain ? entry.atMs + healthyAfterMs : undefined;
    if (entry.domain !== domain) unhealthyMs = 0;
  }
  return isUsedUp;
}

export function checkEnd(node: string, end: NodeEnd, atMs: number): Violation[] {
  const violations: Violation[] = [];
  const report = (promise: Violation['promise'], what: string) =>
    violations.push({ promise, atMs, what: `${node}: ${what}` });
  const { wanted, status, runs, domains } = end;
  if (!end.canRun) return violations;
  if (runs === undefined) report(3, 'no kubelet runs in the end');
  if (wanted === undefined) return violations;
  if (status === undefined) {
    report(7, 'nothing is reported in the end');
    return violations;
  }
  const domainOf = (ref: string) => (ref === 'local' ? 'local.test' : domains.get(ref));
  if (status.assigned !== wanted) report(4, `${status.assigned} is reported as assigned in the end, not ${wanted}`);
  if (runs !== undefined && domainOf(status.active) !== runs)
    report(7, `${status.active} is reported as active in the end, and the kubelet runs with ${runs}`);
  const running = runs === undefined || end.isSpoilt ? 'crashing' : classOf(runs);
  const isLastResort = runs === 'local.test';
  if (isFailing(running) && !isLastResort) report(2, `the kubelet runs with ${runs} in the end`);
  const isGood = end.wantedClass === 'good' || end.wantedClass === 'slow' || end.wantedClass === 'local';
  const isFollowed = status.active === wanted && status.error === '';
  if (isGood && !isFollowed && !end.mayHaveFailed)
    report(3, `${wanted} is good and not active in the end: ${JSON.stringify(status)}`);
  if (isGood && isFollowed && wanted !== 'local' && status.lastKnownGood !== wanted)
    report(6, `${wanted} is not last known good in the end: ${JSON.stringify(status)}`);
  if (isFollowed) return violations;
  if (status.error === '')
    report(7, `${wanted} does not run in the end, and no error is reported: ${JSON.stringify(status)}`);
  if (!status.ok.startsWith('False ')) report(7, `ConfigOK is ${status.ok} in the end although ${wanted} does not run`);
  const name = wanted.split('@')[0]!;
  const isAbout = ({ reason, message }: { reason: string; message: string }) =>
    /Rejected|RolledBack/.test(reason) && message.includes(name);
  if (status.error !== '' && wanted !== 'local' && !end.events.some(isAbout))
    report(7, `no event about ${wanted}, which was ${status.error}`);
  if (status.error !== '' && !end.errors.some((line) => line.includes(status.error)))
    report(7, `no log line about: ${status.error}`);
  return violations;
}

/**
 * The promises of relet, as a model that knows nothing of its code: it reads the history of a schedule and returns what was broken. One
 * pass over the entries for what must hold all the time, and a look at the end for what must hold once everything has healed.
 */
import { classOf, configIn } from './configs.js';
import type { Entry, History, ReportedStatus } from './history.js';
import { type ScheduleRun, setLimits } from './run-schedule.js';
import type { Schedule } from './schedule.js';

export interface Violation {
  /** Of docs/reliability.md. */
  promise: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;
  atMs: number;
  what: string;
}

/** Agent-up time until another config is started, with what each fault may add. Three starts need 1 s, 2 s and the exits in between. */
const rollbackMs = { crash: 45_000, health: 80_000, perRestart: 25_000 };
const bootMs = 12_000;
/** A change is followed within this time, on a node where nothing is wrong and that was not changed lately. */
const followMs = 12_000;
const restartLimitMs = 130_000;

export function findViolations({ schedule, history, leaks, cordoned }: ScheduleRun): Violation[] {
  const violations: Violation[] = [];
  const endMs = history.entries.at(-1)?.atMs ?? 0;
  for (const node of schedule.nodes) violations.push(...followNode(node, schedule, history.entries));
  for (const node of schedule.nodes) violations.push(...findFloods(node, history.entries));
  for (const leak of leaks) violations.push({ promise: 5, atMs: endMs, what: leak });
  for (const node of cordoned) violations.push({ promise: 6, atMs: endMs, what: `${node} is left cordoned` });
  for (const node of schedule.nodes) violations.push(...checkEnd(node, endOf(node, history.entries), endMs));
  violations.push(...followSet(schedule, history.entries));
  return violations.sort((a, b) => a.atMs - b.atMs);
}

/** Error lines of a process in one minute: a crash loop writes some twenty. */
const mostErrorLines = 120;

function findFloods(name: string, entries: readonly Entry[]): Violation[] {
  const lines = entries.filter((entry) => entry.kind === 'log' && entry.name === name);
  const at = lines.findIndex(({ atMs }, index) => (lines[index + mostErrorLines]?.atMs ?? Infinity) - atMs < 60_000);
  if (at === -1) return [];
  return [
    { promise: 7, atMs: lines[at]!.atMs, what: `${name}: more than ${mostErrorLines} errors were logged in a minute` },
  ];
}

/** Nothing more is to happen: checked while a healed cluster runs on. */
export function hasConverged(schedule: Schedule, history: History): boolean {
  const isSettled = !isRolling(schedule, history.entries);
  return isSettled && schedule.nodes.every((node) => checkEnd(node, endOf(node, history.entries), 0).length === 0);
}

/** No object has this version: run-schedule.ts writes it into the status of a node that lies. */
const isLie = ({ assigned }: ReportedStatus) => assigned.endsWith('@1');

const isFailing = (behaviour: string | undefined) =>
  behaviour === 'crashing' || behaviour === 'taken' || behaviour === 'flapping' || behaviour === 'unhealthy';

const neverAnswers = (domain = '') => ['invalid', 'crashing', 'unhealthy', 'taken'].includes(classOf(domain) ?? '');

interface BadRun {
  domain: string;
  upMs: number;
  allowedMs: number;
  isExcused: boolean;
}

/** One node, entry by entry. */
function followNode(node: string, schedule: Schedule, entries: readonly Entry[]): Violation[] {
  const violations: Violation[] = [];
  const report = (promise: Violation['promise'], atMs: number, what: string) =>
    violations.push({ promise, atMs, what: `${node}: ${what}` });
  const everAssigned = new Set<string>();
  const spoilt = new Set<string>();
  let assigned: string | null | undefined = null;
  let lastMs = 0;
  let isUp = false;
  let upSinceMs: number | undefined;
  let running: string | undefined;
  /** The kubelet was stopped by the agent that still runs. */
  let stoppedByAgent = false;
  let bad: BadRun | undefined;
  let isDiskFull = false;
  let acknowledged: { status: ReportedStatus; atMs: number } | undefined;
  let sinceAcknowledged = new Set<string>();
  let isFirstStart = false;
  let startedAtMs = 0;
  let changedAtMs = Number.NEGATIVE_INFINITY;
  /** It was active, and nothing was wrong with it, when the node was reset to local. */
  let hasPrevious = false;
  /** Since a reset, the local config was started: what follows is a fallback. */
  let isReset = false;
  const activeOnce = new Set<string>();
  let expected: { config: string; byMs: number } | undefined;
  /** The ConfigMap of a set has a name of its own. */
  const ids = new Map<string, string>();
  const domains = new Map<string, string>();
  const idOf = (configMap: string) => ids.get(configMap) ?? configMap;
  const behaviourAt = (domain: string) => (spoilt.has(configIn(domain)) ? 'crashing' : classOf(domain));

  for (const entry of entries) {
    const { atMs } = entry;
    if (bad && isUp) bad.upMs += atMs - lastMs;
    lastMs = atMs;
    if (bad && bad.upMs > bad.allowedMs && !bad.isExcused) {
      report(2, atMs, `${bad.domain} was not rolled back in ${Math.round(bad.upMs / 1000)} s with the agent running`);
      bad.isExcused = true;
    }
    if (isUp && upSinceMs !== undefined && atMs - upSinceMs > bootMs) {
      report(3, atMs, `no kubelet was started within ${bootMs / 1000} s of the start of the agent`);
      upSinceMs = undefined;
    }
    if (expected && atMs > expected.byMs) {
      report(8, atMs, `${expected.config} was assigned, and not looked at within ${followMs / 1000} s`);
      expected = undefined;
    }
    if (entry.kind === 'config') {
      ids.set(entry.config, configIn(entry.domain));
      domains.set(`${entry.config}@${entry.resourceVersion}`, entry.domain);
    }
    if (entry.kind === 'action' && entry.action.kind === 'edit' && assigned === entry.action.config.name)
      sinceAcknowledged.add(assigned);
    if (entry.kind === 'action' && 'node' in entry.action && entry.action.node === node) {
      const { action } = entry;
      if (action.kind === 'spoil') {
        spoilt.add(action.config);
        if (acknowledged) sinceAcknowledged.add('local');
      }
      if (action.kind === 'disk-full') isDiskFull = true;
      if (bad && ['hang', 'disk-full', 'lose-power', 'crash-agent'].includes(action.kind))
        bad.allowedMs += rollbackMs.health;
      if (bad && action.kind === 'disk-full') bad.isExcused = true;
    }
    if (!('node' in entry) || entry.node !== node) continue;
    switch (entry.kind) {
      case 'spec':
        assigned = entry.config && idOf(entry.config);
        if (typeof assigned === 'string') everAssigned.add(assigned);
        sinceAcknowledged.add(assigned ?? 'local');
        isReset = false;
        hasPrevious = assigned === undefined && acknowledged !== undefined && isSound(acknowledged.status);
        expected =
          entry.config &&
          isUp &&
          atMs - Math.max(changedAtMs + restartLimitMs, startedAtMs + followMs) > 0 &&
          isQuiet(schedule, node, atMs)
            ? { config: entry.config, byMs: atMs + followMs }
            : undefined;
        if (entry.config !== null) changedAtMs = atMs;
        break;
      case 'agent-up':
        isUp = true;
        startedAtMs = atMs;
        upSinceMs = atMs;
        isFirstStart = true;
        stoppedByAgent = false;
        if (bad) bad.allowedMs += rollbackMs.perRestart;
        break;
      case 'agent-down':
        isUp = false;
        expected = undefined;
        upSinceMs = undefined;
        stoppedByAgent = false;
        break;
      case 'exit':
        // A new agent stops the kubelet that it finds.
        stoppedByAgent = entry.isRequested && isUp && !isFirstStart;
        break;
      case 'start': {
        upSinceMs = undefined;
        const { domain } = entry;
        const behaviour = classOf(domain);
        if (!entry.isWhole || behaviour === undefined)
          report(3, atMs, `the kubelet was started with half a config (${domain})`);
        if (behaviour === 'invalid') report(1, atMs, `the kubelet was started with the invalid config ${domain}`);
        if (behaviour !== 'local' && !everAssigned.has(configIn(domain)))
          report(3, atMs, `started ${domain}, which was never assigned`);
        if (stoppedByAgent && domain === running) report(1, atMs, `restarted without another config (${domain})`);
        if (isFirstStart && acknowledged && !isDiskFull) {
          const { status } = acknowledged;
          const known = [status.assigned, status.lastKnownGood, status.active].map((ref) => idOf(ref.split('@')[0]!));
          const config = behaviour === 'local' ? 'local' : configIn(domain);
          // Where what is assigned failed, and there is no other, local is the fallback.
          const mayBeLocal = status.error !== '' && config === 'local';
          if (!known.includes(config) && !sinceAcknowledged.has(config) && !mayBeLocal && !hasFailed(known))
            report(4, atMs, `booted ${domain}, although ${known.join(', ')} had been reported and acknowledged`);
        }
        isFirstStart = false;
        if (domain === 'local.test') isReset = assigned === undefined;
        else if (isReset && !isDiskFull && !activeOnce.has(domain))
          report(2, atMs, `fell back to ${domain}, which was never active`);
        const isBad = isFailing(behaviourAt(domain));
        if (bad?.domain !== domain)
          bad = isBad
            ? {
                domain,
                upMs: 0,
                allowedMs: behaviourAt(domain) === 'unhealthy' ? rollbackMs.health : rollbackMs.crash,
                isExcused: isDiskFull || (domain === 'local.test' && !hasPrevious),
              }
            : undefined;
        running = domain;
        break;
      }
      case 'status':
        if (isLie(entry.status)) break;
        if (neverAnswers(domains.get(entry.status.active)))
          report(
            7,
            atMs,
            `${domains.get(entry.status.active)} was reported as active, and no kubelet ever answered with it`,
          );
        activeOnce.add(domains.get(entry.status.active) ?? '');
        acknowledged = { status: entry.status, atMs };
        sinceAcknowledged = new Set(assigned === null || assigned === undefined ? ['local'] : [assigned]);
        break;
      case 'read':
        if (entry.config === expected?.config) expected = undefined;
        if (entry.status < 300 && !everAssigned.has(idOf(entry.config)))
          report(5, atMs, `read ${entry.config}, which was never assigned to it`);
        break;
      default:
    }
  }
  return violations;

  /** A config runs that could be returned to. */
  function isSound({ active, error }: ReportedStatus): boolean {
    const behaviour = classOf(domains.get(active) ?? '');
    return error === '' && (behaviour === 'good' || behaviour === 'slow') && !spoilt.has(idOf(active.split('@')[0]!));
  }

  /** One of these cannot be started any more, so another one is. */
  function hasFailed(known: readonly string[]): boolean {
    return (
      known.some((config) => spoilt.has(config)) ||
      schedule.actions.some(
        (one) => (one.kind === 'edit' || one.kind === 'roll-out') && known.includes(one.config.name),
      )
    );
  }
}

/** Nothing is wrong with the node or its network from now on until it must have followed a change. */
function isQuiet({ actions }: Schedule, node: string, fromMs: number): boolean {
  return !actions.some((action) => {
    const isHere =
      ('node' in action && action.node === node && action.kind !== 'assign') ||
      ('client' in action && [node, '*'].includes(action.client)) ||
      action.kind === 'restart-server';
    const untilMs = action.atMs + ('forMs' in action ? action.forMs : 0);
    return isHere && action.atMs <= fromMs + followMs && untilMs >= fromMs;
  });
}

/** What is known of a node in the end. */
interface NodeEnd {
  /** As assigned: `c1@123` or `local`; undefined where nobody has decided. */
  wanted: string | undefined;
  wantedClass: string | undefined;
  /** Faults of the machine itself may have failed a config that is good elsewhere. */
  mayHaveFailed: boolean;
  status: ReportedStatus | undefined;
  runs: string | undefined;
  /** It crashes with what it runs with. */
  isSpoilt: boolean;
  domains: ReadonlyMap<string, string>;
  events: readonly { reason: string; message: string }[];
  errors: readonly string[];
}

function endOf(node: string, entries: readonly Entry[]): NodeEnd {
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
      if (isHere && ['hang', 'unanswered', 'lost-answers', 'disk-full', 'spoil'].includes(action.kind))
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
  return { ...end, wanted, wantedClass: classOf(domain), mayHaveFailed, domains, events, errors };
}

function checkEnd(node: string, end: NodeEnd, atMs: number): Violation[] {
  const violations: Violation[] = [];
  const report = (promise: Violation['promise'], what: string) =>
    violations.push({ promise, atMs, what: `${node}: ${what}` });
  const { wanted, status, runs, domains } = end;
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

/** Whether a rollout has not ended: complete, halted with a reason, or rolled back. */
function isRolling({ actions }: Schedule, entries: readonly Entry[]): boolean {
  const last = entries.findLast((entry) => entry.kind === 'set');
  const isAsked = actions.some(({ kind }) => kind === 'roll-out');
  return isAsked && !(last?.kind === 'set' && /^(Ready|Stalled) /.test(last.state));
}

interface InSet {
  assigned: string | null | undefined;
  /** It had failed when it was assigned: a correction costs no budget. */
  isExempt: boolean;
  /** It has neither answered with what is assigned nor failed. */
  isPending: boolean;
  isOnTrial: boolean;
  isFailed: boolean;
}

/** The nodes of the set, as the API shows them: how many are changed at a time. Only assignments of the set count. */
function followSet(schedule: Schedule, entries: readonly Entry[]): Violation[] {
  const violations: Violation[] = [];
  const fresh: InSet = { assigned: null, isExempt: false, isPending: false, isOnTrial: false, isFailed: false };
  const nodes = new Map(schedule.inSet.map((name) => [name, { ...fresh }]));
  const count = (is: (node: InSet) => boolean) =>
    [...nodes.values()].filter((node) => is(node) && !node.isExempt).length;
  for (const entry of entries) {
    const node = 'node' in entry ? nodes.get(entry.node) : undefined;
    if (node === undefined) continue;
    if (entry.kind === 'spec' && entry.config !== null) {
      const { config } = entry;
      Object.assign(node, {
        assigned: config,
        isExempt: node.isFailed,
        isPending: true,
        isOnTrial: true,
        isFailed: false,
      });
      const [unavailable, inTrial] = [count(({ isPending }) => isPending), count(({ isOnTrial }) => isOnTrial)];
      if (unavailable > setLimits.maxUnavailable || inTrial > setLimits.maxInTrial)
        violations.push({
          promise: 6,
          atMs: entry.atMs,
          what: `${entry.node}: ${unavailable} nodes of the set are changed at a time, and ${inTrial} on trial`,
        });
    }
    if (entry.kind === 'status' && !isLie(entry.status)) {
      const { assigned, active, lastKnownGood, error } = entry.status;
      const name = (ref: string) => (ref === 'local' ? undefined : ref.split('@')[0]);
      if (name(assigned) !== node.assigned) continue;
      node.isFailed = error !== '';
      if (error !== '' || name(active) === node.assigned) node.isPending = false;
      if (error !== '' || name(lastKnownGood) === node.assigned) node.isOnTrial = false;
    }
  }
  const last = entries.at(-1)?.atMs ?? 0;
  if (isRolling(schedule, entries)) violations.push({ promise: 6, atMs: last, what: 'the rollout has not ended' });
  return violations;
}

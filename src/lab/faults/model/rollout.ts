/**
 * Promise 6, as the API shows the nodes of the set: how many are changed at a time, that a config that fails is not given to more
 * nodes, that a person who assigns a config is respected, and that the rollout ends.
 */
import { classOf, domainOf, isRejected } from '../configs.js';
import type { Entry } from '../history.js';
import { progressDeadlineMs } from '../run-schedule.js';
import type { Schedule } from '../schedule.js';
import { isFailing, isLie } from './observed-node.js';
import type { Violation } from './violation.js';

interface InSet {
  assigned: string | null | undefined;
  assignedAtMs: number;
  /** It had failed when it was assigned: a correction costs no budget. */
  isExempt: boolean;
  /** It has neither answered with what is assigned nor failed. */
  isPending: boolean;
  isOnTrial: boolean;
  isFailed: boolean;
  /** A person has assigned it a config: the set leaves it alone. */
  isTaken: boolean;
  isCordoned: boolean;
  /** Its Node is not Ready since then. */
  notReadyAtMs: number | undefined;
}

const fresh: InSet = {
  assigned: null,
  assignedAtMs: 0,
  isExempt: false,
  isPending: false,
  isOnTrial: false,
  isFailed: false,
  isTaken: false,
  isCordoned: false,
  notReadyAtMs: undefined,
};

export function followSet(schedule: Schedule, entries: readonly Entry[]): Violation[] {
  const violations: Violation[] = [];
  const report = (atMs: number, what: string) => violations.push({ promise: 6, atMs, what });
  const { maxUnavailable, maxInTrial } = schedule.limits;
  const nodes = new Map(schedule.inSet.map((name) => [name, { ...fresh }]));
  const count = (is: (node: InSet) => boolean) => [...nodes.values()].filter((node) => is(node)).length;
  const domains = new Map<string, string>();
  /** Nodes that were given a config which fails everywhere, by its domain. */
  const given = new Map<string, Set<string>>();

  let isHalted = false;
  let isRollingBack = false;
  let isObserving = false;
  for (const entry of entries) {
    const { atMs } = entry;
    if (entry.kind === 'set') isHalted = entry.state === 'Stalled Halted';
    if (entry.kind === 'set') isRollingBack = entry.state === 'Reconciling RollingBack';
    if (entry.kind === 'set') isObserving = entry.isObserving === true;
    if (entry.kind === 'config') domains.set(entry.config, entry.domain);
    if (entry.kind === 'action' && entry.action.kind === 'assign') {
      const node = nodes.get(entry.action.node);
      // Taken before the controller had noticed that it failed: another node is the first.
      if (!isHalted) for (const names of given.values()) names.delete(entry.action.node);
      if (node)
        Object.assign(node, { ...fresh, notReadyAtMs: node.notReadyAtMs, isCordoned: node.isCordoned, isTaken: true });
    }
    const node = 'node' in entry ? nodes.get(entry.node) : undefined;
    if (node === undefined) continue;
    if (entry.kind === 'cordon') node.isCordoned = entry.isCordoned;
    if (entry.kind === 'ready') node.notReadyAtMs = entry.isReady ? undefined : (node.notReadyAtMs ?? atMs);
    if (entry.kind === 'status' && !isLie(entry.status)) onStatus(node, entry.status);
    if (entry.kind === 'spec' && entry.config !== null) onAssigned(entry.node, node, entry.config, atMs);
  }
  return violations;

  function onAssigned(name: string, node: InSet, config: string | undefined, atMs: number): void {
    if (node.isTaken) {
      const byHand = schedule.actions.some((one) => one.kind === 'assign' && one.config === config);
      if (!byHand) report(atMs, `${name}: was assigned ${config} although a person had taken it from the set`);
      return;
    }
    const isSilent = node.isPending && atMs - node.assignedAtMs > progressDeadlineMs;
    const isExempt = node.isFailed || isSilent;
    const wasAway = node.isPending || node.notReadyAtMs !== undefined;
    const change = {
      assigned: config,
      assignedAtMs: atMs,
      isExempt,
      isPending: true,
      isOnTrial: true,
      isFailed: false,
    };
    Object.assign(node, change);
    const unavailable = count((one) => one.isPending && !one.isExempt);
    const inTrial = count((one) => one.isOnTrial && !one.isExempt);
    // Nodes go back as fast as maxUnavailable allows: what they go back to has been tried.
    if (unavailable > maxUnavailable || (inTrial > maxInTrial && !isRollingBack))
      report(atMs, `${name}: ${unavailable} nodes of the set are changed at a time, and ${inTrial} on trial`);
    if (schedule.isDrained && !node.isCordoned) report(atMs, `${name}: was changed without a drain`);
    if (isExempt) return;
    if (isObserving && !isRollingBack) report(atMs, `${name}: was changed while the wave before it was observed`);
    checkNotReady(name, wasAway, atMs);
    const domain = domains.get(config ?? '') ?? '';
    if (!failsEverywhere(domain)) return;
    const others = given.get(domain) ?? new Set();
    given.set(domain, others.add(name));
    if (others.size > 1) report(atMs, `${name}: was given ${domain}, which had failed on another node`);
  }

  /** Only where the controller must have noticed, and so did not decide before. */
  function checkNotReady(name: string, wasAway: boolean, atMs: number): void {
    if (wasAway || !isQuiet(schedule, entries, atMs)) return;
    const isAway = (one: InSet) =>
      one.notReadyAtMs === undefined ? one.isPending && !one.isExempt : atMs - one.notReadyAtMs > noticedMs;
    const away = count(isAway);
    if (away > maxUnavailable) report(atMs, `${name}: was changed while ${away - 1} other nodes were not available`);
  }
}

function onStatus(node: InSet, { assigned, active, lastKnownGood, error }: StatusOf): void {
  const name = (ref: string) => (ref === 'local' ? undefined : ref.split('@')[0]);
  if (node.isTaken || name(assigned) !== node.assigned) return;
  node.isFailed = error !== '';
  if (error !== '' || name(active) === node.assigned) node.isPending = false;
  // Local has no trial.
  const tried = node.assigned === undefined ? active : lastKnownGood;
  if (error !== '' || name(tried) === node.assigned) node.isOnTrial = false;
}

type StatusOf = Extract<Entry, { kind: 'status' }>['status'];

/** Since then, in a quiet network, the controller knows it. */
const noticedMs = 20_000;

/** Nothing has kept the controllers from what happened lately. */
function isQuiet({ actions }: Schedule, entries: readonly Entry[], atMs: number): boolean {
  const isNear = (fromMs: number, untilMs = fromMs) => fromMs <= atMs && untilMs >= atMs - 2 * noticedMs;
  const isDisturbed = actions.some((action) => {
    const isHere =
      ('client' in action && !action.client.startsWith('node-')) ||
      action.kind === 'restart-server' ||
      action.kind === 'lagging-server';
    return isHere && isNear(action.atMs, action.atMs + ('forMs' in action ? action.forMs : 0));
  });
  const hasChanged = (entry: Entry) =>
    entry.kind === 'pause'
      ? entry.process.startsWith('controller') && isNear(entry.atMs, entry.atMs + entry.forMs)
      : (entry.kind === 'lead' || entry.kind === 'controller-down') && isNear(entry.atMs);
  return !isDisturbed && !entries.some(hasChanged);
}

/** It has ended: complete, halted with a reason, or rolled back. Where it is complete, every node has what was asked for last. */
export function checkSetEnd({ actions, inSet }: Schedule, entries: readonly Entry[]): string[] {
  const last = actions.findLast((one) => one.kind === 'roll-out');
  if (last?.kind !== 'roll-out') return [];
  const set = entries.findLast((entry) => entry.kind === 'set');
  const state = set?.kind === 'set' ? set.state : '';
  if (!/^(Ready|Stalled) /.test(state)) return ['the rollout has not ended'];
  const cordoned = inSet.filter((name) => {
    const node = entries.findLast((entry) => entry.kind === 'cordon' && entry.node === name);
    return node?.kind === 'cordon' && node.isCordoned;
  });
  if (cordoned.length > 0) return [`${cordoned.join(', ')}: cordoned in the end`];
  const isRetried = entries.some((entry) => entry.kind === 'action' && entry.action.kind === 'retry');
  if (state.startsWith('Stalled ')) return isRetried ? [`the rollout is ${state} after a retry`] : [];
  const wanted = domainOf(last.config);
  if (failsEverywhere(wanted)) return [`the rollout of ${wanted} is complete, although it fails everywhere`];
  const domains = new Map(entries.flatMap((one) => (one.kind === 'config' ? [[one.config, one.domain] as const] : [])));
  return inSet.flatMap((name) => {
    const isTaken = actions.some((one) => one.kind === 'assign' && one.node === name);
    const spec = entries.findLast((entry) => entry.kind === 'spec' && entry.node === name);
    const assigned = spec?.kind === 'spec' ? (spec.config ?? '') : '';
    const isWanted = isTaken || domains.get(assigned) === wanted;
    return isWanted ? [] : [`${name}: the rollout is complete, and it is assigned ${assigned}`];
  });
}

const failsEverywhere = (domain: string) => isRejected(classOf(domain)) || isFailing(classOf(domain));

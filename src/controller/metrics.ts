/** The controller's counters and their metrics. */

import { newestAnalysis } from '../api/analysis.js';
import type { NodeConfigSetStatus } from '../api/node-config-set.js';
import { type Metric, renderMetrics } from '../metrics.js';
import type { GuardState } from './guard-plan.js';

export interface ControllerCounters {
  reconciles: number;
  reconcileErrors: number;
  nodeConfigsCreated: number;
  grantsWritten: number;
  /** Nodes that have the taint relet.dev/config-pending. */
  nodesConfigPending: number;
  guards: GuardState['inForce'] | 'unknown';
  /** Guards that are missing or were changed. */
  guardProblems: number;
  /** Assignments that were written for sets. */
  nodesAssigned: number;
  /** By name, as last written. */
  sets: Map<string, NodeConfigSetStatus>;
  /** Nodes that were emptied, those that were not in time, and how long the first took from cordon to empty. */
  drainsDone: number;
  drainsFailed: number;
  drainSeconds: number;
  evictions: number;
  /** Evictions that the API rejected, mostly for a PodDisruptionBudget; each is retried. */
  evictionsRejected: number;
  /** For the webhook. */
  notices: { delivered: number; failures: number; dropped: number; waiting: number };
  /** Nodes that are cordoned for a drain, by name. */
  cordoned: Map<string, { set: string; sinceSeconds: number }>;
}

export const newControllerCounters = (): ControllerCounters => ({
  reconciles: 0,
  reconcileErrors: 0,
  nodeConfigsCreated: 0,
  grantsWritten: 0,
  nodesConfigPending: 0,
  guards: 'unknown',
  guardProblems: 0,
  nodesAssigned: 0,
  sets: new Map(),
  drainsDone: 0,
  drainsFailed: 0,
  drainSeconds: 0,
  evictions: 0,
  evictionsRejected: 0,
  notices: { delivered: 0, failures: 0, dropped: 0, waiting: 0 },
  cordoned: new Map(),
});

export function controllerMetrics(counters: ControllerCounters, isLeader: boolean): string {
  return renderMetrics([
    {
      name: 'relet_controller_leader',
      type: 'gauge',
      help: '1 while this process is the leader.',
      value: isLeader ? 1 : 0,
    },
    counter('reconciles', 'Reconciliations.', counters.reconciles),
    counter('reconcile_errors', 'Reconciliations that failed and will be retried.', counters.reconcileErrors),
    counter('nodeconfigs_created', 'NodeConfigs created.', counters.nodeConfigsCreated),
    counter('grants_written', 'RoleBindings of grants written.', counters.grantsWritten),
    {
      name: 'relet_controller_nodes_config_pending',
      type: 'gauge',
      help: 'Nodes that have the taint relet.dev/config-pending, as the leader sees it.',
      value: isLeader ? counters.nodesConfigPending : 0,
    },
    {
      name: 'relet_controller_guards',
      type: 'gauge',
      help: 'The guards in force, as a label.',
      value: 1,
      labels: { guards: counters.guards },
    },
    {
      name: 'relet_controller_guard_problems',
      type: 'gauge',
      help: 'Guards that are missing or were changed, as the leader sees it.',
      value: isLeader ? counters.guardProblems : 0,
    },
    counter('nodes_assigned', 'Assignments of configs to nodes, written for NodeConfigSets.', counters.nodesAssigned),
    ...drainMetrics(counters),
    ...noticeMetrics(counters.notices, isLeader),
    ...(isLeader ? setMetrics([...counters.sets]) : []),
    ...(isLeader ? analysisMetrics([...counters.sets]) : []),
    ...(isLeader ? cordonMetrics(counters.cordoned) : []),
  ]);
}

type Labels = Record<string, string>;

const counter = (name: string, help: string, value: number, labels?: Labels): Metric => ({
  name: `relet_controller_${name}_total`,
  type: 'counter',
  help,
  value,
  ...(labels && { labels }),
});

const setGauge = (name: string, help: string, value: number, labels: Labels): Metric => ({
  name: `relet_set_${name}`,
  type: 'gauge',
  help,
  value,
  labels,
});

function drainMetrics(counters: ControllerCounters): Metric[] {
  const drains =
    'Drains of nodes for NodeConfigSets that ended, by result: done, or failed, that is not empty in time.';
  const evictions =
    'Evictions of pods that were asked for, by the answer of the API server; a rejected one is asked for again.';
  return [
    counter('drains', drains, counters.drainsDone, { result: 'done' }),
    counter('drains', drains, counters.drainsFailed, { result: 'failed' }),
    counter(
      'drain_seconds',
      'Time from the cordon until the node was empty, of drains that are done.',
      counters.drainSeconds,
    ),
    counter('evictions', evictions, counters.evictions, { result: 'accepted' }),
    counter('evictions', evictions, counters.evictionsRejected, { result: 'rejected' }),
  ];
}

function noticeMetrics({ delivered, failures, dropped, waiting }: ControllerCounters['notices'], isLeader: boolean) {
  const help =
    'Notices of sets for the webhook, by result: delivered, failed (an attempt, which is repeated), or dropped for good.';
  return [
    counter('notices', help, delivered, { result: 'delivered' }),
    counter('notices', help, failures, { result: 'failed' }),
    counter('notices', help, dropped, { result: 'dropped' }),
    {
      name: 'relet_controller_notices_waiting',
      type: 'gauge' as const,
      help: 'Notices of sets that the webhook has not taken yet, as the leader sees it.',
      value: isLeader ? waiting : 0,
    },
  ];
}

/** Without the names of nodes: these metrics are served to everybody. */
function cordonMetrics(cordoned: ControllerCounters['cordoned']): Metric[] {
  const bySet = new Map<string, number[]>();
  for (const { set, sinceSeconds } of cordoned.values()) bySet.set(set, [...(bySet.get(set) ?? []), sinceSeconds]);
  const count = 'Nodes that relet has cordoned for a drain, of a NodeConfigSet that has any.';
  const oldest = 'When relet cordoned the node that it has kept so the longest, in Unix time.';
  return [
    ...[...bySet].map(([set, times]) => setGauge('cordoned_nodes', count, times.length, { set })),
    ...[...bySet].map(([set, times]) => setGauge('oldest_cordon_seconds', oldest, Math.min(...times), { set })),
  ];
}

/** As the leader sees them. The samples of one metric follow each other. */
function setMetrics(sets: [name: string, status: NodeConfigSetStatus][]): Metric[] {
  const byState = 'Nodes of a NodeConfigSet by state; a node may be in several.';
  const byCondition = 'The one of Ready, Reconciling and Stalled that is True for a NodeConfigSet, and its reason.';
  return [
    ...sets.flatMap(([set, status]) =>
      Object.entries(nodesByState(status)).map(([state, value]) => setGauge('nodes', byState, value, { set, state })),
    ),
    ...sets.map(([set, { conditions = [] }]) => {
      const present = conditions.find(({ status, type }) => status === 'True' && kstatus.includes(type));
      const labels = { set, condition: present?.type ?? '', reason: present?.reason ?? '' };
      return setGauge('condition', byCondition, 1, labels);
    }),
    ...sets.map(([set, { wave = 0 }]) => setGauge('wave', 'The present wave of a NodeConfigSet.', wave, { set })),
  ];
}

/** The newest analysis of the revision that is rolled out, or was last. */
function analysisMetrics(sets: [name: string, status: NodeConfigSetStatus][]): Metric[] {
  const newest = sets.flatMap(([set, status]) => {
    const found = newestAnalysis(status);
    return found?.outcome === undefined ? [] : [{ set, found }];
  });
  const outcome = 'Outcome of the newest analysis of a NodeConfigSet, as a label, with its wave.';
  const effect =
    'How much worse a signal is on the canaries of the newest analysis than on the controls: a share for levels, workloads a node for counts.';
  const leftOut = 'Nodes of the newest analysis of a NodeConfigSet that could not be compared.';
  return [
    ...newest.map(({ set, found }) =>
      setGauge('analysis_outcome', outcome, 1, { set, wave: String(found.wave), outcome: found.outcome ?? '' }),
    ),
    ...newest.flatMap(({ set, found: { signals = [] } }) =>
      signals.map((one) => setGauge('analysis_effect', effect, one.effect, { set, signal: one.name })),
    ),
    ...newest.map(({ set, found }) => setGauge('analysis_left_out', leftOut, found.leftOut?.length ?? 0, { set })),
  ];
}

const nodesByState = (status: NodeConfigSetStatus): Record<string, number> => ({
  selected: status.selectedNodes ?? 0,
  excluded: status.excludedNodes ?? 0,
  pending: status.pendingNodes ?? 0,
  trial: status.inTrialNodes ?? 0,
  updated: status.updatedNodes ?? 0,
  failed: status.failedNodes ?? 0,
  unavailable: status.unavailable?.used ?? 0,
});

const kstatus = ['Ready', 'Reconciling', 'Stalled'];

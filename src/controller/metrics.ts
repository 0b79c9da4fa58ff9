/** The controller's counters and their metrics. */
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
}

export const newControllerCounters = (): ControllerCounters => ({
  reconciles: 0,
  reconcileErrors: 0,
  nodeConfigsCreated: 0,
  grantsWritten: 0,
  nodesConfigPending: 0,
  guards: 'unknown',
  guardProblems: 0,
});

export function controllerMetrics(counters: ControllerCounters, isLeader: boolean): string {
  const counter = (name: string, help: string, value: number): Metric => ({
    name: `relet_controller_${name}_total`,
    type: 'counter',
    help,
    value,
  });
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
  ]);
}

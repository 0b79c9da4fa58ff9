/** The node's metrics: upstream's four under their names, and relet's own. */
import { type ExactRef, formatRef } from '../../api/config-ref.js';
import { type Metric, renderMetrics } from '../../metrics.js';
import type { Report } from './report.js';

export interface Counters {
  kubeletStarts: number;
  /** Exits that were not requested. */
  kubeletExits: number;
  rejections: number;
  rollbacks: number;
  passedTrials: number;
  /** Kubelet restarts that had to wait because many came shortly before them. */
  delayedRestarts: number;
}

export const newCounters = (): Counters => ({
  kubeletStarts: 0,
  kubeletExits: 0,
  rejections: 0,
  rollbacks: 0,
  passedTrials: 0,
  delayedRestarts: 0,
});

export interface MetricsState {
  report: Report | undefined;
  counters: Counters;
  /** Healthy time of the config on trial, in seconds; undefined when none is. */
  trialSeconds: number | undefined;
  held: boolean;
}

export function render({ report, counters, trialSeconds, held }: MetricsState): string {
  const metrics: Metric[] = [];
  const gauge = (name: string, help: string, value: number, labels?: Record<string, string>) =>
    metrics.push({ name, type: 'gauge', help, value, ...(labels && { labels }) });
  const counter = (name: string, help: string, value: number) => metrics.push({ name, type: 'counter', help, value });
  if (report !== undefined) {
    const { assigned, active, lastKnownGood } = report;
    const config = (name: string, help: string, source: ExactRef | undefined) =>
      gauge(`kubelet_node_config_${name}`, help, 1, labelsOf(source));
    config('assigned', 'The node is assigned the config that the labels name.', assigned);
    config('active', 'The kubelet runs with the config that the labels name.', active);
    config('last_known_good', 'The node falls back to the config that the labels name.', lastKnownGood);
    const failed = report.syncError ?? report.configError;
    gauge('kubelet_node_config_error', '1 while the node reports an error about its config.', failed ? 1 : 0);
    gauge('relet_config_warnings', 'Warnings about the active config.', report.warnings.length);
  }
  counter('relet_kubelet_starts_total', 'Starts of the kubelet.', counters.kubeletStarts);
  counter('relet_kubelet_exits_total', 'Exits of the kubelet that were not requested.', counters.kubeletExits);
  counter('relet_config_rejections_total', 'Assigned configs that were rejected.', counters.rejections);
  counter('relet_config_rollbacks_total', 'Configs whose trial failed.', counters.rollbacks);
  counter('relet_config_trials_passed_total', 'Configs whose trial passed.', counters.passedTrials);
  counter(
    'relet_kubelet_restarts_delayed_total',
    'Kubelet restarts with a new config that were delayed because many came shortly before them.',
    counters.delayedRestarts,
  );
  counter(
    'relet_config_changes_delayed_total',
    'Former name of relet_kubelet_restarts_delayed_total.',
    counters.delayedRestarts,
  );
  gauge('relet_held', '1 while the node is held and follows no new assignment.', held ? 1 : 0);
  if (trialSeconds !== undefined)
    gauge('relet_trial_healthy_seconds', 'Healthy time of the config on trial.', trialSeconds);
  return renderMetrics(metrics);
}

function labelsOf(source: ExactRef | undefined): Record<string, string> {
  return {
    node_config_kubelet_key: source?.kubeletConfigKey ?? '',
    node_config_resource_version: source?.resourceVersion ?? '',
    node_config_source: formatRef(source, 'path'),
    node_config_uid: source?.uid ?? '',
  };
}

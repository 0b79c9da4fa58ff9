/** A set in the dashboard's stream for tests: its rollout is complete, but for the given changes. */
import type { SetSummary } from '../../src/dashboard/wire.js';

export const anySummary = (name: string, changes: Partial<SetSummary> = {}): SetSummary => ({
  name,
  paused: false,
  assessment: 'complete',
  reason: 'RolloutComplete',
  message: '',
  waiting: '',
  wave: '',
  nodes: { selected: 3, updated: 3, inTrial: 0, pending: 0, failed: 0, excluded: 0 },
  completion: '100%: 3 of 3 nodes updated',
  revision: 'r1',
  summary: 'sets maxPods: 150',
  startedAt: 1,
  endedAt: 0,
  since: 0,
  expectedEndAt: 0,
  failures: [],
  budgets: {},
  ...changes,
});

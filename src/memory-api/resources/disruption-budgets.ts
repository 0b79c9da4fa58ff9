/** PodDisruptionBudgets: stored; evictions count the Pods of a budget when they are requested. */
import type { KubeObject } from '../../api/object.js';
import { ageColumn, column, nameColumn, numberColumn } from './columns.js';
import { defineResource } from './define.js';

interface BudgetSpec {
  minAvailable?: number | string;
  maxUnavailable?: number | string;
}

const budgetSpec = (budget: KubeObject) => (budget.spec ?? {}) as BudgetSpec;

export const podDisruptionBudgets = defineResource({
  group: 'policy',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  shape: 'policy.v1.PodDisruptionBudget',
  namespaced: true,
  shortNames: ['pdb'],
  hasStatus: true,
  hasGeneration: true,
  columns: [
    nameColumn,
    column('Min Available', 'How many Pods must stay.', (budget) => `${budgetSpec(budget).minAvailable ?? 'N/A'}`),
    column(
      'Max Unavailable',
      'How many Pods may be gone.',
      (budget) => `${budgetSpec(budget).maxUnavailable ?? 'N/A'}`,
    ),
    numberColumn('Allowed Disruptions', 'How many Pods may be evicted now.', (budget) => {
      return (budget.status as { disruptionsAllowed?: number } | undefined)?.disruptionsAllowed ?? 0;
    }),
    ageColumn,
  ],
  prepareForCreate(budget) {
    budget.status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  },
});

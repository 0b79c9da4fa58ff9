/**
 * ResourceQuotas, LimitRanges and PodDisruptionBudgets: stored, without controllers; only budgets have an effect, on
 * evictions.
 */
import type { KubeObject } from '../../../api/object.js';
import { ageColumn, column, createdAtColumn, nameColumn, numberColumn } from './columns.js';
import { defineResource } from './define.js';

type Amounts = Record<string, string>;

const quotaStatus = (quota: KubeObject) => (quota.status ?? {}) as { hard?: Amounts; used?: Amounts };

/** `pods: 1/2, cpu: 0/1`, of limits or of all else. */
function usage(quota: KubeObject, isLimit: boolean): string {
  const { hard = {}, used = {} } = quotaStatus(quota);
  return Object.keys(hard)
    .filter((name) => name.startsWith('limits.') === isLimit)
    .sort()
    .map((name) => `${name}: ${used[name] ?? '0'}/${hard[name]}`)
    .join(', ');
}

export const resourceQuotas = defineResource({
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  shape: 'core.v1.ResourceQuota',
  namespaced: true,
  shortNames: ['quota'],
  hasStatus: true,
  columns: [
    nameColumn,
    ageColumn,
    column('Request', 'What is used of what there is.', (quota) => usage(quota, false)),
    column('Limit', 'What limits add up to, of what they may.', (quota) => usage(quota, true)),
  ],
  prepareForCreate(quota) {
    quota.status = {};
  },
});

interface LimitItem {
  type?: string;
  max?: Amounts;
  min?: Amounts;
  default?: Amounts;
  defaultRequest?: Amounts;
}

export const limitRanges = defineResource({
  kind: 'LimitRange',
  plural: 'limitranges',
  shape: 'core.v1.LimitRange',
  namespaced: true,
  shortNames: ['limits'],
  columns: [nameColumn, createdAtColumn],
  rows: { mayBeNull: true },
  setDefaults(range) {
    const { limits } = (range.spec ?? {}) as { limits?: LimitItem[] };
    for (const item of limits ?? []) {
      if (item.type !== 'Container') continue;
      item.default = { ...item.max, ...item.default };
      item.defaultRequest = { ...item.min, ...item.default, ...item.defaultRequest };
    }
  },
});

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

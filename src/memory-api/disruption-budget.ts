/**
 * Whether a Pod may be evicted. Pure: there is no controller for budgets, so the Pods of a budget are counted at each
 * eviction.
 *
 * Example: minAvailable 2, three Pods, two of them ready → neither of the two may be evicted, the third may.
 */

import { type LabelSelectorObject, selectsLabels } from '../api/label-selector.js';
import type { KubeObject } from '../api/object.js';
import { ApiError } from '../api/status.js';
import { podStatus } from './resources/pod-parts.js';

interface BudgetSpec {
  minAvailable?: number | string;
  maxUnavailable?: number | string;
  selector?: LabelSelectorObject;
  unhealthyPodEvictionPolicy?: string;
}

const specOf = (budget: KubeObject) => (budget.spec ?? {}) as BudgetSpec;

/** The error that rejects the eviction; undefined if it is allowed. Budgets and Pods are those of its namespace. */
export function evictionError(pod: KubeObject, budgets: KubeObject[], pods: KubeObject[]): ApiError | undefined {
  if (isEnding(pod)) return undefined;
  const own = budgets.filter((budget) => isAbout(budget, pod));
  const [budget] = own;
  if (own.length > 1) return new ApiError(500, '', severalBudgets, {});
  if (budget === undefined) return undefined;
  const counted = pods.filter((each) => isAbout(budget, each) && !isFinished(each));
  const healthy = counted.filter(isHealthy).length;
  const desired = desiredHealthy(specOf(budget), counted.length);
  if (!isHealthy(pod)) {
    // A Pod that is not ready may be evicted where enough others are.
    const isAlways = specOf(budget).unhealthyPodEvictionPolicy === 'AlwaysAllow';
    if (isAlways || (healthy >= desired && desired > 0)) return undefined;
  }
  if (healthy > desired) return undefined;
  const cause = `The disruption budget ${budget.metadata.name} needs ${desired} healthy pods and has ${healthy} currently`;
  return new ApiError(429, 'TooManyRequests', violation, { causes: [{ reason: 'DisruptionBudget', message: cause }] });
}

const violation = "Cannot evict pod as it would violate the pod's disruption budget.";
const severalBudgets =
  'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';

function isAbout(budget: KubeObject, pod: KubeObject): boolean {
  const { selector } = specOf(budget);
  return selector !== undefined && selectsLabels(selector, pod.metadata.labels);
}

/** A Pod that is pending, has ended or is being deleted may always be evicted. */
function isEnding(pod: KubeObject): boolean {
  return isFinished(pod) || podStatus(pod).phase === 'Pending' || pod.metadata.deletionTimestamp !== undefined;
}

function isFinished(pod: KubeObject): boolean {
  const { phase } = podStatus(pod);
  return phase === 'Succeeded' || phase === 'Failed';
}

function isHealthy(pod: KubeObject): boolean {
  const { conditions = [] } = podStatus(pod);
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  return isReady && pod.metadata.deletionTimestamp === undefined;
}

function desiredHealthy({ minAvailable, maxUnavailable }: BudgetSpec, count: number): number {
  if (maxUnavailable !== undefined) return Math.max(0, count - amount(maxUnavailable, count));
  return minAvailable === undefined ? 0 : amount(minAvailable, count);
}

/** A number, or a share of all, rounded up. */
function amount(value: number | string, count: number): number {
  if (typeof value === 'number') return value;
  return Math.ceil((Number.parseInt(value, 10) * count) / 100);
}

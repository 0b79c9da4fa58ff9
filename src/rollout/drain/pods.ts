/**
 * Decides which pods of a node a drain evicts, which it leaves, and which make a node undrainable. Pure, so that `relet rollout plan`
 * names undrainable nodes before anything starts, by the same rules as the controller.
 *
 *   finished, mirror and DaemonSet pods, label cluster.x-k8s.io/drain=skip     leave
 *   being deleted, label cluster.x-k8s.io/drain=wait-completed                 wait
 *   without a controller (nothing creates it again)                            block, unless the set evicts these
 *   its PodDisruptionBudget allows no eviction, or there are two of them       block
 *   all others, also with emptyDir volumes                                     evict
 */
import { drainLabel } from '../../api/drain.js';
import { type LabelSelectorObject, selectsLabels } from '../../api/label-selector.js';
import type { KubeObject } from '../../api/object.js';
import { oneLine } from '../../visible-text.js';

export interface DrainPod extends KubeObject {
  spec?: { nodeName?: string };
  status?: { phase?: string; conditions?: { type: string; status: string }[] };
}

export interface DisruptionBudget extends KubeObject {
  spec?: {
    selector?: LabelSelectorObject;
    minAvailable?: number | string;
    maxUnavailable?: number | string;
    unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow';
  };
  status?: {
    observedGeneration?: number;
    disruptionsAllowed?: number;
    currentHealthy?: number;
    desiredHealthy?: number;
    expectedPods?: number;
  };
}

/** Treatment of pods that nothing creates again. */
export type UnmanagedPods = 'Block' | 'Evict';

export type PodAction =
  | { kind: 'leave' | 'wait' | 'block'; pod: DrainPod; why: string }
  /** `hasBudget`: a PodDisruptionBudget may still reject its eviction; such pods go first. */
  | { kind: 'evict'; pod: DrainPod; hasBudget: boolean };

export interface DrainRules {
  unmanagedPods: UnmanagedPods;
}

/** Action for each pod of one node; budgets of all namespaces. */
export function podActions(
  pods: readonly DrainPod[],
  budgets: readonly DisruptionBudget[],
  rules: DrainRules,
): PodAction[] {
  return pods.map((pod) => actionOf(pod, budgets, rules));
}

function actionOf(pod: DrainPod, budgets: readonly DisruptionBudget[], { unmanagedPods }: DrainRules): PodAction {
  const { metadata, status } = pod;
  const leave = (why: string): PodAction => ({ kind: 'leave', pod, why });
  const controller = metadata.ownerReferences?.find((owner) => owner.controller);
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return leave('it has finished');
  if (metadata.annotations?.[mirrorAnnotation] !== undefined) return leave('it is a static pod');
  if (controller?.kind === 'DaemonSet') return leave('it belongs to a DaemonSet');
  if (metadata.labels?.[drainLabel] === 'skip') return leave(`it has the label ${drainLabel}=skip`);
  if (metadata.deletionTimestamp !== undefined) return { kind: 'wait', pod, why: 'it is being deleted' };
  if (metadata.labels?.[drainLabel] === 'wait-completed')
    return { kind: 'wait', pod, why: `it has the label ${drainLabel}=wait-completed and still runs` };
  if (controller === undefined && unmanagedPods === 'Block')
    return { kind: 'block', pod, why: 'it has no controller that would create it again' };
  const own = budgets.filter((budget) => isAbout(budget, pod));
  const why = budgetBlocks(pod, own);
  return why === undefined ? { kind: 'evict', pod, hasBudget: own.length > 0 } : { kind: 'block', pod, why };
}

const mirrorAnnotation = 'kubernetes.io/config.mirror';

function isAbout({ metadata, spec }: DisruptionBudget, pod: DrainPod): boolean {
  if (metadata.namespace !== pod.metadata.namespace || spec?.selector === undefined) return false;
  return selectsLabels(spec.selector, pod.metadata.labels);
}

/** Only what will not pass by itself: a budget that is used up because another pod restarts is waited for. */
function budgetBlocks(pod: DrainPod, own: readonly DisruptionBudget[]): string | undefined {
  const [budget] = own;
  if (budget === undefined || pod.status?.phase === 'Pending') return undefined;
  if (own.length > 1)
    return `it has ${own.length} PodDisruptionBudgets (${own.map(({ metadata }) => metadata.name).join(', ')}), and the API evicts no such pod`;
  const { metadata, spec = {}, status } = budget;
  if (!isReady(pod) && spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return undefined;
  const name = `PodDisruptionBudget ${metadata.name}`;
  // Without a disruption controller, or before it has seen the budget, only the spec is known.
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 1))
    return allowsNone(spec) ? `${name} never allows an eviction` : undefined;
  const { currentHealthy = 0, desiredHealthy = 0, expectedPods = 0, disruptionsAllowed = 0 } = status ?? {};
  if (disruptionsAllowed > 0) return undefined;
  if (expectedPods <= desiredHealthy)
    return `${name} never allows an eviction: it wants ${desiredHealthy} healthy of ${expectedPods}`;
  if (currentHealthy < desiredHealthy)
    return `${name} allows no eviction: ${currentHealthy} healthy, ${desiredHealthy} wanted`;
  return undefined;
}

const allowsNone = ({ minAvailable, maxUnavailable }: NonNullable<DisruptionBudget['spec']>): boolean =>
  minAvailable === '100%' || maxUnavailable === 0 || maxUnavailable === '0%';

const isReady = ({ status }: DrainPod): boolean =>
  status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

export const podName = ({ metadata }: DrainPod): string => oneLine(`${metadata.namespace}/${metadata.name}`);

/** No pod is left that the drain would wait for. */
export const isEmptied = (actions: readonly PodAction[]): boolean => actions.every(({ kind }) => kind === 'leave');

/** Why the node cannot be drained as things are, with up to three pods; undefined if it can. */
export function undrainable(actions: readonly PodAction[]): string | undefined {
  return sentenceOf(actions.flatMap((one) => (one.kind === 'block' ? [`pod ${podName(one.pod)}: ${one.why}`] : [])));
}

/** Why it is not empty yet. `rejected`: why the API did not evict a pod, by its uid. */
export function leftPods(
  actions: readonly PodAction[],
  rejected: ReadonlyMap<string, string> = new Map(),
): string | undefined {
  const all = actions.flatMap((one) => {
    if (one.kind === 'leave') return [];
    const why = one.kind === 'evict' ? rejected.get(one.pod.metadata.uid ?? '') : one.why;
    return [
      { text: `pod ${podName(one.pod)}${why === undefined ? '' : `: ${oneLine(why)}`}`, isKnown: why !== undefined },
    ];
  });
  return sentenceOf(all.sort((a, b) => Number(b.isKnown) - Number(a.isKnown)).map(({ text }) => text));
}

function sentenceOf(parts: readonly string[]): string | undefined {
  if (parts.length === 0) return undefined;
  const more = parts.length > 3 ? `; and ${parts.length - 3} more` : '';
  return `${parts.slice(0, 3).join('; ')}${more}`;
}

/**
 * Predicts the drains of a rollout: which nodes would be drained, which pods would move, and which nodes cannot be drained. Uses the
 * functions with which the controller drains.
 */
import type { KubeObject } from '../../api/object.js';
import { ApiError } from '../../api/status.js';
import { nodeFacts } from '../../fleet/node-facts.js';
import { nodes, podDisruptionBudgets, pods } from '../../kube/resource-type.js';
import type { SetCases } from '../../rollout/cases.js';
import { type DisruptionBudget, type DrainPod, podActions, podName, undrainable } from '../../rollout/drain/pods.js';
import type { SetMember } from '../../rollout/members.js';
import type { SetRules } from '../../rollout/spec.js';
import { readEach, type Session } from '../session.js';

export interface PlannedDrain {
  node: string;
  /** Those that would be evicted or waited for; undefined if pods may not be listed. */
  pods?: string[];
  /** Why it cannot be drained as things are. */
  undrainable?: string;
}

export interface PlannedDrains {
  drains: PlannedDrain[];
  /** Whether the controller has the role; undefined if the user may not find out, or if nothing is drained. */
  mayDrain?: boolean | undefined;
}

export async function planDrains(
  session: Session,
  members: readonly SetMember[],
  { cases, rules, text }: { cases: SetCases; rules: SetRules; text: string },
): Promise<PlannedDrains> {
  const { policy } = rules.drain;
  if (policy === 'Never') return { drains: [] };
  const { client, signal } = session;
  const budgets = await readable(client.list<DisruptionBudget>(podDisruptionBudgets, { signal }));
  const drains = await readEach(session, members, async (member): Promise<PlannedDrain[]> => {
    const before = policy === 'Always' ? 'yes' : await cases.drainNeed(member, { text });
    if (before === 'no') return [];
    const { name } = member.node;
    const [node, present] = await Promise.all([
      readable(client.get<KubeObject>(nodes, { name }, { signal })),
      readable(client.list<DrainPod>(pods, { fieldSelector: `spec.nodeName=${name}`, signal })),
    ]);
    const need = before === 'yes' ? 'yes' : await cases.drainNeed(member, { text }, nodeFacts(node, present?.items));
    if (need !== 'yes') return [];
    if (present === undefined) return [{ node: name }];
    const actions = podActions(present.items, budgets?.items ?? [], rules.drain);
    const why = undrainable(actions);
    const moved = actions.flatMap(({ kind, pod }) => (kind === 'leave' ? [] : [podName(pod)]));
    return [{ node: name, pods: moved, ...(why !== undefined && { undrainable: why }) }];
  });
  const all = drains.flat();
  return { drains: all, ...(all.length > 0 && { mayDrain: await mayControllerDrain(session) }) };
}

const controllerUser = 'system:serviceaccount:relet-system:relet-controller';
const accessReviews = { group: 'authorization.k8s.io', version: 'v1', resource: 'subjectaccessreviews' };

/** Undefined if the user may not create SubjectAccessReviews. */
export async function mayControllerDrain({ client, signal }: Session): Promise<boolean | undefined> {
  const resourceAttributes = { verb: 'create', resource: 'pods', subresource: 'eviction' };
  const spec = { user: controllerUser, groups: ['system:serviceaccounts'], resourceAttributes };
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
  const answer = await readable(client.create<KubeObject>(accessReviews, {}, review, { signal }));
  return (answer?.status as { allowed?: boolean } | undefined)?.allowed;
}

/** A resource that may not be read, or is not served, is not known. */
const readable = <T>(request: Promise<T>): Promise<T | undefined> =>
  request.catch((error: unknown) => {
    if (error instanceof ApiError) return undefined;
    throw error;
  });

/** Picks the next batch of a rollout: the order of the nodes, and how many of them the budgets allow. */
import { mostInBatch } from '../api/node-config-set.js';
import { byNaturalOrder } from '../natural-order.js';
import type { SetNode } from './members.js';
import type { SetRules } from './spec.js';
import { hasFailed, isUnsettled, type Survey } from './survey.js';

interface Todo {
  node: SetNode;
  /** The node has failed: a correction costs no budget. */
  isExempt: boolean;
}

/** In the order in which they are assigned. */
export function todoOf(seen: Survey, rules: SetRules, nowMs: number): Todo[] {
  const todo = seen.eligible
    .filter((node) => seen.phases.get(node) === 'todo')
    .map((node) => ({ node, isExempt: hasFailed(node, rules, nowMs) }));
  return inOrder(todo, rules);
}

/** First what failed, then what is in use already, then by the labels of `order`, then by name; control-plane nodes last. */
export function inOrder(todo: readonly Todo[], { order }: SetRules): Todo[] {
  const keyOf = ({ node, isExempt }: Todo): (string | number)[] => [
    isExempt ? 0 : 1,
    Number(node.isControlPlane),
    node.claim !== undefined && isUnsettled(node) ? 0 : 1,
    ...order.map((label) => node.labels[label] ?? ''),
    node.name,
  ];
  return todo
    .map((one) => ({ one, key: keyOf(one) }))
    .sort((a, b) => compareKeys(a.key, b.key))
    .map(({ one }) => one);
}

function compareKeys(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  for (let index = 0; index < a.length; index++) {
    const [one, other] = [a[index]!, b[index]!];
    const order =
      typeof one === 'string' && typeof other === 'string' ? byNaturalOrder(one, other) : Number(one) - Number(other);
    if (order !== 0) return order;
  }
  return 0;
}

export interface Picked {
  name: string;
  isExempt: boolean;
}

/** As many as the budgets leave room for, and one control-plane node at a time, after its trial. */
export function pick(
  todo: readonly Todo[],
  { unavailable, inTrial, allowed }: Survey,
  limit: { inTrial: boolean; room: number },
): Picked[] {
  const [away, tried] = [new Set(unavailable.map(({ node }) => node)), new Set(inTrial)];
  const left = { unavailable: allowed.unavailable - away.size, inTrial: allowed.inTrial - tried.size };
  let { room } = limit;
  let isControlPlaneBusy = [...away, ...tried].some(({ isControlPlane }) => isControlPlane);
  const picked: Picked[] = [];
  for (const { node, isExempt } of todo) {
    if (picked.length === mostInBatch) break;
    if (node.isControlPlane && isControlPlaneBusy && !away.has(node) && !tried.has(node)) continue;
    // A node that uses a budget already costs nothing more. A budget of 0 stops everything.
    const costs = { unavailable: away.has(node) ? 0 : 1, inTrial: tried.has(node) ? 0 : 1 };
    const isAffordable =
      allowed.unavailable > 0 &&
      left.unavailable >= costs.unavailable &&
      (!limit.inTrial || (allowed.inTrial > 0 && left.inTrial >= costs.inTrial)) &&
      room > 0;
    if (!isExempt && !isAffordable) continue;
    if (!isExempt) {
      left.unavailable -= costs.unavailable;
      left.inTrial -= costs.inTrial;
      room -= 1;
    }
    isControlPlaneBusy ||= node.isControlPlane;
    picked.push({ name: node.name, isExempt });
  }
  return picked;
}

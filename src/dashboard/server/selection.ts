/** Resolves a label selector to nodes, and lists the labels of the fleet, for the form of a set. Pure. */
import { matchesLabels, parseLabelSelector, SelectorError } from '../../api/label-selector.js';
import { type ConfiguredNode, membershipOf } from '../../fleet/configured-node.js';
import { byName, byNaturalOrder } from '../../natural-order.js';
import type { LabelKey, Selection } from '../wire.js';
import { badRequest } from './problem.js';

const mostNames = 50;
const mostKeys = 200;
const mostValues = 50;

export function selectionOf(nodes: Iterable<ConfiguredNode>, selector: string): Selection {
  const matches = matcher(selector);
  const selection: Selection = { count: 0, names: [], kubelets: {}, sets: {} };
  const count = (counts: Record<string, number>, key: string) => {
    counts[key] = (Object.hasOwn(counts, key) ? counts[key]! : 0) + 1;
  };
  for (const node of [...nodes].filter(({ labels }) => matches(labels)).sort(byName)) {
    selection.count++;
    if (selection.names.length < mostNames) selection.names.push(node.name);
    count(selection.kubelets, node.kubeletVersion);
    const set = membershipOf(node)?.claim.set;
    if (set !== undefined) count(selection.sets, set);
  }
  return selection;
}

function matcher(selector: string): (labels: Record<string, string>) => boolean {
  try {
    const requirements = parseLabelSelector(selector);
    return (labels) => matchesLabels(requirements, labels);
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message, 'Write it as key=value,other!=value.');
    throw error;
  }
}

export function labelsOf(nodes: Iterable<ConfiguredNode>): LabelKey[] {
  const keys = new Map<string, Map<string, number>>();
  for (const { labels } of nodes)
    for (const [key, value] of Object.entries(labels)) {
      const values = keys.get(key) ?? new Map<string, number>();
      keys.set(key, values.set(value, (values.get(value) ?? 0) + 1));
    }
  return [...keys]
    .sort(([a], [b]) => byNaturalOrder(a, b))
    .slice(0, mostKeys)
    .map(([key, values]) => ({
      key,
      values: [...values]
        .map(([value, nodes]) => ({ value, nodes }))
        .sort((a, b) => b.nodes - a.nodes)
        .slice(0, mostValues),
    }));
}

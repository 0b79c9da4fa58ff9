/**
 * Strata: only nodes of one kubelet minor, instance type and zone are compared with each other, as far as there are enough. Pure.
 *
 * A stratum needs a canary and three controls. Zones of an instance type that have less are merged with each other, then with the
 * smallest other zone of it; what is left is merged the same way over the instance types of a minor. Minors are never merged: another
 * version of the kubelet is another program. Nodes of a minor with less are left out.
 */
import type { Stratum } from './rank-test.js';

export interface StratumKey {
  minor: string;
  instanceType: string;
  zone: string;
}

export interface NodeDifference extends StratumKey {
  isCanary: boolean;
  /** Difference of the signal on this node. */
  change: number;
}

const fewest = { canaries: 1, controls: 3 };

export function strataOf(changes: readonly NodeDifference[]): Stratum[] {
  return groups(changes, ({ minor }) => minor)
    .flatMap((minor) => {
      const types = groups(minor, ({ instanceType }) => instanceType);
      return merged(types.flatMap((type) => merged(groups(type, ({ zone }) => zone))));
    })
    .filter(isEnough)
    .map((group) => ({
      canaries: group.filter(({ isCanary }) => isCanary).map(({ change }) => change),
      controls: group.filter(({ isCanary }) => !isCanary).map(({ change }) => change),
    }));
}

/** In the order of the keys, so that the order of the nodes does not matter. */
function groups(changes: readonly NodeDifference[], keyOf: (one: NodeDifference) => string): NodeDifference[][] {
  const found = new Map<string, NodeDifference[]>();
  for (const one of changes) {
    const group = found.get(keyOf(one));
    if (group === undefined) found.set(keyOf(one), [one]);
    else group.push(one);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

function merged(parts: NodeDifference[][]): NodeDifference[][] {
  const enough = parts.filter(isEnough).sort((a, b) => a.length - b.length);
  const rest = parts.filter((part) => !isEnough(part)).flat();
  if (rest.length === 0) return enough;
  const [smallest, ...others] = enough;
  return isEnough(rest) || smallest === undefined ? [...enough, rest] : [[...smallest, ...rest], ...others];
}

function isEnough(group: readonly NodeDifference[]): boolean {
  const canaries = group.filter(({ isCanary }) => isCanary).length;
  return canaries >= fewest.canaries && group.length - canaries >= fewest.controls;
}

/** Nodes that belong to a set, before one of them is changed alone. */
import { CannotRun } from '../../cannot-run.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { membershipOf } from '../../fleet/membership.js';
import { namesOf } from './outcome.js';

/** A set keeps its nodes on one config, so that a change of one of them alone has to be meant. One that was taken is nobody's. */
export function refuseMembers(nodes: readonly ConfiguredNode[]): void {
  const bySet = new Map<string, string[]>();
  for (const node of nodes) {
    const membership = membershipOf(node);
    if (membership === undefined || membership.isTaken) continue;
    const { set } = membership.claim;
    bySet.set(set, [...(bySet.get(set) ?? []), node.name]);
  }
  const [first] = bySet;
  if (first === undefined) return;
  const who = [...bySet].map(([set, names]) => `${namesOf(names)} (set ${set})`).join('; ');
  const [set, names] = first;
  throw new CannotRun(
    `nothing was changed: a set keeps its nodes on one config, and has these: ${who}. Change the set instead ('relet set --as-set ${set} …', or in Git), or change the nodes alone with --take-from-set; 'relet release ${names[0]}' gives a node back to its set`,
  );
}

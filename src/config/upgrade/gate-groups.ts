/**
 * Changes of AllAlpha and AllBeta between minors: the gates that each covers. A gate that changes stage may leave the group, and then
 * has its own default again.
 */
import { type Gates, gateAt, gatesOf } from '../gates.js';
import type { Minor } from '../model.js';

export const gateGroups = ['AllAlpha', 'AllBeta'] as const;
type Group = (typeof gateGroups)[number];

/** Gates that the group no longer sets, or sets in addition; undefined if it is not set, or covers the same gates. */
export function groupChange(group: Group, chosen: Gates, { from, to }: { from: Minor; to: Minor }): string | undefined {
  if (!Object.hasOwn(chosen, group)) return undefined;
  const [before, after] = [reachedBy(group, chosen, from), reachedBy(group, chosen, to)];
  const more = after.filter((name) => !before.includes(name));
  const hasDefault = (name: string) => (gateAt(name, to)?.default ?? chosen[group]) !== chosen[group];
  const less = before.filter((name) => !after.includes(name) && hasDefault(name));
  const [on, off] = chosen[group] ? ['on', 'off'] : ['off', 'on'];
  const sentences = [
    ...(more.length > 0 ? [`turns ${counted(more)} ${on} in 1.${to} and not in 1.${from}: ${more.join(', ')}`] : []),
    ...(less.length > 0 ? [`leaves ${counted(less)} ${off} in 1.${to} and not in 1.${from}: ${less.join(', ')}`] : []),
  ];
  return sentences.length === 0 ? undefined : sentences.join('; ');
}

const counted = (gates: readonly string[]): string => `${gates.length} feature gate${gates.length === 1 ? '' : 's'}`;

/** Gates that have another value because of the group. */
function reachedBy(group: Group, chosen: Gates, minor: Minor): string[] {
  const stage = group === 'AllAlpha' ? 'Alpha' : 'Beta';
  return gatesOf(minor).filter((name) => {
    const gate = gateAt(name, minor)!;
    return gate.stage === stage && gate.default !== chosen[group] && !Object.hasOwn(chosen, name);
  });
}

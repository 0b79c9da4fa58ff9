/** What a change says while it is made, and at its end. */

import { formatRef, refOf, sameConfig } from '../../api/config-ref.js';
import type { ConfigMap } from '../../fleet/config-maps.js';
import { configState } from '../../fleet/config-state.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import type { Session } from '../session.js';
import { failureText, heldText, releaseHint } from '../state-text.js';
import { wrap } from '../terminal/styled-text.js';
import type { NodeChange } from './change.js';
import type { ChangeEnd } from './follow-change.js';

/** What has happened to a node of the change. */
export type Outcome =
  | ((ChangeEnd | { kind: 'assigned' }) & { cause?: string | undefined })
  /** Assigned, and then relet failed: nobody knows how it ended. */
  | { kind: 'not followed' };

export function endText(
  { terminal }: Session,
  { node, to }: NodeChange,
  end: ChangeEnd,
  cause: string | undefined,
): string {
  const { paint, columns } = terminal;
  const { name } = node;
  const target = formatRef(refOf(to), 'short');
  const details = cause === undefined ? '' : `\n${wrap(cause, columns, '    ')}`;
  switch (end.kind) {
    case 'active':
      return end.proven
        ? paint.green(target === 'local' ? 'active: its local config' : `active: ${target}`)
        : `${paint.green(`active: ${target}`)}; on trial, wait for its end with 'relet wait ${name} --for=lastKnownGood'`;
    case 'rejected':
      return `${paint.red(failureText(end.kind, end.reported))}${details}`;
    case 'rolled back':
      return `${paint.red(failureText(end.kind, end.reported))}${details}\n${wrap(rollbackText(node, end.reported), columns, '    ')}`;
    case 'cannot follow':
      return `${paint.red('not active')}: ${end.error}${details}`;
    case 'held':
      return `${paint.yellow('not active')}: the node is ${heldText(end.held)}; ${releaseHint}`;
    case 'changed':
      return `${paint.yellow('changed again')} by somebody else meanwhile; 'relet history ${name}' shows by whom`;
    case 'gone':
      return `${paint.yellow('gone')}: the Node was deleted meanwhile`;
    case 'timed out':
      return `${paint.yellow('not active in time')}; see 'relet describe ${name}'`;
    case 'interrupted':
      return 'assigned; it will finish on its own, relet stopped waiting';
  }
}

/** To what the node rolls back, and which change is lost with it: one that had not passed its trial is no last known good. */
function rollbackText(before: ConfiguredNode, reported: ConfiguredNode): string {
  const good = refOf(reported.status.lastKnownGood);
  const to = good === undefined ? 'its local config' : `${formatRef(good, 'short')}, its last known good`;
  const active = refOf(before.status.active);
  if (configState(before) !== 'trial' || sameConfig(active, good, 'name')) return `It rolls back to ${to}.`;
  return `It rolls back to ${to}. ${formatRef(active, 'short')}, which was active before, had not passed its trial and is lost with it.`;
}

/** With several nodes: where each of them is. */
export function tellRest({ terminal }: Session, changes: NodeChange[], outcomes: Map<string, Outcome>): void {
  if (changes.length <= 1) return;
  for (const [title, kinds] of lists) {
    const found = changes.map(({ node }) => node.name).filter((name) => kinds.includes(outcomes.get(name)?.kind));
    if (found.length > 0) terminal.print(wrap(`${title} (${found.length}): ${found.join(', ')}`, terminal.columns));
  }
}

const lists: [title: string, kinds: (Outcome['kind'] | undefined)[]][] = [
  ['Done', ['active', 'assigned']],
  ['Failed', ['rejected', 'rolled back', 'cannot follow', 'held', 'changed', 'gone']],
  ['Assigned, not active yet', ['timed out', 'interrupted', 'not followed']],
  ['Not changed', [undefined]],
];

export function tellPlan({ terminal }: Session, changes: NodeChange[], how: string): void {
  for (const { metadata } of newConfigMaps(changes))
    terminal.print(`configmap/${metadata.name} created in namespace ${metadata.namespace} (${how})`);
  for (const { node, to } of changes)
    terminal.print(`${node.name}: assigned ${formatRef(refOf(to), 'short')} (${how})`);
}

/** Each once. */
export function newConfigMaps(changes: NodeChange[]): ConfigMap[] {
  const byName = new Map(
    changes.flatMap(({ configMap }) =>
      configMap === undefined ? [] : [[`${configMap.metadata.namespace}/${configMap.metadata.name}`, configMap]],
    ),
  );
  return [...byName.values()];
}

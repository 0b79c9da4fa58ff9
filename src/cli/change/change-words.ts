/** What a change says while it is made, and at its end. */
import { sourceText } from '../../api/config-history.js';
import { sourceName } from '../../api/config-state.js';
import type { ConfigMap } from '../config-maps.js';
import { heldText, releaseHint } from '../look/state-sentence.js';
import type { Session } from '../session.js';
import { wrap } from '../wrap.js';
import type { NodeChange } from './change.js';
import type { ChangeEnd } from './follow-change.js';

/** What has happened to a node of the change. */
export type Outcome = ChangeEnd | { kind: 'assigned' };

export function endText(
  { terminal }: Session,
  node: string,
  target: string,
  end: ChangeEnd,
  cause: string | undefined,
): string {
  const { paint, columns } = terminal;
  const details = cause === undefined ? '' : `\n${wrap(cause, columns, '    ')}`;
  switch (end.kind) {
    case 'active':
      return end.proven
        ? paint.green(target === 'local' ? 'active: its local config' : `active: ${target}`)
        : `${paint.green(`active: ${target}`)}; on trial, 'relet wait ${node} --for=lastKnownGood' waits for its end`;
    case 'refused':
    case 'rolled back':
      return `${paint.red(withState(end.kind, end.error))}${details}`;
    case 'cannot follow':
      return `${paint.red('not active')}: ${end.error}${details}`;
    case 'held':
      return `${paint.yellow('not active')}: the node is ${heldText(end.held)}; ${releaseHint}`;
    case 'changed':
      return `${paint.yellow('changed again')} by somebody else meanwhile; 'relet history ${node}' shows by whom`;
    case 'gone':
      return `${paint.yellow('gone')}: the Node was deleted meanwhile`;
    case 'timed out':
      return `${paint.yellow('not active in time')}; 'relet describe ${node}' tells more`;
    case 'interrupted':
      return 'assigned; it goes on by itself, nobody waits for it any more';
  }
}

/** Most errors begin with the state that they bring about; it is not said twice. */
export const withState = (state: string, error: string): string =>
  error.startsWith(`${state} `) ? error : `${state}: ${error}`;

/** With several nodes: who has it, and who was not touched. */
export function tellRest({ terminal }: Session, changes: NodeChange[], outcomes: Map<string, Outcome>): void {
  if (changes.length === 1) return;
  const names = (want: (kind: string | undefined) => boolean) =>
    changes.map(({ node }) => node.name).filter((name) => want(outcomes.get(name)?.kind));
  const list = (title: string, found: string[]) => {
    if (found.length > 0) terminal.print(wrap(`${title} (${found.length}): ${found.join(', ')}`, terminal.columns));
  };
  list(
    'Done',
    names((kind) => kind === 'active' || kind === 'assigned'),
  );
  list(
    'Not done',
    names((kind) => kind !== undefined && kind !== 'active' && kind !== 'assigned'),
  );
  list(
    'Not touched',
    names((kind) => kind === undefined),
  );
}

export function tellPlan({ terminal }: Session, changes: NodeChange[], how: string): void {
  for (const { metadata } of newConfigMaps(changes))
    terminal.print(`configmap/${metadata.name} created in namespace ${metadata.namespace} (${how})`);
  for (const { node, to } of changes) terminal.print(`${node.name}: assigned ${sourceText(sourceName(to))} (${how})`);
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

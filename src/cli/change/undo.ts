/** `relet undo NODE`: takes the last change back, or goes to an older one. */

import { formatRef, type NodeConfigSource, nodeConfigSource, parseRef, refOf } from '../../api/config-ref.js';
import { CannotRun } from '../../cannot-run.js';
import { readHistory, undoTarget } from '../../fleet/config-history.js';
import { readPayload } from '../../fleet/config-maps.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { isNotFound } from '../../kube/api-error.js';
import { nodeName, type Session, withSession } from '../session.js';
import { hanging } from '../terminal/styled-text.js';
import { terminalFor } from '../terminal/terminal.js';
import { makeChanges } from './change.js';
import { type ChangeVerbOptions, confirmAndMake, noDifferenceToLocal, showDifferencesTo } from './change-to.js';
import { rejectErrors } from './new-text.js';

export interface UndoOptions extends ChangeVerbOptions {
  /** A revision of `relet history`. */
  to?: number;
}

export const undo = (name: string, options: UndoOptions): Promise<void> =>
  withSession(
    options,
    async (session) => {
      const node = await session.references.get(nodeName(name), { signal: session.signal });
      const target = chooseTarget(session, node, options.to);
      const now = formatRef(refOf(node.configSource), 'short');
      if (target === now) session.terminal.print(`${node.name}: is assigned ${target} already, nothing to take back`);
      if (target === now) return makeChanges(session, 'undo', [], options, [node]);
      const { to, text } = await sourceFor(session, node, target);
      session.terminal.print(hanging(`${node.name}: ${now} -> ${target}`, session.terminal));
      if (text === undefined) session.terminal.print(noDifferenceToLocal(session.terminal));
      else await showDifferencesTo(session, [node], text);
      const question = (which: string) => `Change ${which} back?`;
      await confirmAndMake(session, 'undo', [{ node, to }], { ...options, question });
    },
    terminalFor(options),
  );

function chooseTarget({ terminal }: Session, node: ConfiguredNode, number: number | undefined): string {
  const history = readHistory(node.history);
  if (number !== undefined) {
    const entry = history.find(({ revision }) => revision === number);
    if (entry !== undefined) return entry.to;
    throw new CannotRun(
      `${node.name} has no revision ${number} in its history; 'relet history ${node.name}' lists them`,
    );
  }
  const target = undoTarget(history, refOf(node.configSource));
  if (target === undefined)
    throw new CannotRun(
      `no change of ${node.name} is recorded, so there is nothing to take back; 'relet reset ${node.name}' goes to its local config`,
    );
  if (target.changedPastRelet)
    terminal.print(`Note: ${node.name} was changed without relet since; this goes back to the last change it made.`);
  return target.to;
}

/** The ConfigMap must still be there, and good for the kubelet as it is now. */
async function sourceFor(
  session: Session,
  node: ConfiguredNode,
  target: string,
): Promise<{ to: NodeConfigSource | undefined; text?: string }> {
  const source = parseRef(target);
  if (source === undefined) return { to: undefined };
  try {
    const { text } = await readPayload(session, source);
    rejectErrors(node, text);
    return { to: nodeConfigSource(source), text };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CannotRun(
      `ConfigMap ${source.namespace}/${source.name} is gone from the API; 'relet history ${node.name}' shows other ways back, 'relet reset ${node.name}' the local one. If the node had it last, 'relet node view last-known-good' on the host prints it`,
    );
  }
}

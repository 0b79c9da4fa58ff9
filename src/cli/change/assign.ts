/** `relet assign`, `reset`, `detach` and `undo`: assign nodes a config that already exists, in a ConfigMap or on the host. */
import { formatRef, nodeConfigSource, parseRef, refOf } from '../../api/config-ref.js';
import { isAttached } from '../../api/driver-name.js';
import { configLabel } from '../../api/node-config.js';
import { isNotFound } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { readHistory, undoTarget } from '../../fleet/config-history.js';
import { findConfigMap, readPayload, sourceOf } from '../../fleet/config-maps.js';
import { type ConfiguredNode, configState } from '../../fleet/configured-node.js';
import { nodeName, type Session, selectNodes, withResultSession } from '../session.js';
import { type ChangeVerbOptions, changeTo } from './change-to.js';
import { readNow, type Target } from './plan.js';

export interface AssignOptions extends ChangeVerbOptions {
  selector?: string;
  all?: boolean;
}

export const assign = (word: string, names: string[], options: AssignOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const name = word.replace(/^(configmap|cm)s?\//, '');
    const { text, configMap, source } = await findConfigMap(session, name, options.key);
    const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
    if (session.references.kind === 'NodeConfig' && configMap.metadata.labels?.[configLabel] !== 'true')
      throw new CannotRun(
        `ConfigMap ${word} lacks the label ${configLabel}=true, and nodes reject it; 'relet push' makes ConfigMaps that have it`,
      );
    const stored = sourceOf(configMap, source.kubeletConfigKey);
    const target: Target = { kind: 'stored', source: stored, text, configMap };
    const notes =
      configMap.immutable === true
        ? []
        : ['this ConfigMap is not immutable: an edit of it restarts the kubelet of every node that uses it.'];
    const requested = (await readNow(session, nodes)).map((now) => ({ now, target, notes }));
    await changeTo(session, 'assign', requested, { ...options, question: (which) => `Assign it to ${which}?` });
  });

export const reset = (names: string[], options: AssignOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
    const requested = (await readNow(session, nodes)).map((now) => ({
      now,
      target: { kind: 'local' } as const,
      already: 'is on its local config already',
    }));
    const question = (which: string) => `Reset ${which}?`;
    await changeTo(session, 'reset', requested, { ...options, question, isReturn: true });
  });

export const detach = (names: string[], options: AssignOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
    if (session.references.kind === 'Node')
      throw new CannotRun(
        "the cluster has no NodeConfigs, so agents cannot be asked through the API; on each host run '/var/lib/relet/bin/relet detach --host'",
      );
    const other = nodes.find(({ driver }) => driver !== undefined && !isAttached(driver));
    if (other !== undefined)
      throw new CannotRun(
        `relet is the parent of the kubelet on ${other.name}, not beside it (driver ${other.driver}), so there is nothing to detach; docs/install.md#uninstalling shows how to remove it`,
      );
    const requested = (await readNow(session, nodes)).map((now) => ({
      now,
      target: { kind: 'local' } as const,
      detach: true as const,
      isNothing: configState(now.node) === 'detached',
      already: 'is detached already',
    }));
    const question = (which: string) => `Return ${which} to the local config and remove relet's files from the host?`;
    await changeTo(session, 'detach', requested, { ...options, question, isReturn: true });
  });

export interface UndoOptions extends ChangeVerbOptions {
  /** A revision of `relet history`. */
  to?: number;
}

export const undo = (name: string, options: UndoOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const node = await session.references.get(nodeName(name), { signal: session.signal });
    const { to, notes } = chooseTarget(node, options.to);
    const target = await storedTarget(session, node, to);
    const [now] = await readNow(session, [node]);
    const question = (which: string) => `Change ${which} back?`;
    await changeTo(session, 'undo', [{ now: now!, target, notes }], { ...options, question, isReturn: true });
  });

function chooseTarget(node: ConfiguredNode, number: number | undefined): { to: string; notes: string[] } {
  const history = readHistory(node);
  if (number !== undefined) {
    const entry = history.find(({ revision }) => revision === number);
    if (entry !== undefined) return { to: entry.to, notes: [] };
    throw new CannotRun(
      `${node.name} has no revision ${number} in its history; 'relet history ${node.name}' lists them`,
    );
  }
  const target = undoTarget(history, refOf(node.configSource));
  if (target === undefined)
    throw new CannotRun(
      `no change of ${node.name} is recorded, so there is nothing to take back; 'relet reset ${node.name}' goes to its local config`,
    );
  const notes = target.changedPastRelet
    ? ['it was changed without relet since; this goes back to the last change that relet made.']
    : [];
  return { to: target.to, notes };
}

/** The ConfigMap must still be there. */
async function storedTarget(session: Session, { name }: ConfiguredNode, to: string): Promise<Target> {
  const source = parseRef(to);
  if (source === undefined) return { kind: 'local' };
  try {
    const { text, configMap } = await readPayload(session, source);
    return { kind: 'stored', source: nodeConfigSource(source), text, configMap };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CannotRun(
      `ConfigMap ${formatRef(source, 'configMap')} is gone from the API; 'relet history ${name}' shows other ways back, 'relet reset ${name}' the local one. If the node had it last, 'relet node view last-known-good' on the host prints it`,
    );
  }
}

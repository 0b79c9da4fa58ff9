/** `relet set`: fields of what nodes are assigned, changed without an editor. One ConfigMap for each distinct result. */
import { DecodeError, decode } from '../../config/decode.js';
import { setDefaults } from '../../config/defaults.js';
import { diff } from '../../config/diff.js';
import { getField, type KubeletConfig } from '../../config/model.js';
import { FieldWordError, looksLikeSetting, parseSetting, withSetting } from '../../config/set-field.js';
import { shapeAt } from '../../config/shape.js';
import type { ConfiguredNode } from '../../kube/config-reference.js';
import { CannotRun } from '../cannot-run.js';
import { type Difference, withImpact } from '../change-text.js';
import { asConfigText, readWritten } from '../config-text.js';
import { minorOf } from '../effective-config.js';
import { showProgress } from '../progress.js';
import { selectNodes } from '../select-nodes.js';
import { type Session, withSession } from '../session.js';
import { asYaml } from '../yaml-text.js';
import { type ChangeVerbOptions, changeTo, type NewText } from './change-to.js';
import { type StartingPoint, startingPoint } from './starting-point.js';

export interface SetOptions extends ChangeVerbOptions {
  selector?: string;
  all?: boolean;
}

export const set = (words: string[], options: SetOptions): Promise<void> =>
  withSession(options, async (session) => {
    const settings = words.filter(looksLikeSetting);
    const names = words.filter((word) => !looksLikeSetting(word));
    if (settings.length === 0)
      throw new CannotRun("nothing to set: write FIELD=VALUE, as in 'relet set node-1 maxPods=150'");
    const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
    const texts = await readAll(session, nodes, (node) => settle(session, node, settings));
    await changeTo(session, 'set', texts, options);
  });

/** Kubelets asked at the same time. */
const mostAsked = 8;

/** In the order of the nodes. Many take their time, which is told. */
async function readAll<T>(
  { terminal }: Session,
  nodes: ConfiguredNode[],
  read: (node: ConfiguredNode) => Promise<T>,
): Promise<T[]> {
  const found: T[] = [];
  const progress = showProgress(terminal, () => performance.now());
  let [next, done] = [0, 0];
  const worker = async () => {
    for (let at = next++; at < nodes.length; at = next++) {
      found[at] = await read(nodes[at]!);
      done++;
      if (terminal.width !== undefined && nodes.length > mostAsked)
        progress.at('Reading', `what runs now, ${done} of ${nodes.length} nodes`);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(mostAsked, nodes.length) }, worker));
  } finally {
    progress.close();
  }
  return found;
}

async function settle(session: Session, node: ConfiguredNode, settings: string[]): Promise<NewText> {
  const minor = minorOf(node);
  const start = await startingPoint(session, node, 'set');
  try {
    const document = readWritten(start.text, minor);
    const changed = settings
      .map((word) => parseSetting(word, minor))
      .reduce((before, setting) => withSetting(withWholeMap(before, setting.path, minor), setting), document);
    return newText(node, start, asConfigText(changed, minor));
  } catch (error) {
    if (error instanceof FieldWordError) throw new CannotRun(error.message);
    if (error instanceof DecodeError)
      throw new CannotRun(
        `${node.name} is assigned a config that cannot be read (${error.message}); correct it with 'relet edit ${node.name}'`,
      );
    throw error;
  }
}

/** A map that the document leaves to its default is written out before one of its keys is set: the kubelet does not merge. */
function withWholeMap(document: KubeletConfig, path: string[], minor: number): KubeletConfig {
  const map = path.slice(0, -1);
  if (shapeAt(map, minor)?.kind !== 'map' || getField(document, map.join('.')) !== undefined) return document;
  const { config } = decode(asConfigText(document, minor), { minor, strict: false });
  const value = getField(setDefaults(config, minor), map.join('.')) ?? undefined;
  return value === undefined ? document : withSetting(document, { path: map, value });
}

/** The new text for a node, and what it changes. Old values are those that run, where they can be seen. */
export function newText(node: ConfiguredNode, start: StartingPoint, text: string): NewText {
  const minor = minorOf(node);
  const { running, failed, notes } = start;
  const now = running && new Map(differencesOf(asYaml(running), text, minor).map(({ path, from }) => [path, from]));
  const differences = differencesOf(start.before, text, minor).map((difference) =>
    now?.has(difference.path) ? { ...difference, from: now.get(difference.path) } : difference,
  );
  return { node, text, differences, running, failed, notes };
}

export function differencesOf(before: string, after: string, minor: number): Difference[] {
  const read = (text: string) => decode(text, { minor, strict: false }).config;
  return diff(read(before), read(after), minor).map((change) => withImpact(change, minor));
}

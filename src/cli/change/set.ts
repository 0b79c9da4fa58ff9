/** `relet set`: fields of what nodes run with now, changed without an editor. One ConfigMap for each distinct result. */
import { decode } from '../../config/decode.js';
import { diff } from '../../config/diff.js';
import { FieldWordError, looksLikeSetting, parseSetting, withSetting } from '../../config/set-field.js';
import type { ConfiguredNode } from '../../kube/config-reference.js';
import { CannotRun } from '../cannot-run.js';
import { type Difference, withImpact } from '../change-text.js';
import { minorOf, readEffective } from '../effective-config.js';
import { showProgress } from '../progress.js';
import { selectNodes } from '../select-nodes.js';
import { type Session, withSession } from '../session.js';
import { asYaml } from '../yaml-text.js';
import { type ChangeVerbOptions, changeTo, type NewText } from './change-to.js';

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
  const { document, text: before, unsayable, origin } = await readEffective(session, node);
  const running = origin === 'configz' ? document : undefined;
  let changed = document;
  try {
    for (const word of settings) changed = withSetting(changed, parseSetting(word, minor));
  } catch (error) {
    if (error instanceof FieldWordError) throw new CannotRun(error.message);
    throw error;
  }
  const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  const text = asYaml({ ...header, ...changed });
  return { node, text, differences: differencesOf(before, text, minor), running, unsayable };
}

export function differencesOf(before: string, after: string, minor: number): Difference[] {
  const read = (text: string) => decode(text, { minor, strict: false }).config;
  return diff(read(before), read(after), minor).map((change) => withImpact(change, minor));
}

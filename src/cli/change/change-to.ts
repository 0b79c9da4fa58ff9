/**
 * From new texts for nodes to the change: judged as each node's kubelet would, shown by meaning, confirmed, then made.
 * What `edit` and `set` share.
 */
import { check } from '../../config/check.js';
import type { Finding, KubeletConfig } from '../../config/model.js';
import type { ConfiguredNode } from '../../kube/config-reference.js';
import { CannotRun } from '../cannot-run.js';
import { type Difference, differencesAsText } from '../change-text.js';
import type { ConnectionOptions } from '../connection-flags.js';
import { askRunning, minorOf } from '../effective-config.js';
import { isWithin, pinnedFields, pinnedNow } from '../look/pinned-fields.js';
import type { Session } from '../session.js';
import type { Terminal } from '../terminal.js';
import { wrap } from '../wrap.js';
import { type ChangeOptions, makeChanges } from './change.js';
import { configMapsFor } from './config-maps-for.js';
import { confirm } from './confirm.js';

export interface ChangeVerbOptions extends ConnectionOptions, ChangeOptions {
  yes?: boolean;
  name?: string;
  key?: string;
}

export interface NewText {
  node: ConfiguredNode;
  text: string;
  differences: Difference[];
  /** What runs now, where the kubelet could be asked. */
  running: KubeletConfig | undefined;
  /** See RunningConfig. */
  unsayable: string[];
}

export async function changeTo(
  session: Session,
  verb: string,
  texts: NewText[],
  options: ChangeVerbOptions,
): Promise<void> {
  const { terminal, namespace } = session;
  for (const { node, differences } of texts)
    if (differences.length === 0) terminal.print(`${node.name}: runs with that already, nothing to change`);
  const wanted = texts.filter(({ differences }) => differences.length > 0);
  if (wanted.length === 0) return;
  for (const { node, text } of wanted) refuseErrors(node, text);
  const changes = configMapsFor(wanted, { name: options.name, key: options.key, namespace });
  for (const group of alike(wanted)) terminal.print(await groupText(session, group));
  const who = wanted.length === 1 ? wanted[0]!.node.name : `${wanted.length} nodes`;
  if (!isDryRun(options) && !(await confirm(session, `Change ${who}?`, options.yes))) return decline(session);
  await makeChanges(session, verb, changes, options);
  if (!isDryRun(options) && options.wait) await tellPinned(session, wanted);
}

export const isDryRun = ({ dryRun }: ChangeOptions): boolean => dryRun !== undefined && dryRun !== 'none';

export function decline({ terminal }: Session): void {
  terminal.print('Nothing was changed.');
  process.exitCode = 1;
}

/** The errors of a text for this node's kubelet; warnings are left out. */
export function errorsIn(node: ConfiguredNode, text: string): Finding[] {
  return check(text, { minor: minorOf(node) }).findings.filter(({ severity }) => severity === 'error');
}

export function refuseErrors(node: ConfiguredNode, text: string): void {
  const errors = errorsIn(node, text);
  if (errors.length === 0) return;
  const lines = errors.map(({ path, message }) => `  ${path === '' ? '' : `${path}: `}${message}`).join('\n');
  throw new CannotRun(
    `the kubelet of ${node.name} (${node.kubeletVersion || 'version unknown'}) would not run with that, so nothing was changed:\n${lines}`,
  );
}

/** Nodes with the same changes are shown once. */
function alike(texts: NewText[]): NewText[][] {
  const groups = new Map<string, NewText[]>();
  for (const text of texts) {
    const key = differencesAsText(text.differences, plain);
    groups.set(key, [...(groups.get(key) ?? []), text]);
  }
  return [...groups.values()];
}

const plain = { columns: 80, paint: new Proxy({}, { get: () => String }) } as unknown as Terminal;

async function groupText(session: Session, group: NewText[]): Promise<string> {
  const { terminal } = session;
  const names = group.map(({ node }) => node.name).join(', ');
  const lines = [terminal.paint.bold(wrap(`${names}:`, terminal.columns))];
  lines.push(differencesAsText(group[0]!.differences, terminal));
  for (const text of group) lines.push(...(await notesOn(session, text)));
  return `${lines.join('\n')}\n`;
}

/** What a person should know before saying yes, as far as the node shows it. */
async function notesOn(session: Session, { node, differences, running, unsayable }: NewText): Promise<string[]> {
  const notes: string[] = [];
  const pinned = running === undefined ? [] : await pinnedNow(session, node, running);
  const inVain = differences
    .map(({ path }) => path)
    .filter((path) => pinned.some((field) => isWithin(path, field.path)));
  if (inVain.length > 0)
    notes.push(`a flag of the kubelet pins ${inVain.join(', ')}; this change will have no effect.`);
  if (running === undefined) notes.push('the kubelet could not be asked; this starts from the active ConfigMap.');
  if (unsayable.length > 0)
    notes.push(`flags set these to what no config can say, so they stay: ${unsayable.join(', ')}.`);
  if (!node.reports) notes.push("nothing there has reported about its config yet: is 'relet kubelet' running on it?");
  return notes.map((text) => note(session.terminal, `${node.name}: ${text}`));
}

/** After the change: what was asked for and does not run, since a flag of the kubelet wins. */
async function tellPinned(session: Session, texts: NewText[]): Promise<void> {
  if (process.exitCode) return;
  for (const { node, text, differences } of texts) {
    const running = await askRunning(session, node);
    if (running === undefined) continue;
    const asked = new Set(differences.map(({ path }) => path));
    for (const { path, runs } of pinnedFields(text, running, minorOf(node)).filter((field) => asked.has(field.path))) {
      const value = JSON.stringify(runs, (_key, part) => (typeof part === 'bigint' ? Number(part) : part)) ?? 'unset';
      session.terminal.print(
        note(session.terminal, `${node.name}: ${path} stays ${value}: a flag of the kubelet pins it.`),
      );
    }
  }
}

const note = ({ paint, columns }: Terminal, text: string): string => paint.yellow(wrap(`Note: ${text}`, columns));

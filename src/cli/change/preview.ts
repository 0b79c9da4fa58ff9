/** What a change will do, as a person sees it before saying yes: by meaning, nodes with the same changes once. */

import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import type { KubeletConfig } from '../../config/model.js';
import { asYaml } from '../../fleet/config-text.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { isPinned, minorOf, pinnedNow } from '../../fleet/effective-config.js';
import type { Session } from '../session.js';
import { type Difference, differencesAsText, differencesOf } from '../terminal/change-text.js';
import { wrap } from '../terminal/styled-text.js';
import type { Terminal } from '../terminal/terminal.js';
import { readAll } from './read-all.js';
import { type StartingPoint, startingPoint } from './starting-point.js';

export interface NewText {
  node: ConfiguredNode;
  text: string;
  differences: Difference[];
  /** What runs now, where the kubelet could be asked. */
  running: KubeletConfig | undefined;
  /** What is assigned and does not run; the new text replaces it, also where that changes nothing that runs. */
  failed: { source: string; state: string } | undefined;
  notes: string[];
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

export async function showDifferences(session: Session, texts: NewText[]): Promise<void> {
  for (const group of alike(texts)) session.terminal.print(await groupText(session, group));
}

/**
 * The same for a config that is stored already. Where the API does not show what a node has now, or the text cannot be read,
 * that is said instead: nobody is kept from assigning it.
 */
export async function showDifferencesTo(session: Session, nodes: ConfiguredNode[], text: string): Promise<void> {
  const texts = await readAll(session, nodes, async (node) => {
    try {
      return { ...newText(node, await startingPoint(session, node, 'set'), text), notes: [] };
    } catch (error) {
      if (!(error instanceof CannotRun) && !(error instanceof DecodeError)) throw error;
      return { node, reason: error.message };
    }
  });
  await showDifferences(
    session,
    texts.filter((one) => 'text' in one),
  );
  for (const one of texts)
    if ('reason' in one)
      session.terminal.print(note(session.terminal, `${one.node.name}: the difference cannot be shown: ${one.reason}`));
}

/** Of a node that runs a ConfigMap the API does not show what its local config says. */
export const noDifferenceToLocal = (terminal: Terminal): string =>
  note(terminal, 'the local config is a file on the host, so the difference cannot be shown.');

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
  const notes = new Map<string, string[]>();
  for (const text of group)
    for (const words of await notesOn(session, text)) notes.set(words, [...(notes.get(words) ?? []), text.node.name]);
  for (const [words, about] of notes) lines.push(note(terminal, `${about.join(', ')}: ${words}`));
  return `${lines.join('\n')}\n`;
}

/** What a person should know before saying yes, as far as the node shows it. */
async function notesOn(
  session: Session,
  { node, differences, running, failed, notes: more }: NewText,
): Promise<string[]> {
  const notes = failed === undefined ? [] : [`this replaces ${failed.source}, which was ${failed.state}.`];
  const pinned = running === undefined ? [] : await pinnedNow(session, node, running);
  const inVain = differences.map(({ path }) => path).filter((path) => isPinned(path, pinned));
  if (inVain.length > 0)
    notes.push(`a flag of the kubelet pins ${inVain.join(', ')}; this change will have no effect.`);
  notes.push(...more);
  if (!node.reports) notes.push("nothing there has reported about its config yet: is 'relet kubelet' running on it?");
  return notes;
}

export const note = ({ paint, columns }: Terminal, text: string): string =>
  paint.yellow(wrap(`Note: ${text}`, columns));

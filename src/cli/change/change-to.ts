/**
 * From new texts for nodes to the change: checked as each node's kubelet would, shown by meaning (nodes with the same changes once),
 * confirmed, then made. Shared by the verbs that change nodes.
 */
import { createInterface, type Interface } from 'node:readline/promises';
import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { defaultKey, defaultName, newConfigMap, sourceOf } from '../../fleet/config-maps.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { askRunning, isPinned, minorOf, pinnedFields } from '../../fleet/effective-config.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions } from '../command-line.js';
import type { Session } from '../session.js';
import { differencesAsText, shown } from '../terminal/change-text.js';
import { wrap } from '../terminal/styled-text.js';
import { isTerminal, type Terminal } from '../terminal/terminal.js';
import { type ChangeOptions, makeChanges } from './change.js';
import { type NewText, newText, readAll, rejectErrors, startingPoint } from './new-text.js';
import type { NodeChange } from './outcome.js';

export interface ChangeVerbOptions extends ConnectionOptions, ChangeOptions {
  yes?: boolean;
  name?: string;
  key?: string;
}

export async function changeTo(
  session: Session,
  verb: string,
  texts: NewText[],
  options: ChangeVerbOptions,
): Promise<void> {
  const isChange = ({ differences, failed }: NewText) => differences.length > 0 || failed !== undefined;
  const unchanged = texts.filter((text) => !isChange(text)).map(({ node }) => node);
  for (const { name } of unchanged) session.terminal.print(`${name}: has that already, nothing to change`);
  const wanted = texts.filter(isChange);
  if (wanted.length === 0) return makeChanges(session, verb, [], options, unchanged);
  for (const { node, text, running } of wanted) rejectErrors(node, text, running);
  const changes = wanted.map(({ node, text }) => withConfigMap(session, node, text, options));
  showDifferences(session, wanted);
  const isMade = await confirmAndMake(session, verb, changes, {
    ...options,
    question: (which) => `Change ${which}?`,
    unchanged,
  });
  if (isMade && options.wait) await printPinned(session, wanted);
}

/** The name of a ConfigMap is a hash of its content, so nodes with the same text share one. */
function withConfigMap(
  { namespace }: Session,
  node: ConfiguredNode,
  text: string,
  { name = defaultName, key = defaultKey }: ChangeVerbOptions,
): NodeChange {
  const configMap = newConfigMap({ name, namespace, key, bytes: Buffer.from(text) });
  return { node, configMap, to: sourceOf(configMap, key) };
}

export interface ConfirmOptions extends ChangeVerbOptions {
  /** `which`: the name of the node, or how many there are. */
  question(which: string): string;
  /** Nodes that had it already, for the result. */
  unchanged?: ConfiguredNode[];
}

/** Asks, unless it is a dry run, and makes the changes. False where nothing was changed. */
export async function confirmAndMake(
  session: Session,
  verb: string,
  changes: NodeChange[],
  { question, unchanged, ...options }: ConfirmOptions,
): Promise<boolean> {
  const isDryRun = options.dryRun !== undefined && options.dryRun !== 'none';
  const which = changes.length === 1 ? changes[0]!.node.name : `${changes.length} nodes`;
  if (!isDryRun && !(await confirm(session, question(which), options.yes))) {
    session.terminal.print('Nothing was changed.');
    process.exitCode = 1;
    return false;
  }
  await makeChanges(session, verb, changes, options, unchanged);
  return !isDryRun;
}

/** Only a person at a terminal can answer; a script uses --yes. Throws where nobody can be asked. */
export async function confirm(session: Session, question: string, yes: boolean | undefined): Promise<boolean> {
  if (yes === true) return true;
  if (process.stdin.isTTY !== true || session.terminal.width === undefined || !isTerminal())
    throw new CannotRun('cannot ask for confirmation without a terminal; nothing was changed, use --yes');
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  // In raw mode the terminal sends no SIGINT: readline gets the key and emits an event.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    const answer = await Promise.race([
      lines.question(`${oneLine(question)} [y/N] `, { signal: session.signal }),
      closed(lines),
    ]);
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    session.terminal.print('\n');
    session.signal.throwIfAborted();
    if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
    session.terminal.print('No answer: the input ended (Ctrl-D). This counts as no.');
    return false;
  } finally {
    lines.close();
  }
}

/** Ctrl-D, or a terminal that was closed. Some versions of Node then leave the question open, others reject it like this. */
const closed = (lines: Interface): Promise<never> =>
  new Promise((_resolve, reject) =>
    lines.once('close', () => reject(Object.assign(new Error('the input ended'), { name: 'AbortError' }))),
  );

function showDifferences({ terminal }: Session, texts: NewText[]): void {
  const groups = new Map<string, NewText[]>();
  for (const text of texts) {
    const key = differencesAsText(text.differences, plain);
    groups.set(key, [...(groups.get(key) ?? []), text]);
  }
  for (const group of groups.values()) terminal.print(groupText(terminal, group));
}

const plain = { columns: 80, paint: new Proxy({}, { get: () => String }) } as unknown as Terminal;

/**
 * The same for a config that is stored already. Where the API does not show what a node has now, or the text cannot be read,
 * a note says so: it can be assigned all the same.
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
  showDifferences(
    session,
    texts.filter((one) => 'text' in one),
  );
  for (const one of texts)
    if ('reason' in one)
      session.terminal.print(note(session.terminal, `${one.node.name}: the difference cannot be shown: ${one.reason}`));
}

/** The API does not show the local config of a node that runs a ConfigMap. */
export const noDifferenceToLocal = (terminal: Terminal): string =>
  note(terminal, 'the local config is a file on the host, so the difference cannot be shown.');

function groupText(terminal: Terminal, group: NewText[]): string {
  const names = group.map(({ node }) => node.name).join(', ');
  const lines = [terminal.paint.bold(wrap(`${names}:`, terminal.columns))];
  lines.push(differencesAsText(group[0]!.differences, terminal));
  const notes = new Map<string, string[]>();
  for (const text of group)
    for (const words of notesOn(text)) notes.set(words, [...(notes.get(words) ?? []), text.node.name]);
  for (const [words, about] of notes) lines.push(note(terminal, `${about.join(', ')}: ${words}`));
  return `${lines.join('\n')}\n`;
}

/** What a person should know before saying yes, as far as the node shows it. */
function notesOn({ node, differences, pinned, failed, notes: more }: NewText): string[] {
  const notes = failed === undefined ? [] : [`this replaces ${failed.source}, which was ${failed.state}.`];
  const inVain = differences.map(({ path }) => path).filter((path) => isPinned(path, pinned));
  if (inVain.length > 0)
    notes.push(`a flag of the kubelet pins ${inVain.join(', ')}; this change will have no effect.`);
  notes.push(...more);
  if (!node.reports) notes.push("nothing there has reported about its config yet: is 'relet kubelet' running on it?");
  return notes;
}

const note = ({ paint, columns }: Terminal, text: string): string => paint.yellow(wrap(`Note: ${text}`, columns));

/** After the change: the fields that keep their value because a flag of the kubelet sets them. */
async function printPinned(session: Session, texts: NewText[]): Promise<void> {
  if (process.exitCode) return;
  for (const { node, text, differences } of texts) {
    const running = await askRunning(session, node);
    if (running === undefined) continue;
    const asked = new Set(differences.map(({ path }) => path));
    for (const { path, runs } of pinnedFields(text, running, minorOf(node)).filter((field) => asked.has(field.path)))
      session.terminal.print(
        note(session.terminal, `${node.name}: ${path} stays ${shown(runs)}: a flag of the kubelet pins it.`),
      );
  }
}

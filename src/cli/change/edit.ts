/**
 * `relet edit NODE`: opens the config that a node is assigned in an editor, then makes the change like every other verb.
 *
 *   read ─► editor ─► check ─► difference ─► yes? ─► change
 *             ▲         │
 *             └─ errors ┘  as comments; saved again unchanged, it ends
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CannotRun } from '../../cannot-run.js';
import type { Finding } from '../../config/model.js';
import { encodeOverlay, isOverlay } from '../../config/overlay.js';
import { acceptanceErrors, errorLines } from '../../fleet/acceptance.js';
import { asConfigText } from '../../fleet/config-text.js';
import { configState, errorText } from '../../fleet/configured-node.js';
import { kubeletOf } from '../../fleet/node-configs.js';
import { hasNoFields } from '../../fleet/payload.js';
import { oneLine } from '../../visible-text.js';
import { nodeName, type Session, withResultSession } from '../session.js';
import { printError, wrap } from '../terminal/terminal.js';
import { isDryRun, makeChanges } from './change.js';
import { type ChangeVerbOptions, changeTo, refuseMembers } from './change-to.js';
import { assignedText, type NodeNow, newTarget, notesOnStart, overlayFor, readNow, warningsOnFailed } from './plan.js';
import { refuseHeld } from './write-reference.js';

export interface EditOptions extends ChangeVerbOptions {
  /** Open a whole config as an overlay. */
  overlay?: boolean;
}

export const edit = (name: string, options: EditOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const node = await session.references.get(nodeName(name), { signal: session.signal });
    // Before the editor opens: nobody should write a text that cannot be used.
    if (!options.takeFromSet) refuseMembers([node]);
    if (!isDryRun(options)) refuseHeld(node, { wait: options.wait, unchanged: 'nothing was changed' });
    const [now] = (await readNow(session, [node])) as [NodeNow];
    const assigned = assignedText(now);
    const start = options.overlay ? overlayFor(now, assigned) : assigned;
    const original = start ?? encodeOverlay({ config: {}, unset: [] });
    const file = openEditedFile(node.name, process.env);
    try {
      const text = await editUntilGood(session, file, now, original, failureOf(now, original));
      const isEmpty = text === undefined && withoutRemarks(file.present()).trim() === '';
      if (text === undefined && (start === assigned || isEmpty)) {
        file.remove();
        session.terminal.print(
          isEmpty
            ? `The file is empty, so nothing was changed. 'relet reset ${node.name}' returns to the local config.`
            : 'The text is unchanged, so nothing was changed.',
        );
        return makeChanges(session, 'edit', [], options, [node]);
      }
      const result = text ?? original;
      const target = newTarget(hasNoFields(result, now.minor) ? undefined : result);
      const wish = { now, target, notes: notesOnStart(now, result), warnings: warningsOnFailed(now, result) };
      await changeTo(session, 'edit', [wish], { ...options, question: (which) => `Change ${which}?` });
    } catch (error) {
      const isWorthKeeping = !['', original].includes(withoutRemarks(file.present()).trimStart());
      if (!isWorthKeeping) file.remove();
      else printError(`relet: your text is kept in ${file.path}`);
      throw error;
    }
    file.remove();
  });

/** Undefined when the person left the text unchanged, or empty. */
async function editUntilGood(
  session: Session,
  file: EditedFile,
  now: NodeNow,
  original: string,
  failure: Finding[],
): Promise<string | undefined> {
  let shown = withIntroduction(failure.length === 0 ? original : withErrors(original, failure), now);
  for (let before = original; ; ) {
    const text = withoutRemarks(await session.leavingKeyboardAlone(() => file.edit(shown)));
    session.signal.throwIfAborted();
    if (text.trim() === '' || text === original) return undefined;
    const errors = acceptanceErrors(text, kubeletOf(now));
    if (errors.length === 0) return text;
    if (text === before)
      throw new CannotRun(`the text still has the same errors; nothing was changed:\n${errorLines(errors)}`);
    before = text;
    shown = `${remarks([`${countOf(errors)} shown above the line it refers to. Nothing has been changed yet.`])}${withErrors(text, errors)}`;
  }
}

/** Why the node does not run the assigned text: what relet finds in it, else what the node reports, at the field that it names. */
function failureOf(now: NodeNow, text: string): Finding[] {
  const { node } = now;
  const state = configState(node);
  if (state !== 'rejected' && state !== 'rolled back') return [];
  const found = acceptanceErrors(text, kubeletOf(now));
  if (found.length > 0) return found;
  const { cause } = node;
  const message = `${state}: ${errorText(node.status.error ?? '', node.condition)}${cause === undefined ? '' : `: ${cause}`}`;
  const line = cause === undefined ? undefined : lineNamedBy(cause, text);
  return [{ severity: 'error', source: 'kubelet', path: '', message, ...(line !== undefined && { line }) }];
}

/** The first line whose field the cause names, else whose value: `bind: address already in use` names a port. */
function lineNamedBy(cause: string, text: string): number | undefined {
  const words = new Set(cause.split(/[^\w.-]+/));
  const lines = text.split('\n').map((line) => /^\s*([\w.]+):\s*"?([^"#]*?)"?\s*$/.exec(line)?.slice(1) ?? []);
  const named = [0, 1].map((part) => lines.findIndex((parts, at) => at > 1 && words.has(parts[part] || ' ')));
  const found = named.find((at) => at >= 0);
  return found === undefined ? undefined : found + 1;
}

/**
 * relet's own remarks in the text that a person edits are lines that begin with this, and are removed when the text comes back.
 * All other comments stay in the ConfigMap.
 */
const mark = '# relet:';

/** With the mark in front, no line is longer than 79 columns. */
const wrapped = (text: string): string[] => wrap(text, 78 - mark.length).split('\n');

function withIntroduction(text: string, { node, assigned, local, minor }: NodeNow): string {
  const kubelet = `${node.name} (kubelet ${node.kubeletVersion || 'of unknown version'})`;
  const state = configState(node);
  const failed = state === 'rejected' || state === 'rolled back' ? `; it was ${state}` : '';
  const what = assigned.ref === undefined ? `What to change on ${kubelet}` : `What ${kubelet} is assigned${failed}`;
  const base = isOverlay(text)
    ? [
        ...wrapped(
          `It is an overlay: it sets the fields under config and gives those in the list unset the kubelet's default; all others stay as in the local config${local === undefined ? '.' : ':'}`,
        ),
        ...(local === undefined
          ? []
          : asConfigText(local, minor)
              .trimEnd()
              .split('\n')
              .slice(2)
              .map((line) => `    ${line}`)),
      ]
    : [];
  const lines = [
    ...wrapped(`${what}.`),
    ...base,
    ...wrapped(
      'Change it, save and close: it is checked, shown as a difference, and applied after you confirm. Save it unchanged, or empty, to cancel.',
    ),
    'Lines that begin like this one are not part of it.',
  ];
  return `${remarks(lines)}${text}`;
}

const countOf = (errors: readonly Finding[]): string =>
  errors.length === 1 ? '1 error,' : `${errors.length} errors, each`;

/** Each error above the line it is about; those without a line, or about nothing that is there, at the top. */
function withErrors(text: string, errors: readonly Finding[]): string {
  const lines = text.split('\n');
  const above = new Map<number, string[]>();
  for (const { line = 1, file, path, message, remedy } of errors) {
    const isElsewhere = file !== undefined;
    const place = isElsewhere ? 0 : Math.min(Math.max(line, 1), lines.length) - 1;
    const words = `error: ${path === '' ? '' : `${path}: `}${message}${isElsewhere ? ' (in the local config)' : ''}${remedy === undefined ? '' : `\n${remedy}`}`;
    above.set(place, [...(above.get(place) ?? []), ...words.split('\n').map(oneLine)]);
  }
  return lines.flatMap((line, at) => [...(above.get(at) ?? []).map((words) => `${mark} ${words}`), line]).join('\n');
}

const withoutRemarks = (text: string): string =>
  text
    .split('\n')
    .filter((line) => !line.startsWith(mark))
    .join('\n');

const remarks = (lines: string[]): string => lines.map((line) => `${mark} ${line}\n`).join('');

interface EditedFile {
  path: string;
  /** Writes the text, waits until the editor is closed, reads it back. */
  edit(text: string): Promise<string>;
  /** Present content of the file; '' when it is not there. */
  present(): string;
  remove(): void;
}

/** A file for the editor, in a directory that nobody else can read: a config may name secrets. */
function openEditedFile(name: string, env: Record<string, string | undefined>): EditedFile {
  const dir = mkdtempSync(join(tmpdir(), 'relet-edit-'));
  const path = join(dir, `${name.replace(/[^\w.-]/g, '_')}.yaml`);
  return {
    path,
    async edit(text) {
      writeFileSync(path, text, { mode: 0o600 });
      await runEditor(env.KUBE_EDITOR || env.EDITOR || 'vi', path);
      return readFileSync(path, 'utf8');
    },
    present: () => (existsSync(path) ? readFileSync(path, 'utf8') : ''),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** Through a shell, since people put flags and quotes into $EDITOR. */
function runEditor(editor: string, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (code === 0) return resolve();
      const how = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
      reject(
        new CannotRun(
          `the editor '${editor}' ${how}, so nothing was changed; choose another with KUBE_EDITOR or EDITOR`,
        ),
      );
    });
  });
}

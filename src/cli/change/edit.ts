/**
 * `relet edit NODE`: the config that a node is assigned, in an editor; then the same way as every change.
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
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { oneLine } from '../../visible-text.js';
import { nodeName, type Session, withSession } from '../session.js';
import { printError, terminalFor } from '../terminal/terminal.js';
import { makeChanges } from './change.js';
import { type ChangeVerbOptions, changeTo } from './change-to.js';
import { errorLines, errorsIn, newText, type StartingPoint, startingPoint } from './new-text.js';

export const edit = (name: string, options: ChangeVerbOptions): Promise<void> =>
  withSession(
    options,
    async (session) => {
      const node = await session.references.get(nodeName(name), { signal: session.signal });
      const start = await startingPoint(session, node, 'edit');
      const file = openEditedFile(node.name, process.env);
      try {
        const text = await editUntilGood(session, file, node, start);
        if (text === undefined) {
          file.remove();
          session.terminal.print('The text is unchanged, so nothing was changed.');
          return makeChanges(session, 'edit', [], options, [node]);
        }
        await changeTo(session, 'edit', [newText(node, start, text)], options);
      } catch (error) {
        const isWorthKeeping = !['', start.text].includes(withoutRemarks(file.present()).trimStart());
        if (!isWorthKeeping) file.remove();
        else printError(`relet: your text is kept in ${file.path}`);
        throw error;
      }
      file.remove();
    },
    terminalFor(options),
  );

/** Undefined when the person left the text unchanged, or empty. */
async function editUntilGood(
  session: Session,
  file: EditedFile,
  node: ConfiguredNode,
  { text: original, failed, running }: StartingPoint,
): Promise<string | undefined> {
  let shown = withIntroduction(original, node, failed?.state);
  for (let before = original; ; ) {
    const text = withoutRemarks(await session.leavingKeyboardAlone(() => file.edit(shown)));
    session.signal.throwIfAborted();
    if (text.trim() === '' || text === original) return undefined;
    const errors = errorsIn(node, text, running);
    if (errors.length === 0) return text;
    if (text === before)
      throw new CannotRun(`the text still has the same errors; nothing was changed:\n${errorLines(errors)}`);
    before = text;
    shown = withErrors(text, errors);
  }
}

/**
 * relet's own remarks in the text that a person edits are lines that begin with this, and are removed when the text comes back.
 * All other comments stay in the ConfigMap.
 */
const mark = '# relet:';

function withIntroduction(
  text: string,
  { name, kubeletVersion, configSource }: Pick<ConfiguredNode, 'name' | 'kubeletVersion' | 'configSource'>,
  failed: 'rejected' | 'rolled back' | undefined,
): string {
  const kubelet = `kubelet ${kubeletVersion || 'of unknown version'}`;
  const what =
    failed !== undefined
      ? `The config that ${name} (${kubelet}) is assigned; it was ${failed}.`
      : configSource !== undefined
        ? `The config that ${name} (${kubelet}) is assigned.`
        : `The local config of ${name} (${kubelet}), without defaults.`;
  const lines = [
    what,
    'Change it, save and close: it is checked, shown as a difference, and used',
    'only when you say yes. Save it unchanged, or empty, to give up.',
    'Lines that begin like this one are not part of it.',
  ];
  return `${remarks(lines)}${text}`;
}

/** Each error above the line it is about; those without a line, or about nothing that is there, at the top. */
function withErrors(text: string, errors: readonly Finding[]): string {
  const lines = text.split('\n');
  const above = new Map<number, string[]>();
  for (const { line = 1, path, message, remedy } of errors) {
    const place = Math.min(Math.max(line, 1), lines.length) - 1;
    const words = `error: ${path === '' ? '' : `${path}: `}${message}${remedy === undefined ? '' : `\n${remedy}`}`;
    above.set(place, [...(above.get(place) ?? []), ...words.split('\n').map(oneLine)]);
  }
  const count = errors.length === 1 ? '1 error,' : `${errors.length} errors, each`;
  const top = remarks([`${count} shown above the line it refers to. Nothing has been changed yet.`]);
  return (
    top + lines.flatMap((line, at) => [...(above.get(at) ?? []).map((words) => `${mark} ${words}`), line]).join('\n')
  );
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
  /** What the file holds now; '' when it is not there. */
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

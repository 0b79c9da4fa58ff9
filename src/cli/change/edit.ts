/**
 * `relet edit NODE`: what the node is assigned, in an editor; then the same way as every change.
 *
 *   read ─► editor ─► check ─► difference ─► yes? ─► change
 *             ▲         │
 *             └─ errors ┘  as comments; saved again unchanged, it ends
 */

import { CannotRun } from '../../cannot-run.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { nodeName } from '../select-nodes.js';
import { type Session, withSession } from '../session.js';
import { printError, terminalFor } from '../terminal/terminal.js';
import { makeChanges } from './change.js';
import { type ChangeVerbOptions, changeTo, errorsIn } from './change-to.js';
import { withErrors, withIntroduction, withoutRemarks } from './edit-text.js';
import { type EditedFile, openEditedFile } from './editor.js';
import { newText } from './preview.js';
import { type StartingPoint, startingPoint } from './starting-point.js';

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

/** Undefined when the person gave up. */
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
      throw new CannotRun(
        `the text still has the same errors; nothing was changed:\n${errors.map(({ path, message }) => `  ${path === '' ? '' : `${path}: `}${message}`).join('\n')}`,
      );
    before = text;
    shown = withErrors(text, errors);
  }
}

/** Asks before something is changed. Only a person at a terminal can answer; a script says --yes. */
import { createInterface, type Interface } from 'node:readline/promises';
import { CannotRun } from '../../cannot-run.js';
import { oneLine } from '../../visible-text.js';
import type { Session } from '../session.js';
import { isTerminal } from '../terminal/terminal.js';

/** Throws where nobody can be asked. */
export async function confirm(session: Session, question: string, yes: boolean | undefined): Promise<boolean> {
  if (yes === true) return true;
  if (process.stdin.isTTY !== true || session.terminal.width === undefined || !isTerminal())
    throw new CannotRun('cannot ask for confirmation without a terminal; nothing was changed, use --yes');
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  // In raw mode the terminal sends no SIGINT: readline hears the key and says so.
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

/** Ctrl-D, or a terminal that goes away. Some versions of Node then leave the question open, others reject it so. */
const closed = (lines: Interface): Promise<never> =>
  new Promise((_resolve, reject) =>
    lines.once('close', () => reject(Object.assign(new Error('the input ended'), { name: 'AbortError' }))),
  );

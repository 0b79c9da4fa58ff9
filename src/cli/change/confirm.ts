/** Asks before something is changed. Only a person at a terminal can answer; a script says --yes. */
import { createInterface } from 'node:readline/promises';
import { oneLine } from '../../visible-text.js';
import { CannotRun } from '../cannot-run.js';
import type { Session } from '../session.js';
import { isTerminal } from '../write-out.js';

/** Throws where nobody can be asked. */
export async function confirm(session: Session, question: string, yes: boolean | undefined): Promise<boolean> {
  if (yes === true) return true;
  if (process.stdin.isTTY !== true || !isTerminal())
    throw new CannotRun('there is no terminal to ask on, so nothing was changed; say --yes to go on without asking');
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  // In raw mode the terminal sends no SIGINT: readline hears the key and says so.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    const answer = await lines.question(`${oneLine(question)} [y/N] `, { signal: session.signal });
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    session.terminal.print('');
    session.signal.throwIfAborted();
    throw error;
  } finally {
    lines.close();
  }
}

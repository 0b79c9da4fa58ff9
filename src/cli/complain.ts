/** Handles the error of a verb: prints it on standard error, and returns the exit code. */
import { oneLine } from '../visible-text.js';
import { whyUnreadable } from './read-file.js';
import { printError } from './terminal/terminal.js';

/** Errors are known by their name, not their class: each bundle has a copy of its own. */
export function complain(error: unknown): number {
  if (!(error instanceof Error)) return report(error);
  // commander has printed its message already; its exit code is 0 after --help.
  if (isOfCommander(error)) return error.exitCode === 0 ? 0 : 2;
  if (error.name === 'CannotRun') printError(`relet: ${error.message}`);
  else if (error.name === 'Interrupted') {
    printError(`relet: ${error.message}`);
    // The session has set the exit code of its signal.
    return Number(process.exitCode ?? 130);
  } else if (isOfSystem(error)) printError(`relet: ${systemError(error)}`);
  else return report(error);
  return 2;
}

/** By its code: a bundler renames the class, and with it the error. */
const isOfCommander = (error: Error): error is Error & { exitCode: number } =>
  String((error as { code?: unknown }).code).startsWith('commander.');

function report(error: unknown): number {
  printError(
    `relet: this is a bug in relet, please report it with these lines\n${error instanceof Error ? error.stack : error}`,
  );
  return 2;
}

/** An error of the operating system, such as a full disk, a missing permission, too many open files. Not a bug of relet. */
const isOfSystem = (error: Error): error is NodeJS.ErrnoException =>
  typeof (error as NodeJS.ErrnoException).syscall === 'string' &&
  /^E[A-Z0-9]+$/.test((error as NodeJS.ErrnoException).code ?? '');

function systemError(error: NodeJS.ErrnoException): string {
  const what = error.path === undefined ? error.syscall : `${error.syscall} ${oneLine(error.path)}`;
  return `cannot ${what}: ${whyUnreadable(error)}`;
}

/** CannotRun: the error of a verb that cannot run. Its message has the reason and the remedy, and the exit code is 2. */

/** Recognized by its name, not its class: each bundle has its own copy. */
export class CannotRun extends Error {
  override readonly name = 'CannotRun';
}

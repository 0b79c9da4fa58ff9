/** The error of a verb that could not do what was asked: it says what, and what to do about it. The exit code is 2. */

/** Known by its name, not its class: each bundle has a copy of its own. */
export class CannotRun extends Error {
  override readonly name = 'CannotRun';
}

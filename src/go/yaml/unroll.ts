/**
 * Recursion on a stack of its own. Go reads documents that are 10,000 levels deep; a function that calls itself for every level would
 * overflow the engine's stack long before.
 */

/** The work on one level: it yields each part that it needs of the level below, and receives the result. */
export type Level<Part, Result> = Generator<Part, Result, Result>;

/** `begin` returns a part that is complete at once, or the work on a level. */
export function unroll<Part, Result extends { kind: string }>(
  root: Part,
  begin: (part: Part) => Result | Level<Part, Result>,
): Result {
  const open: Level<Part, Result>[] = [];
  let step: IteratorResult<Part, Result> = { done: false, value: root };
  for (;;) {
    let result: Result;
    if (step.done) {
      open.pop();
      result = step.value;
    } else {
      const begun = begin(step.value);
      if (!('kind' in begun)) {
        open.push(begun);
        step = begun.next();
        continue;
      }
      result = begun;
    }
    const above = open[open.length - 1];
    if (above === undefined) return result;
    step = above.next(result);
  }
}

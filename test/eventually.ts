/** The one way in which tests wait: ask again until it is so. Nothing else in a test sleeps (test/source-rules.test.ts). */

interface Options {
  /** Returns the last state, for the error. */
  seen?: () => unknown;
  /** Why it will never be so, such as a process that has exited: fails at once. */
  hopeless?: () => string | undefined | false;
  /** Calls back at every change, so that a state of an instant is seen too; returns how to stop that. */
  changes?: (changed: () => void) => () => void;
  /** Default 90 s: longer only for an emulated machine. */
  limitMs?: number;
}

/** Long enough for a busy machine, and shorter than a test's own limit, which could not say what was missing. */
export const limitMs = 90_000;
/** Shortest pause between two attempts. After an attempt that took longer, as one that starts a process, the pause is as long, at most a second. */
const everyMs = 20;

/** Resolves with the first answer that is not false. An error (a failed expect) counts as false; the last one is reported. */
export async function eventually<T>(
  what: string,
  ask: () => T | false | Promise<T | false>,
  { seen, hopeless, changes, limitMs: longest = limitMs }: Options = {},
): Promise<T> {
  const answers: T[] = [];
  let lastError: unknown;
  let wake = () => {};
  const keep = (answer: T | false) => {
    if (answer === false) return;
    answers.push(answer);
    wake();
  };
  const fail = (error: unknown) => {
    lastError = error;
  };
  const attempt = () => {
    try {
      const answer = ask();
      if (answer instanceof Promise) return answer.then(keep, fail);
      keep(answer);
    } catch (error) {
      fail(error);
    }
  };
  const failure = (why: string) =>
    new Error([why, ...(lastError ? [`last error: ${lastError}`] : []), ...(seen ? [text(seen())] : [])].join('\n'), {
      cause: lastError,
    });

  const stop = changes?.(() => answers.length === 0 && void attempt());
  try {
    for (const end = Date.now() + longest; ; ) {
      const askedMs = Date.now();
      await attempt();
      if (answers.length > 0) return answers[0]!;
      const why = hopeless?.();
      if (why) throw failure(`will never come true: ${what}: ${why}`);
      if (Date.now() > end) throw failure(`never came true: ${what}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(1000, Math.max(everyMs, Date.now() - askedMs)));
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      if (answers.length > 0) return answers[0]!;
    }
  } finally {
    stop?.();
  }
}

const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value, null, 1));

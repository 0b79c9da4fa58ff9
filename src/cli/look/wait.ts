/** `relet wait NODE... --for=…`: for scripts. 0 all reached it, 1 one never will as it is, 3 out of time. */
import type { ConfiguredNode } from '../../kube/config-reference.js';
import { CannotRun } from '../cannot-run.js';
import { type Goal, reaches } from '../change/change-progress.js';
import { withState } from '../change/change-words.js';
import type { ConnectionOptions } from '../connection-flags.js';
import { checkSelector, nodeName } from '../select-nodes.js';
import { type Session, withSession } from '../session.js';
import { stateText } from './node-row.js';

export interface WaitOptions extends ConnectionOptions {
  for: Goal;
  timeout: number;
  selector?: string;
  all?: boolean;
}

export const wait = (words: string[], options: WaitOptions): Promise<void> => {
  const names = words.map(nodeName);
  const ways = [names.length > 0, options.selector !== undefined, options.all === true].filter(Boolean).length;
  if (ways !== 1) throw new CannotRun('name the nodes to wait for, or choose them with --selector or --all');
  if (options.selector !== undefined) checkSelector(options.selector);
  return withSession(options, (session) => waitFor(session, [...new Set(names)], options));
};

async function waitFor(session: Session, names: string[], options: WaitOptions): Promise<void> {
  const { references, signal, terminal } = session;
  const done = new AbortController();
  const waiting = new Map<string, ConfiguredNode>();
  let isLate = false;
  let hasLooked = false;
  // However short the time is, there is one look; `--timeout=0` is only that.
  const giveUp = () => {
    isLate = true;
    if (hasLooked) done.abort('timeout');
  };
  const timer = setTimeout(giveUp, options.timeout);
  const onInterrupt = () => done.abort('interrupted');
  signal.addEventListener('abort', onInterrupt, { once: true });
  const seen = new Set<string>();
  const look = (node: ConfiguredNode) => {
    if (names.length > 0 && !names.includes(node.name)) return;
    const answer = reaches(node, options.for);
    if (answer === 'not yet') waiting.set(node.name, node);
    else if (!seen.has(node.name) || waiting.has(node.name)) {
      waiting.delete(node.name);
      if (answer === 'yes') terminal.print(`node/${node.name} condition met`);
    }
    seen.add(node.name);
    if (answer === 'never') done.abort(node);
  };
  let failure: unknown;
  try {
    const [only] = names;
    await references.follow({
      signal: done.signal,
      ...(names.length === 1 && only !== undefined && { name: only }),
      ...(options.selector !== undefined && { labelSelector: options.selector }),
      onList(present) {
        const missing = names.filter((name) => !present.some((node) => node.name === name));
        if (missing.length > 0 || present.length === 0) {
          const what =
            missing.length > 0 ? `node ${missing.map((name) => `'${name}'`).join(', ')}` : 'node that matches';
          failure = new CannotRun(`there is no ${what}; 'relet get' lists them`);
          return done.abort('missing');
        }
        for (const node of present) look(node);
        hasLooked = true;
        if (waiting.size === 0) done.abort('reached');
        else if (isLate) giveUp();
      },
      onChange(node, gone) {
        if (gone) return;
        look(node);
        if (waiting.size === 0) done.abort('reached');
      },
      onFailure(error) {
        failure = error;
        // A server that refuses will go on refusing; one that is away may come back.
        if (isLate || (error instanceof Error && error.name === 'ApiError')) done.abort('failed');
      },
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onInterrupt);
  }
  conclude(done.signal.reason as string | ConfiguredNode, [...waiting.values()], options, failure);
}

function conclude(
  reason: string | ConfiguredNode,
  waiting: ConfiguredNode[],
  { for: goal, timeout }: WaitOptions,
  failure: unknown,
): void {
  if (reason === 'reached' || reason === 'interrupted') return;
  if (typeof reason !== 'string') {
    process.exitCode = 1;
    process.stderr.write(
      `relet: ${reason.name} will not reach '${goal}': ${withState(stateText(reason, Date.now()), reason.status.error ?? '')}; 'relet describe ${reason.name}' tells more\n`,
    );
    return;
  }
  if (reason !== 'timeout') throw failure;
  process.exitCode = 3;
  const states = waiting.slice(0, 10).map((node) => `${node.name} (${stateText(node, Date.now())})`);
  const more = waiting.length > 10 ? ` and ${waiting.length - 10} more` : '';
  process.stderr.write(`relet: not '${goal}' after ${timeout / 1000} s: ${states.join(', ')}${more}\n`);
}

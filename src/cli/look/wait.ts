/** `relet wait NODE... --for=…`: for scripts. 0 all reached it, 1 one never will as it is, 3 out of time. */

import { CannotRun } from '../../cannot-run.js';
import { type Goal, reaches } from '../../fleet/change-progress.js';
import { configState } from '../../fleet/config-state.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import type { ConnectionOptions } from '../connection-flags.js';
import { checkSelector, nodeName } from '../select-nodes.js';
import { type Session, withSession } from '../session.js';
import { heldText, releaseHint, stateText, withState } from '../state-text.js';
import { printError, terminalFor } from '../terminal/terminal.js';

export interface WaitOptions extends ConnectionOptions {
  for: Goal;
  timeout: number;
  selector?: string;
  all?: boolean;
  /** The result goes to standard output for a program. */
  output?: 'json';
}

export const wait = (words: string[], options: WaitOptions): Promise<void> => {
  const names = words.map(nodeName);
  const ways = [names.length > 0, options.selector !== undefined, options.all === true].filter(Boolean).length;
  if (ways !== 1) throw new CannotRun('name the nodes to wait for, or choose them with --selector or --all');
  if (options.selector !== undefined) checkSelector(options.selector);
  return withSession(options, (session) => waitFor(session, [...new Set(names)], options), terminalFor(options));
};

/** Why the wait is over; a node is one that never will reach it. */
type End = 'reached' | 'timeout' | 'interrupted' | 'missing' | 'failed' | ConfiguredNode;

async function waitFor(session: Session, names: string[], options: WaitOptions): Promise<void> {
  const { references, signal } = session;
  const lookout = new Lookout(session, names, options);
  const timer = setTimeout(() => lookout.giveUp(), options.timeout);
  const onInterrupt = () => lookout.end('interrupted');
  signal.addEventListener('abort', onInterrupt, { once: true });
  try {
    await references.watch({
      signal: lookout.signal,
      ...(names.length === 1 && { name: names[0]! }),
      ...(options.selector !== undefined && { labelSelector: options.selector }),
      onList: (present) => lookout.first(present),
      onChange: (node, gone) => gone || lookout.next(node),
      onFailure: (error) => lookout.fail(error),
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onInterrupt);
  }
  if (options.output === 'json') session.terminal.printDocument(JSON.stringify(lookout.result(), null, 2));
  conclude(lookout.signal.reason as End, lookout, options);
}

/** Who has not reached the goal yet, and whether there is anything left to wait for. */
class Lookout {
  readonly waiting = new Map<string, ConfiguredNode>();
  failure: unknown;
  readonly #seen = new Map<string, ConfiguredNode>();
  readonly #reached = new Set<string>();
  readonly #over = new AbortController();
  #isLate = false;
  #hasLooked = false;

  constructor(
    readonly session: Session,
    readonly names: string[],
    readonly options: WaitOptions,
  ) {}

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  end(why: End): void {
    this.#over.abort(why);
  }

  /** However short the time is, there is one look; `--timeout=0` is only that. */
  giveUp(): void {
    this.#isLate = true;
    if (this.#hasLooked) this.end('timeout');
  }

  first(present: ConfiguredNode[]): void {
    const missing = this.names.filter((name) => !present.some((node) => node.name === name));
    if (missing.length > 0 || present.length === 0) {
      const what = missing.length > 0 ? `node ${missing.map((name) => `'${name}'`).join(', ')}` : 'node that matches';
      this.failure = new CannotRun(`there is no ${what}; 'relet get' lists them`);
      this.end('missing');
      return;
    }
    // All of them wait, until each was looked at.
    for (const node of present) if (this.#isMeant(node)) this.waiting.set(node.name, node);
    for (const node of present) this.next(node);
    this.#hasLooked = true;
    if (this.#isLate) this.giveUp();
  }

  next(node: ConfiguredNode): void {
    if (!this.#isMeant(node)) return;
    this.#seen.set(node.name, node);
    const answer = reaches(node, this.options.for);
    if (answer === 'never') this.end(node);
    else if (answer === 'not yet') {
      this.waiting.set(node.name, node);
      this.#reached.delete(node.name);
    } else this.#reach(node.name);
  }

  /** docs/cli.md describes it. */
  result(): object {
    const nodes = [...this.#seen.values()].map((node) => ({
      node: node.name,
      state: configState(node),
      reached: this.#reached.has(node.name),
      ...(node.status.error !== undefined && { message: whyNever(node) }),
    }));
    return { apiVersion: 'cli.relet.dev/v1', kind: 'WaitResult', for: this.options.for, nodes };
  }

  #reach(name: string): void {
    this.waiting.delete(name);
    if (!this.#reached.has(name)) this.session.terminal.print(`node/${name} condition met`);
    this.#reached.add(name);
    if (this.waiting.size === 0) this.end('reached');
  }

  #isMeant({ name }: ConfiguredNode): boolean {
    return this.names.length === 0 || this.names.includes(name);
  }

  /** A server that refuses will go on refusing; one that is away may come back. */
  fail(error: unknown): void {
    this.failure = error;
    if (this.#isLate || (error instanceof Error && error.name === 'ApiError')) this.end('failed');
  }
}

function conclude(reason: End, { waiting, failure }: Lookout, { for: goal, timeout }: WaitOptions): void {
  if (reason === 'reached' || reason === 'interrupted') return;
  if (typeof reason !== 'string') {
    process.exitCode = 1;
    printError(
      `relet: ${reason.name} will not reach '${goal}': ${whyNever(reason)}; see 'relet describe ${reason.name}'`,
    );
    return;
  }
  if (reason !== 'timeout') throw failure;
  process.exitCode = 3;
  const states = [...waiting.values()].slice(0, 10).map((node) => `${node.name} (${stateText(node, Date.now())})`);
  const more = waiting.size > 10 ? ` and ${waiting.size - 10} more` : '';
  printError(`relet: not '${goal}' after ${timeout / 1000} s: ${states.join(', ')}${more}`);
}

function whyNever({ held, cause, status, ...node }: ConfiguredNode): string {
  const { error } = status;
  if (held !== undefined && error === undefined) return `${heldText(held)}; ${releaseHint}`;
  const state = configState({ ...node, status });
  return `${withState(state, error ?? '')}${cause === undefined ? '' : ` (${cause})`}`;
}

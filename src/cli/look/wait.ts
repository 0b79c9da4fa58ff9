/** `relet wait NODE... --for=…`, for scripts. Exit code 0: all nodes reached the goal; 1: a node will not reach it; 3: timed out. */
import { CannotRun } from '../../cannot-run.js';
import { type Goal, reaches } from '../../fleet/change-progress.js';
import { type ConfiguredNode, configState } from '../../fleet/configured-node.js';
import { failureText, heldText, nodeState, releaseHint, stateText } from '../../fleet/state-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { followServer } from '../follow-server.js';
import { checkSelector, nodeName, type Session, withResultSession } from '../session.js';
import { type Progress, printError, showProgress } from '../terminal/terminal.js';

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
  return withResultSession(options, (session) => waitFor(session, [...new Set(names)], options));
};

/** Why the wait is over; an object is about a node that will not reach the goal. */
type End = 'reached' | 'timeout' | 'interrupted' | 'missing' | 'failed' | { name: string; why: string };

async function waitFor({ client, references, signal, terminal }: Session, names: string[], options: WaitOptions) {
  // Scripts get one line for each node that reached the goal, and no others.
  const progress = showProgress(terminal, () => performance.now(), { isQuietInPipe: true });
  const waiting = new Waiting(progress, names, options);
  const timer = setTimeout(() => waiting.timeOut(), options.timeout);
  const onInterrupt = () => waiting.end('interrupted');
  signal.addEventListener('abort', onInterrupt, { once: true });
  const onFailure = followServer({ client, signal: waiting.signal, show: (line) => progress.note(line) });
  try {
    await references.watch({
      signal: waiting.signal,
      ...(names.length === 1 && { name: names[0]! }),
      ...(options.selector !== undefined && { labelSelector: options.selector }),
      onList: (present) => waiting.start(present),
      onChange: (node, gone) => (gone ? waiting.drop(node) : waiting.check(node)),
      onFailure(error) {
        waiting.fail(error);
        if (!waiting.signal.aborted) onFailure(error);
      },
    });
  } finally {
    clearTimeout(timer);
    progress.close();
    signal.removeEventListener('abort', onInterrupt);
  }
  if (options.output === 'json') terminal.printDocument(JSON.stringify(waiting.result(), null, 2));
  conclude(waiting.signal.reason as End, waiting, options);
}

/** Which nodes have not reached the goal yet, and whether there is anything left to wait for. */
class Waiting {
  readonly left = new Map<string, ConfiguredNode>();
  failure: unknown;
  readonly #seen = new Map<string, ConfiguredNode>();
  readonly #reached = new Set<string>();
  readonly #over = new AbortController();
  #isLate = false;
  #hasStarted = false;

  constructor(
    readonly progress: Progress,
    readonly names: string[],
    readonly options: WaitOptions,
  ) {}

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  end(why: End): void {
    this.#over.abort(why);
  }

  /** However short the time is, every node is checked once; with `--timeout=0` only once. */
  timeOut(): void {
    this.#isLate = true;
    if (this.#hasStarted) this.end('timeout');
  }

  /** Again whenever a new list was needed. */
  start(present: ConfiguredNode[]): void {
    const names = new Set(present.map(({ name }) => name));
    const missing = this.names.filter((name) => !names.has(name));
    if (!this.#hasStarted && (missing.length > 0 || present.length === 0)) {
      this.#miss(missing);
      return;
    }
    // All are waited for before the first is checked: otherwise one that has reached the goal would end the wait.
    for (const node of present) if (this.#isWanted(node)) this.left.set(node.name, node);
    for (const node of this.#seen.values()) if (!names.has(node.name)) this.drop(node);
    for (const node of present) this.check(node);
    this.#hasStarted = true;
    if (this.#isLate) this.timeOut();
  }

  check(node: ConfiguredNode): void {
    if (!this.#isWanted(node) || this.signal.aborted) return;
    this.#seen.set(node.name, node);
    const answer = reaches(node, this.options.for, Date.now());
    if (answer === 'never') this.end({ name: node.name, why: `${whyNever(node)}; see 'relet describe ${node.name}'` });
    else if (answer === 'not yet') {
      this.left.set(node.name, node);
      this.#reached.delete(node.name);
      this.progress.at(node.name, `${stateText(node, { nowMs: Date.now() })}, waiting for ${this.options.for}`);
    } else this.#reach(node.name);
  }

  /** The node was deleted or lost its labels. A node that was named can no longer reach the goal; others are no longer waited for. */
  drop(node: ConfiguredNode): void {
    const { name } = node;
    if (!this.#isWanted(node) || this.signal.aborted) return;
    if (this.names.length > 0) {
      this.end({ name, why: 'the Node was deleted meanwhile' });
      return;
    }
    this.left.delete(name);
    this.#seen.delete(name);
    this.progress.end(name, 'gone, no longer waited for');
    if (this.left.size > 0) return;
    if (this.#seen.size === 0) this.#miss();
    else this.end('reached');
  }

  /** docs/cli.md describes it. */
  result(): object {
    const nodes = [...this.#seen.values()].map((node) => ({
      node: node.name,
      state: nodeState(node, { nowMs: Date.now() }),
      reached: this.#reached.has(node.name),
      ...(node.status.error !== undefined && { message: whyNever(node) }),
    }));
    return { apiVersion: 'cli.relet.dev/v1', kind: 'WaitResult', for: this.options.for, nodes };
  }

  #reach(name: string): void {
    this.left.delete(name);
    if (!this.#reached.has(name)) this.progress.endWith(name, `node/${name} condition met`);
    this.#reached.add(name);
    if (this.left.size === 0) this.end('reached');
  }

  #miss(names: string[] = []): void {
    const what = names.length > 0 ? `node ${names.map((name) => `'${name}'`).join(', ')}` : 'node that matches';
    this.failure = new CannotRun(`there is no ${what}; 'relet get' lists them`);
    this.end('missing');
  }

  #isWanted({ name }: ConfiguredNode): boolean {
    return this.names.length === 0 || this.names.includes(name);
  }

  /** A server that answers with an error will do so again; one that is away may come back. */
  fail(error: unknown): void {
    this.failure = error;
    if (this.#isLate || (error instanceof Error && error.name === 'ApiError')) this.end('failed');
  }
}

function conclude(reason: End, { left, failure }: Waiting, { for: goal, timeout }: WaitOptions): void {
  if (reason === 'reached' || reason === 'interrupted') return;
  if (typeof reason !== 'string') {
    process.exitCode = 1;
    printError(`relet: ${reason.name} will not reach '${goal}': ${reason.why}`);
    return;
  }
  if (reason !== 'timeout') throw failure;
  process.exitCode = 3;
  const states = [...left.values()]
    .slice(0, 10)
    .map((node) => `${node.name} (${stateText(node, { nowMs: Date.now() })})`);
  const more = left.size > 10 ? ` and ${left.size - 10} more` : '';
  printError(`relet: not '${goal}' after ${timeout / 1000} s: ${states.join(', ')}${more}`);
}

function whyNever(node: ConfiguredNode): string {
  const { held, cause, status } = node;
  if (status.error === undefined) return held === undefined ? configState(node) : `${heldText(held)}; ${releaseHint}`;
  return `${failureText(configState(node), node)}${cause === undefined ? '' : ` (${cause})`}`;
}

/**
 * `relet rollout status [SET]`: shows the state of a rollout; with -w until its end. It ends only when the controller has seen the
 * newest spec and the rollout is complete or has stopped. Exit code 0: complete; 1: stopped; 3: neither yet, or not in time.
 */
import { type NodeConfig, nodeConfigs } from '../../api/node-config.js';
import { type NodeConfigSet, type NodeConfigSetStatus, nodeConfigSets } from '../../api/node-config-set.js';
import { ApiError } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { watchLoop } from '../../kube/watch.js';
import { assess } from '../../rollout/assessment.js';
import { leftMs } from '../../rollout/estimate.js';
import type { ConnectionOptions } from '../command-line.js';
import { followServer } from '../follow-server.js';
import { type Session, withResultSession } from '../session.js';
import { type Column, tableLines, writeResult } from '../terminal/output.js';
import { clearUp, isTerminal, printError, rowsOf, terminalFor, wrapLines, writeOut } from '../terminal/terminal.js';
import { listSets, readSet, setName } from './read-set.js';
import { resourceName, type ShownOutput } from './result.js';
import { headline, statusLine, statusText } from './status-text.js';

export interface StatusOptions extends ConnectionOptions {
  watch?: boolean;
  /** Milliseconds; only with watch. */
  timeout?: number;
  output?: ShownOutput;
}

export const status = (word: string | undefined, options: StatusOptions): Promise<void> => {
  if (word === undefined && options.watch) throw new CannotRun('--watch follows one set; name it');
  if (options.timeout !== undefined && !options.watch) throw new CannotRun('--timeout goes with --watch');
  return withResultSession(options, async (session) => {
    if (word === undefined) return showAll(session, options);
    const name = setName(word);
    const set = await readSet(session, name);
    if (options.watch) return follow(session, set, options);
    await show(session, set, options);
    process.exitCode = exitCodeOf(set);
  });
};

export function exitCodeOf(set: NodeConfigSet): 0 | 1 | 3 {
  const { kind } = assess(set);
  return kind === 'complete' ? 0 : kind === 'stopped' ? 1 : 3;
}

async function show(session: Session, set: NodeConfigSet, { output }: StatusOptions): Promise<void> {
  const { terminal } = session;
  const trialMs = await readTrial(session, set);
  const nowMs = Date.now();
  if (output !== undefined && output !== 'wide')
    terminal.printDocument(
      writeResult(output, statusObject(set, { nowMs, trialMs }), [resourceName(set.metadata.name)]),
    );
  else terminal.print(statusText(set, { terminal, nowMs, trialMs }));
}

/** docs/cli.md describes it. */
export function statusObject(set: NodeConfigSet, known: { nowMs: number; trialMs?: number | undefined }): object {
  const { kind, ...why } = assess(set);
  const left = kind === 'progressing' ? leftMs(set, known) : undefined;
  return {
    apiVersion: 'cli.relet.dev/v1',
    kind: 'RolloutStatus',
    set: set.metadata.name,
    assessment: kind,
    ...why,
    ...(left !== undefined && { secondsLeft: Math.round(left / 1000) }),
    status: set.status ?? {},
  };
}

/** How long the trial of one node takes, as it reports it; undefined if that is not known, or not needed. */
async function readTrial({ client, signal }: Session, { status = {} }: NodeConfigSet): Promise<number | undefined> {
  const [name] = status.inTrial?.nodes ?? [];
  if (name === undefined || status.waves?.[0]?.endedAt !== undefined) return undefined;
  try {
    const { status: node } = await client.get<NodeConfig>(nodeConfigs, { name }, { signal });
    const { trial, trialSeconds } = node ?? {};
    if (trialSeconds !== undefined) return trialSeconds * 1000;
    const [change] = node?.changes ?? [];
    const ms = Date.parse(trial?.endsAt ?? '') - Date.parse(change?.at ?? '');
    return ms > 0 ? ms : undefined;
  } catch (error) {
    // An estimate less; the node may be gone, or not readable for this person.
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

interface SetRow {
  name: string;
  nodes: string;
  wave: string;
  state: string;
  status: NodeConfigSetStatus;
  message: string;
}

const setColumns: Column<SetRow>[] = [
  { title: 'SET', cell: ({ name }) => name, gives: 'middle' },
  { title: 'NODES', cell: ({ nodes }) => nodes },
  { title: 'WAVE', cell: ({ wave }) => wave },
  { title: 'STATE', cell: ({ state }) => state, gives: 'end' },
];

const wideColumns: Column<SetRow>[] = [
  { title: 'REVISION', cell: ({ status }) => status.updateRevision ?? '' },
  { title: 'IN-TRIAL', cell: ({ status }) => String(status.inTrialNodes ?? 0) },
  { title: 'FAILED', cell: ({ status }) => String(status.failedNodes ?? 0) },
  { title: 'EXCLUDED', cell: ({ status }) => String(status.excludedNodes ?? 0) },
  { title: 'MESSAGE', cell: ({ message }) => message },
];

async function showAll(session: Session, { output }: StatusOptions): Promise<void> {
  const { terminal } = session;
  const sets = await listSets(session);
  const nowMs = Date.now();
  if (output !== undefined && output !== 'wide') {
    const names = sets.map(({ metadata }) => resourceName(metadata.name));
    return terminal.printDocument(
      writeResult(
        output,
        sets.map((set) => statusObject(set, { nowMs })),
        names,
      ),
    );
  }
  if (sets.length === 0) return terminal.print("There are no sets; 'relet set --as-set NAME' writes one.");
  const columns = output === 'wide' ? [...setColumns, ...wideColumns] : setColumns;
  terminal.print(tableLines(columns, sets.map(setRow), terminal.width).join('\n'));
}

function setRow(set: NodeConfigSet): SetRow {
  const { status = {}, metadata } = set;
  const assessment = assess(set);
  const state = headline(assessment);
  const message = 'message' in assessment ? assessment.message : '';
  const count = `${status.updatedNodes ?? 0}/${status.selectedNodes ?? 0}`;
  return { name: metadata.name, nodes: count, wave: status.waveText ?? '', state, status, message };
}

/** Why the watch is over. */
type End = 'ended' | 'timeout' | 'deleted' | 'interrupted';

/** On a terminal the page is drawn again in place; in a pipe a line is printed whenever it changes. */
async function follow(session: Session, first: NodeConfigSet, options: StatusOptions): Promise<void> {
  const { client, terminal, signal } = session;
  const { name } = first.metadata;
  const over = new AbortController();
  const page =
    (options.output ?? 'wide') === 'wide' && terminal.width !== undefined && isTerminal()
      ? livePage(session, options)
      : undefined;
  let [last, line] = [first, ''];
  const update = (set: NodeConfigSet) => {
    last = set;
    page?.draw(set);
    if (page === undefined && line !== statusLine(set)) {
      line = statusLine(set);
      terminal.print(line);
    }
    if (exitCodeOf(set) !== 3) over.abort('ended' satisfies End);
  };
  const timer =
    options.timeout === undefined ? undefined : setTimeout(() => over.abort('timeout' satisfies End), options.timeout);
  const onInterrupt = () => over.abort('interrupted' satisfies End);
  signal.addEventListener('abort', onInterrupt, { once: true });
  try {
    await watchLoop<NodeConfigSet>(client, {
      type: nodeConfigSets,
      name,
      signal: over.signal,
      onList: ([set]) => (set === undefined ? over.abort('deleted' satisfies End) : update(set)),
      onChange: (type, set) => (type === 'DELETED' ? over.abort('deleted' satisfies End) : update(set)),
      onFailure: followServer({ client, signal: over.signal, ...(page && { show: (line) => page.note(line) }) }),
    });
  } finally {
    clearTimeout(timer);
    page?.close();
    signal.removeEventListener('abort', onInterrupt);
  }
  if (options.output !== undefined && options.output !== 'wide') await show(session, last, options);
  conclude(over.signal.reason as End, last, options);
}

function conclude(end: End, set: NodeConfigSet, { timeout = 0 }: StatusOptions): void {
  const { name } = set.metadata;
  if (end === 'interrupted') return;
  if (end === 'deleted') throw new CannotRun(`the set ${name} was deleted`);
  process.exitCode = exitCodeOf(set);
  if (end === 'timeout') printError(`relet: not complete after ${timeout / 1000} s; it continues without this command`);
}

/** It shows times, so it is drawn each second; and at once when the terminal gets another size. */
function livePage(session: Session, options: StatusOptions) {
  let [set, trialMs]: [NodeConfigSet | undefined, number | undefined] = [undefined, undefined];
  let drawn: string[] = [];
  let note = '';
  const write = (most: number) => {
    if (set === undefined) return;
    const terminal = terminalFor(options);
    const text = statusText(set, { terminal, nowMs: Date.now(), trialMs });
    // Above the page, which may be longer than the screen.
    const lines = [...(note === '' ? [] : wrapLines(note, terminal.columns).split('\n')), ...text.split('\n')];
    const shown =
      lines.length <= most
        ? lines
        : [...lines.slice(0, most - 1), terminal.paint.dim(`… ${lines.length - most + 1} more lines`)];
    writeOut(`${clearUp(rowsOf(drawn, process.stdout.columns || 80))}${shown.join('\n')}\n`);
    drawn = shown;
  };
  // A cursor cannot go up to what has scrolled away.
  const draw = () => write(Math.max(1, (process.stdout.rows || 24) - 2));
  const timer = setInterval(draw, 1000);
  timer.unref();
  process.stdout.on('resize', draw);
  return {
    draw(next: NodeConfigSet) {
      set = next;
      draw();
      if (trialMs === undefined)
        void readTrial(session, next).then(
          (ms) => {
            trialMs ??= ms;
          },
          () => {},
        );
    },
    note(line: string) {
      note = line;
      draw();
    },
    /** The last page stays, whole. */
    close() {
      clearInterval(timer);
      process.stdout.off('resize', draw);
      note = '';
      write(Number.POSITIVE_INFINITY);
    },
  };
}

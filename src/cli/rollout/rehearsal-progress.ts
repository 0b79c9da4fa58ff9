/**
 * Prints the progress of a rehearsal on standard error: on a terminal the page of `rollout status` in place, in a pipe a line for each
 * significant change, for a program a line of JSON.
 */
import type { NodeConfigSet } from '../../api/node-config-set.js';
import type { RehearsalRow } from '../../rehearsal/spread.js';
import { assess } from '../../rollout/assessment.js';
import { clearUp, createPaint, isTerminal, printError, writeAside } from '../terminal/terminal.js';
import { lasting, stamp } from './rehearsal-text.js';
import { statusLine, statusText } from './status-text.js';

export interface RehearsalProgress {
  onStatus(set: NodeConfigSet, atMs: number): void;
  /** One of many rehearsals is over. */
  onRun(row: RehearsalRow, index: number, of: number): void;
  /** Nothing stays of what was drawn in place. */
  close(): void;
}

export function openProgress(how: 'json' | 'none' | undefined, startMs: number): RehearsalProgress {
  if (how === 'json') return jsonLines();
  if (how === 'none') return { onStatus() {}, onRun() {}, close() {} };
  return isTerminal(2) ? livePage(startMs, standardError()) : plainLines();
}

const runLine = ({ seed, outcome, reason, durationSeconds, failedNodes }: RehearsalRow, index: number, of: number) =>
  `${index}/${of}  seed ${seed}: ${outcome} (${reason}) after ${lasting(durationSeconds)}, ${failedNodes} failed`;

/** Changes of the wave, of what is waited for, of what failed, and each tenth of the nodes. */
function keyOf(set: NodeConfigSet): string {
  const { waveText, failedNodes, updatedNodes = 0, selectedNodes = 1 } = set.status ?? {};
  const assessment = assess(set);
  const reason = 'reason' in assessment && assessment.reason !== 'BudgetSpent' ? assessment.reason : 'RollingOut';
  const isOver = assessment.kind === 'stopped' || assessment.kind === 'complete';
  const tenth = isOver ? 0 : Math.floor((10 * updatedNodes) / Math.max(1, selectedNodes));
  return JSON.stringify([assessment.kind, reason, waveText, failedNodes, tenth]);
}

function plainLines(): RehearsalProgress {
  let last = '';
  return {
    onStatus(set, atMs) {
      const key = keyOf(set);
      if (key === last || assess(set).kind === 'unseen') return;
      last = key;
      printError(`${stamp(atMs / 1000)}  ${statusLine(set)}`);
    },
    onRun: (...run) => printError(runLine(...run)),
    close() {},
  };
}

/** docs/rehearsal.md describes it. */
function jsonLines(): RehearsalProgress {
  let last = '';
  const print = (value: object) => writeAside(`${JSON.stringify(value)}\n`);
  return {
    onStatus(set, atMs) {
      const { status = {}, metadata } = set;
      const { kind, ...why } = assess(set);
      const line = {
        set: metadata.name,
        assessment: kind,
        ...('reason' in why && { reason: why.reason }),
        wave: status.waveText ?? '',
        selected: status.selectedNodes ?? 0,
        updated: status.updatedNodes ?? 0,
        inTrial: status.inTrialNodes ?? 0,
        pending: status.pendingNodes ?? 0,
        failed: status.failedNodes ?? 0,
        excluded: status.excludedNodes ?? 0,
        waiting: status.waiting ?? '',
      };
      const text = JSON.stringify(line);
      if (text === last) return;
      last = text;
      print({ seconds: Math.round(atMs / 1000), ...line });
    },
    onRun: (row, run, of) => print({ run, of, ...row }),
    close() {},
  };
}

const drawEachMs = 100;

export interface Screen {
  columns: number;
  rows: number;
  isColoured: boolean;
  /** In milliseconds, from any moment on. */
  now(): number;
  write(text: string): void;
}

const standardError = (): Screen => ({
  columns: process.stderr.columns || 80,
  rows: process.stderr.rows || 24,
  isColoured: !process.env.NO_COLOR && process.env.TERM !== 'dumb',
  now: () => performance.now(),
  write: writeAside,
});

export function livePage(startMs: number, { rows, isColoured, now, write, ...screen }: Screen): RehearsalProgress {
  let [drawn, drawnAtMs] = [0, Number.NEGATIVE_INFINITY];
  const columns = Math.min(screen.columns, 100);
  const room = { columns, width: columns, paint: createPaint(isColoured) };
  const draw = (lines: string[]) => {
    const shown = lines.slice(0, Math.max(1, rows - 2));
    write(`${clearUp(drawn)}${shown.join('\n')}\n`);
    drawn = shown.length;
  };
  const isDue = () => {
    const nowMs = now();
    if (nowMs - drawnAtMs < drawEachMs) return false;
    drawnAtMs = nowMs;
    return true;
  };
  return {
    onStatus(set, atMs) {
      if (!isDue()) return;
      const page = statusText(set, { terminal: room, nowMs: startMs + atMs });
      draw([room.paint.bold(`Rehearsal, ${stamp(atMs / 1000)} after the start`), ...page.split('\n')]);
    },
    onRun: (...run) => draw([runLine(...run)]),
    close() {
      if (drawn > 0) write(clearUp(drawn));
      // Lines that are printed later are not ours to clear.
      drawn = 0;
    },
  };
}

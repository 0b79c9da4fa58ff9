/** Shows long work: on a terminal a line per node that changes in place, in a pipe a line whenever something happened. */
import { oneLine } from '../../visible-text.js';
import { clearUp, isTerminal, type Terminal, wrapLines, writeOut } from './terminal.js';

export interface Progress {
  /** What `name` does now. */
  at(name: string, text: string): void;
  /** How it ended for `name`; the line stays. */
  end(name: string, text: string): void;
  /** The same with a line of its own words. */
  endWith(name: string, line: string): void;
  /** Stops drawing. Called in any case. */
  close(): void;
}

export interface ProgressOptions {
  /** In a pipe, print only how it ended. */
  isQuietInPipe?: boolean;
}

export function showProgress(
  terminal: Terminal,
  now: () => number,
  { isQuietInPipe = false }: ProgressOptions = {},
): Progress {
  if (terminal.width === undefined || !isTerminal()) return plainLines(terminal, isQuietInPipe);
  return liveLines(terminal, { now, rows: () => process.stdout.rows || 24, write: writeOut });
}

function plainLines({ print }: Terminal, isQuiet: boolean): Progress {
  const last = new Map<string, string>();
  const printNew = (name: string, text: string) => {
    if (last.get(name) === text) return;
    last.set(name, text);
    print(`${name}: ${text}`);
  };
  return {
    at: isQuiet ? () => {} : printNew,
    end: printNew,
    endWith: (_name, line) => print(line),
    close() {},
  };
}

export interface Screen {
  now(): number;
  rows(): number;
  write(text: string): void;
}

/** The block of live lines is never taller than the screen: a cursor cannot go up to what has scrolled away. */
export function liveLines({ columns, paint }: Terminal, { now, rows, write }: Screen): Progress {
  const live = new Map<string, { text: string; sinceMs: number }>();
  let drawn = 0;
  const draw = (settled = '') => {
    const all = [...live].map(([name, { text, sinceMs }]) => {
      const seconds = Math.floor((now() - sinceMs) / 1000);
      return clip(oneLine(`${name}: ${text}`), columns - 7) + paint.dim(seconds > 0 ? ` ${seconds}s` : '');
    });
    // One row for the cursor below the block, one for the count of those left out.
    const most = Math.max(1, rows() - 2);
    const lines =
      all.length <= most ? all : [...all.slice(0, most - 1), paint.dim(`… and ${all.length - most + 1} more`)];
    write(`${clearUp(drawn)}${settled}${lines.map((line) => `${line}\n`).join('')}`);
    drawn = lines.length;
  };
  const timer = setInterval(() => draw(), 1000);
  timer.unref();
  return {
    at(name, text) {
      if (live.get(name)?.text === text) return;
      live.set(name, { text, sinceMs: live.get(name)?.sinceMs ?? now() });
      draw();
    },
    end(name, text) {
      this.endWith(name, `${oneLine(name)}: ${text}`);
    },
    endWith(name, line) {
      live.delete(name);
      draw(`${wrapLines(line, columns)}\n`);
    },
    close() {
      clearInterval(timer);
    },
  };
}

const clip = (text: string, width: number): string => (text.length <= width ? text : `${text.slice(0, width - 1)}…`);

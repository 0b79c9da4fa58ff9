/** Shows long work: on a terminal a line per node that changes in place, in a pipe a line whenever something happened. */
import type { Terminal } from './terminal.js';
import { wrapLines } from './wrap.js';
import { isTerminal, writeOut } from './write-out.js';

export interface Progress {
  /** What `name` does now. */
  at(name: string, text: string): void;
  /** How it ended for `name`; the line stays. */
  end(name: string, text: string): void;
  /** Stops drawing. Called in any case. */
  close(): void;
}

export function showProgress(terminal: Terminal, now: () => number): Progress {
  return isTerminal() ? liveLines(terminal, now) : plainLines(terminal);
}

function plainLines({ print }: Terminal): Progress {
  const last = new Map<string, string>();
  const say = (name: string, text: string) => {
    if (last.get(name) === text) return;
    last.set(name, text);
    print(`${name}: ${text}`);
  };
  return { at: say, end: say, close() {} };
}

function liveLines({ columns, paint }: Terminal, now: () => number): Progress {
  const live = new Map<string, { text: string; sinceMs: number }>();
  let drawn = 0;
  const up = () => (drawn === 0 ? '' : `\x1b[${drawn}A\x1b[J`);
  const draw = (settled = '') => {
    const lines = [...live].map(([name, { text, sinceMs }]) => {
      const seconds = Math.floor((now() - sinceMs) / 1000);
      return clip(`${name}: ${text}`, columns - 7) + paint.dim(seconds > 0 ? ` ${seconds}s` : '');
    });
    const text = `${up()}${settled}${lines.map((line) => `${line}\n`).join('')}`;
    drawn = lines.length;
    writeOut(text);
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
      live.delete(name);
      draw(`${wrapLines(`${name}: ${text}`, columns)}\n`);
    },
    close() {
      clearInterval(timer);
    },
  };
}

const clip = (text: string, width: number): string => (text.length <= width ? text : `${text.slice(0, width - 1)}…`);

/** What a verb prints to: width and colours of the terminal, if it is one, and text broken to fit. */
import { createPaint, type Paint } from './own-control.js';
import { isTerminal, passedColumns, printError, writeDocument, writeOut } from './write-out.js';

export type { Paint };

export interface Terminal {
  /** What text is broken to. */
  columns: number;
  /** The whole width; undefined when nobody looks. */
  width: number | undefined;
  paint: Paint;
  print(text: string): void;
  /** A document of somebody's, such as a config: to a file or a pipe it goes as it is. */
  printDocument(text: string): void;
}

/** Colours only on a terminal, and not where NO_COLOR is set to anything. Lines no longer than 100, 80 when piped. */
export function openTerminal(): Terminal {
  const { env } = process;
  const seen = isTerminal();
  const width = seen ? process.stdout.columns || 80 : passedColumns();
  return {
    width,
    columns: Math.min(Math.max(width ?? 80, 40), 100),
    paint: createPaint(seen && !env.NO_COLOR && env.TERM !== 'dumb'),
    print: (text) => writeOut(ended(text)),
    printDocument: (text) => (seen ? writeOut(ended(text.replaceAll('\r\n', '\n'))) : writeDocument(ended(text))),
  };
}

/** For a verb whose result is read by a program: the result is the document on standard output, all else goes to standard error. */
export function openResultTerminal(): Terminal {
  return {
    width: undefined,
    columns: 80,
    paint: createPaint(false),
    print: (text) => printError(text.replace(/\n$/, '')),
    printDocument: (text) => writeDocument(ended(text)),
  };
}

const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

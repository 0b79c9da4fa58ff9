/** What a verb prints to: width and colours of the terminal, if it is one, and text broken to fit. */
import { createColors } from 'picocolors';
import { isTerminal, writeOut } from './write-out.js';

export type Paint = ReturnType<typeof createColors>;

export interface Terminal {
  /** What text is broken to. */
  columns: number;
  /** The whole width; undefined when nobody looks. */
  width: number | undefined;
  paint: Paint;
  print(text: string): void;
}

/** Colours only on a terminal, and not where NO_COLOR is set to anything. Lines no longer than 100, 80 when piped. */
export function openTerminal(): Terminal {
  const { env } = process;
  const seen = isTerminal();
  return {
    width: seen ? process.stdout.columns || 80 : undefined,
    columns: seen ? Math.min(Math.max(process.stdout.columns || 80, 40), 100) : 80,
    paint: createColors(seen && !env.NO_COLOR && env.TERM !== 'dumb'),
    print: (text) => writeOut(text === '' || text.endsWith('\n') ? text : `${text}\n`),
  };
}

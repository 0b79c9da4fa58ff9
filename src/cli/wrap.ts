/** Text broken to the width of a terminal. */
import { widthOf } from './own-control.js';

/** Breaks at spaces, every line indented. A word longer than the line, such as a path, stays whole. Colours take no room. */
export function wrap(text: string, columns: number, indent = ''): string {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let line = indent;
    for (const word of paragraph.split(' ')) {
      if (line.length > indent.length && widthOf(line) + 1 + widthOf(word) > columns) {
        lines.push(line);
        line = indent;
      }
      line += line.length > indent.length ? ` ${word}` : word;
    }
    lines.push(line.trimEnd());
  }
  return lines.join('\n');
}

/** Each line broken by itself, what follows of it below its own indent. */
export function wrapLines(text: string, columns: number): string {
  const lines = text.split('\n').map((line) => wrap(line.trimStart(), columns, /^ */.exec(line)![0]));
  return lines.join('\n');
}

/** A line that a program may read, so it is broken only on a terminal; what follows of it stands `indent` spaces further in. */
export function hanging(
  text: string,
  { width, columns }: { width: number | undefined; columns: number },
  indent = 4,
): string {
  if (width === undefined) return text;
  const lead = text.slice(0, indent);
  return lead + wrap(text.slice(indent), columns, ' '.repeat(indent)).slice(indent);
}

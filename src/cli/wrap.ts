/** Text broken to the width of a terminal. */
import { widthOf } from './own-control.js';

/**
 * Breaks at spaces, every line indented, the first by `lead`. A word longer than the line, such as a path, stays whole. Colours
 * take no room.
 */
export function wrap(text: string, columns: number, indent = '', lead = indent): string {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let start = lines.length === 0 ? lead : indent;
    let line = start;
    for (const word of paragraph.split(' ')) {
      if (line.length > start.length && widthOf(line) + 1 + widthOf(word) > columns) {
        lines.push(line);
        line = start = indent;
      }
      line += line.length > start.length ? ` ${word}` : word;
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

/** Also breaks words that are longer than a line of a terminal, such as paths, so that the indent is kept. In a pipe they stay whole. */
export function wrapWords(text: string, { width, columns }: Room, indent = '', lead = indent): string {
  const room = columns - indent.length;
  const broken = width === undefined ? text : text.replace(/[^ \n]+/g, (word) => pieces(word, room).join(' '));
  return wrap(broken, columns, indent, lead);
}

/** Behind a slash, a dash, a dot or a comma where one is near. Two neighbours never fit one line, so no space gets into a word. */
function pieces(word: string, room: number): string[] {
  if (widthOf(word) <= room || word.includes('\x1b')) return [word];
  const end = Math.max(...['/', '-', '.', ','].map((mark) => word.lastIndexOf(mark, room - 1) + 1));
  const at = end > room / 2 ? end : room;
  return [word.slice(0, at), ...pieces(word.slice(at), room)];
}

interface Room {
  width: number | undefined;
  columns: number;
}

/** A line that a program may read, so it is broken only on a terminal; what follows of it stands `indent` spaces further in. */
export function hanging(text: string, room: Room, indent = 4): string {
  return room.width === undefined ? text : wrapWords(text, room, ' '.repeat(indent), '');
}

/** Text broken to the width of a terminal. */

/** Breaks at spaces, every line indented. A word longer than the line, such as a path, stays whole. */
export function wrap(text: string, columns: number, indent = ''): string {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let line = indent;
    for (const word of paragraph.split(' ')) {
      if (line.length > indent.length && line.length + 1 + word.length > columns) {
        lines.push(line);
        line = indent;
      }
      line += line.length > indent.length ? ` ${word}` : word;
    }
    lines.push(line.trimEnd());
  }
  return lines.join('\n');
}

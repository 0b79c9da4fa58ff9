/**
 * Expands the variables in the command line of a unit as systemd does: `$NAME` as a word of its own becomes the words of its value,
 * `${NAME}` is replaced within a word, `$$` is a dollar sign. Pure.
 */

export type Variables = ReadonlyMap<string, string>;

/** `K=V` of Environment=, as D-Bus has it. */
export function assignments(lines: readonly string[]): [string, string][] {
  return lines.flatMap((line): [string, string][] => {
    const equals = line.indexOf('=');
    return equals < 1 ? [] : [[line.slice(0, equals), line.slice(equals + 1)]];
  });
}

/** The first word, the program, is never a variable. */
export function expandWords([program, ...words]: readonly string[], variables: Variables): string[] {
  return [...(program === undefined ? [] : [program]), ...words.flatMap((word) => expandWord(word, variables))];
}

function expandWord(word: string, variables: Variables): string[] {
  const whole = /^\$([A-Za-z_]\w*)$/.exec(word)?.[1];
  if (whole !== undefined) return splitWords(variables.get(whole) ?? '');
  return [
    word.replace(/\$\$|\$\{(\w*)\}/g, (found, name: string | undefined) =>
      found === '$$' ? '$' : (variables.get(name!) ?? ''),
    ),
  ];
}

/** At blanks; quotes and backslashes are removed. */
function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === '\\') word = (word ?? '') + (text[++at] ?? '');
    else if (char === quote) quote = '';
    else if (quote !== '') word = (word ?? '') + char;
    else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (!/\s/.test(char)) word = (word ?? '') + char;
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}

/** The text of an EnvironmentFile=. Lines that assign nothing are left out, as systemd does. */
export function parseEnvironmentFile(text: string): [string, string][] {
  const found: [string, string][] = [];
  for (let at = 0; at < text.length; ) {
    const line = text.slice(at, endOfLine(text, at));
    const name = /^[ \t]*([A-Za-z_]\w*)[ \t]*=/.exec(line);
    if (name === null) {
      // An escaped line break continues a line that assigns nothing, but not a comment.
      at += line.length + 1;
      continue;
    }
    const { value, end } = readValue(text, at + name[0].length);
    found.push([name[1]!, value]);
    at = end + 1;
  }
  return found;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

/** Quoted parts with blanks between them, which do not count, or text up to the end of the line, in which quotes are quotes. */
function readValue(text: string, start: number): { value: string; end: number } {
  let value = '';
  let at = start;
  for (;;) {
    while (/[ \t]/.test(text[at] ?? '')) at++;
    const quote = text[at];
    if (quote !== '"' && quote !== "'") break;
    for (at++; at < text.length && text[at] !== quote; at++) {
      if (text[at] !== '\\' || quote === "'") value += text[at];
      // In double quotes a backslash escapes what it does for a shell, and is itself otherwise.
      else if (text[++at] !== '\n') value += /["\\`$]/.test(text[at] ?? '') ? text[at] : `\\${text[at] ?? ''}`;
    }
    at++;
  }
  let plain = '';
  for (; at < text.length && text[at] !== '\n'; at++) {
    if (text[at] !== '\\') plain += text[at];
    else if (text[++at] !== '\n') plain += text[at] ?? '';
  }
  return { value: value + plain.trimEnd(), end: at };
}

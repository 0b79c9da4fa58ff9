/**
 * The variables of a unit as systemd fills them into its command line: `$NAME` as a word of its own becomes the words of its value,
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
  let at = 0;
  while (at < text.length) {
    const [line, next] = logicalLine(text, at);
    at = next;
    const trimmed = line.trimStart();
    if (trimmed === '' || trimmed.startsWith('#') || trimmed.startsWith(';')) continue;
    const equals = trimmed.indexOf('=');
    const name = trimmed.slice(0, equals).trim();
    if (equals > 0 && /^[A-Za-z_]\w*$/.test(name)) found.push([name, unquote(trimmed.slice(equals + 1))]);
  }
  return found;
}

/** Up to a line break that is neither quoted nor escaped. */
function logicalLine(text: string, start: number): [string, number] {
  const isComment = /^[ \t]*[#;]/.test(text.slice(start, start + 200));
  let quote = '';
  for (let at = start; at < text.length; at++) {
    const char = text[at]!;
    if (isComment) {
      if (char === '\n') return [text.slice(start, at), at + 1];
    } else if (char === '\\' && quote !== "'") at++;
    else if (char === quote) quote = '';
    else if (quote === '' && char === '\n') return [text.slice(start, at), at + 1];
    else if (quote === '' && (char === '"' || char === "'")) quote = char;
  }
  return [text.slice(start), text.length];
}

function unquote(text: string): string {
  let value = '';
  /** Blanks that count only if something follows. */
  let blanks = '';
  let quote = '';
  const add = (part: string) => {
    value += blanks + part;
    blanks = '';
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === '\\' && quote !== "'") {
      const next = text[++at] ?? '';
      // In double quotes a backslash escapes what it does for a shell, and is itself otherwise.
      if (next !== '\n') add(quote === '"' && !/["\\`$]/.test(next) ? `\\${next}` : next);
    } else if (char === quote) quote = '';
    else if (quote !== '') add(char);
    else if (char === '"' || char === "'") {
      quote = char;
      add('');
    } else if (/\s/.test(char)) blanks += value === '' ? '' : char;
    else add(char);
  }
  return value;
}

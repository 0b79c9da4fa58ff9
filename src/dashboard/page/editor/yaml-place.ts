/**
 * Determines where the cursor is in block-style YAML: below which keys, and at a key or a value. By indentation alone, since the text
 * is usually invalid while it is typed. Pure.
 */

export interface YamlPlace {
  /** Keys from the top; `[]` is an item of a list. */
  path: string[];
  typing: 'key' | 'value';
  /** Start of the word that is typed, and its text so far. */
  from: number;
  typed: string;
  /** Keys that are there already, beside the one that is typed. */
  siblings: string[];
}

interface Line {
  indent: number;
  /** Without dashes of list items, which count as indentation. */
  key: string | undefined;
  /** Columns of the dashes before the key. */
  dashes: number[];
  isBlank: boolean;
}

/** Undefined in comments and inside of flow style, `{…}` and `[…]`. */
export function yamlPlaceAt(text: string, position: number): YamlPlace | undefined {
  const lineStart = text.lastIndexOf('\n', position - 1) + 1;
  const before = text.slice(lineStart, position);
  if (/(^|\s)#/.test(before) || /[{[]/.test(before)) return undefined;
  const lines = text.split('\n').map(readLine);
  const row = text.slice(0, lineStart).split('\n').length - 1;
  const [, lead, rest] = /^([\s-]*?(?:- +)*)([^\s-].*)?$/.exec(before) ?? [];
  if (lead === undefined) return undefined;
  const own = readLine(before);
  const value = /^((?:"[^"]*"|'[^']*'|[^:])+):\s+(.*)$/.exec(rest ?? '');
  const parents = pathAbove(lines, row, own);
  if (value !== null)
    return {
      path: [...parents, unquoted(value[1]!)],
      typing: 'value',
      from: position - value[2]!.length,
      typed: value[2]!,
      siblings: [],
    };
  if ((rest ?? '').includes(':')) return undefined;
  const typed = rest ?? '';
  return { path: parents, typing: 'key', from: position - typed.length, typed, siblings: siblingsOf(lines, row, own) };
}

function readLine(text: string): Line {
  const dashes: number[] = [];
  let at = 0;
  for (;;) {
    while (text[at] === ' ') at++;
    if (text[at] !== '-' || (text[at + 1] ?? ' ') !== ' ') break;
    dashes.push(at++);
  }
  const rest = text.slice(at);
  const [, key] = /^("[^"]*"|'[^']*'|[^:#]+?):(?:\s|$)/.exec(rest) ?? [];
  return { indent: at, key: key === undefined ? undefined : unquoted(key), dashes, isBlank: /^\s*(#.*)?$/.test(rest) };
}

const unquoted = (text: string): string => text.trim().replace(/^(["'])(.*)\1$/, '$2');

/** The keys and list items that the line is in, the outermost first. */
function pathAbove(lines: readonly Line[], row: number, own: Line): string[] {
  const path: string[] = own.dashes.map(() => '[]');
  let indent = own.dashes[0] ?? own.indent;
  // A list may begin at the column of its key: `a:\n- b`.
  let isItem = own.dashes.length > 0;
  for (let at = row - 1; at >= 0; at--) {
    const line = lines[at]!;
    if (line.isBlank) continue;
    const opens = line.indent < indent || (isItem && line.indent === indent && line.dashes.length === 0);
    if (opens && line.key !== undefined) {
      path.unshift(line.key);
      indent = line.indent;
      isItem = false;
    }
    const outer = line.dashes.filter((column) => column < indent);
    if (outer.length > 0) {
      path.unshift(...outer.map(() => '[]'));
      indent = outer[0]!;
      isItem = true;
    }
    if (indent === 0 && !isItem) break;
  }
  return path;
}

/** Keys of the same mapping: same column, nothing shallower in between. */
function siblingsOf(lines: readonly Line[], row: number, own: Line): string[] {
  const found: string[] = [];
  const walk = (from: number, by: 1 | -1) => {
    for (let at = from; lines[at] !== undefined; at += by) {
      const { indent, key, dashes, isBlank } = lines[at]!;
      if (isBlank) continue;
      if (indent < own.indent || (by === 1 && dashes.some((column) => column < own.indent))) return;
      if (indent === own.indent && key !== undefined) found.push(key);
      if (by === -1 && indent === own.indent && dashes.length > 0) return;
    }
  };
  if (own.dashes.length === 0) walk(row - 1, -1);
  walk(row + 1, 1);
  return found;
}

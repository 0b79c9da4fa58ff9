/**
 * JSONPath as client-go reads it, for kubectl's templates and the printer columns of CRDs:
 * `{range .items[*]}{.metadata.name}{"\t"}{.status.state}{"\n"}{end}`. Fields, quoted keys, indexes, slices, unions,
 * wildcards, `..`, filters `[?(@.a=="b")]`; text outside braces is printed as it is.
 */
import { isObject } from '../json.js';

export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

type Part =
  | { kind: 'text'; text: string }
  | { kind: 'path'; path: JsonPath }
  | { kind: 'range'; path: JsonPath; body: Part[] };

export type JsonPath = readonly Step[];

type Step =
  | { kind: 'keys'; keys: string[] }
  | { kind: 'all' }
  | { kind: 'deep' }
  | { kind: 'slice'; from?: number; to?: number; by: number }
  | { kind: 'indexes'; indexes: number[] }
  | { kind: 'filter'; left: Operand; operator?: string; right?: Operand };

type Operand = { path: JsonPath; fromRoot: boolean } | { literal: string | number | boolean | null };

export type Template = Part[];

export function parseTemplate(template: string): Template {
  const blocks = split(template);
  const stack: Part[][] = [[]];
  const ranges: JsonPath[] = [];
  for (const block of blocks) {
    const here = stack.at(-1)!;
    if (!block.braced) here.push({ kind: 'text', text: block.text });
    else if (/^range\s/.test(block.text)) {
      ranges.push(parseSteps(block.text.slice(5).trim()));
      stack.push([]);
    } else if (block.text === 'end') {
      const path = ranges.pop();
      if (path === undefined) throw new JsonPathError('{end} without {range}');
      const body = stack.pop()!;
      stack.at(-1)!.push({ kind: 'range', path, body });
    } else if (/^["']/.test(block.text)) here.push({ kind: 'text', text: unquote(block.text) });
    else here.push({ kind: 'path', path: parseSteps(block.text) });
  }
  if (ranges.length > 0) throw new JsonPathError('{range} without {end}');
  return stack[0]!;
}

export function printTemplate(template: Template, root: unknown, printValue = valueText): string {
  const print = (part: Part, here: unknown): string => {
    switch (part.kind) {
      case 'text':
        return part.text;
      case 'path':
        return walk(part.path, here, root).map(printValue).join(' ');
      case 'range':
        return walk(part.path, here, root)
          .map((item) => part.body.map((inner) => print(inner, item)).join(''))
          .join('');
    }
  };
  return template.map((part) => print(part, root)).join('');
}

/** A single path: `.status.state`, with or without braces, as custom-columns, --sort-by and printer columns take it. */
export function parsePath(text: string): JsonPath {
  const inner = text.trim().replace(/^\{(.*)\}$/s, '$1');
  return parseSteps(/^[.[$@]/.test(inner) ? inner : `.${inner}`);
}

/** All values at the path; empty where it is absent. */
export function findAll(root: unknown, path: JsonPath): unknown[] {
  return walk(path, root, root);
}

export function valueText(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
}

function walk(path: JsonPath, here: unknown, root: unknown): unknown[] {
  return path.reduce<unknown[]>((found, step) => found.flatMap((value) => take(step, value, root)), [here]);
}

function take(step: Step, value: unknown, root: unknown): unknown[] {
  switch (step.kind) {
    case 'keys':
      return step.keys
        .filter((key) => isObject(value) && Object.hasOwn(value, key))
        .map((key) => (value as Record<string, unknown>)[key]);
    case 'all':
      return children(value);
    case 'deep':
      return [value, ...children(value).flatMap((child) => take(step, child, root))];
    case 'indexes':
      return Array.isArray(value)
        ? step.indexes.filter((at) => at < value.length && -at <= value.length).map((at) => value.at(at))
        : [];
    case 'slice':
      return Array.isArray(value) ? value.slice(step.from, step.to).filter((_, at) => at % step.by === 0) : [];
    case 'filter':
      return Array.isArray(value) ? value.filter((item) => matches(step, item, root)) : [];
  }
}
const children = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];

function matches({ left, operator, right }: Extract<Step, { kind: 'filter' }>, item: unknown, root: unknown): boolean {
  const read = (operand: Operand): unknown[] =>
    'literal' in operand ? [operand.literal] : walk(operand.path, operand.fromRoot ? root : item, root);
  const found = read(left);
  if (operator === undefined || right === undefined) return found.length > 0;
  return found.length > 0 && compare(found[0], operator, read(right)[0]);
}

function compare(left: unknown, operator: string, right: unknown): boolean {
  if (operator === '==') return left === right;
  if (operator === '!=') return left !== right;
  if (typeof left !== typeof right || (typeof left !== 'number' && typeof left !== 'string')) return false;
  const [a, b] = [left as number, right as number];
  return operator === '<' ? a < b : operator === '>' ? a > b : operator === '<=' ? a <= b : a >= b;
}

/** Text and `{…}` blocks; braces inside quotes do not count. */
function split(template: string): { text: string; braced: boolean }[] {
  const blocks: { text: string; braced: boolean }[] = [];
  const pattern = /\{((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^{}"'])*)\}|([^{}]+)|([{}])/gsy;
  for (const [, braced, text, stray] of template.matchAll(pattern)) {
    if (stray !== undefined) throw new JsonPathError(`'${template}' has an unmatched '${stray}'`);
    blocks.push(braced === undefined ? { text: text!, braced: false } : { text: braced.trim(), braced: true });
  }
  // kubectl takes a bare path too.
  return blocks.length === 1 && !blocks[0]!.braced && blocks[0]!.text.startsWith('.')
    ? [{ text: blocks[0]!.text, braced: true }]
    : blocks;
}

function parseSteps(text: string): JsonPath {
  const steps: Step[] = [];
  let rest = text.replace(/^[$@]/, '');
  while (rest !== '') {
    const match =
      /^\.\.(?=[^.])/.exec(rest) ??
      /^\.?\*/.exec(rest) ??
      /^\.?((?:[^.[\]\\{}\s]|\\.)+)/.exec(rest) ??
      /^\[((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\]"'])*)\]/.exec(rest) ??
      /^\.$/.exec(rest);
    if (match === null) throw new JsonPathError(`cannot read '${rest}' in the path '${text}'`);
    rest = rest.slice(match[0].length);
    if (match[0] === '..') {
      steps.push({ kind: 'deep' });
      if (!rest.startsWith('[')) rest = `.${rest}`;
    } else if (match[0].endsWith('*') && match[1] === undefined) steps.push({ kind: 'all' });
    else if (match[0].startsWith('[')) steps.push(parseBracket(match[1]!.trim(), text));
    else if (match[1] !== undefined) steps.push({ kind: 'keys', keys: [match[1].replace(/\\(.)/g, '$1')] });
  }
  return steps;
}

function parseBracket(inner: string, whole: string): Step {
  if (inner === '*') return { kind: 'all' };
  const filter = /^\?\((.*)\)$/s.exec(inner);
  if (filter) return parseFilter(filter[1]!.trim());
  const slice = /^(-?\d*):(-?\d*)(?::(\d+))?$/.exec(inner);
  if (slice)
    return {
      kind: 'slice',
      ...(slice[1] && { from: Number(slice[1]) }),
      ...(slice[2] && { to: Number(slice[2]) }),
      by: Number(slice[3] ?? 1) || 1,
    };
  const words = inner.match(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,\s]+/g) ?? [];
  if (words.length > 0 && words.every((word) => /^-?\d+$/.test(word)))
    return { kind: 'indexes', indexes: words.map(Number) };
  if (words.length > 0 && words.every((word) => /^["']/.test(word))) return { kind: 'keys', keys: words.map(unquote) };
  throw new JsonPathError(`cannot read '[${inner}]' in the path '${whole}'`);
}

function parseFilter(text: string): Step {
  const match = /^(.*?)\s*(==|!=|<=|>=|<|>)\s*(.*)$/s.exec(text);
  if (match === null) return { kind: 'filter', left: parseOperand(text) };
  return { kind: 'filter', left: parseOperand(match[1]!), operator: match[2]!, right: parseOperand(match[3]!) };
}

function parseOperand(text: string): Operand {
  if (/^["']/.test(text)) return { literal: unquote(text) };
  if (/^-?\d+(\.\d+)?$/.test(text)) return { literal: Number(text) };
  if (text === 'true' || text === 'false') return { literal: text === 'true' };
  if (text === 'null') return { literal: null };
  return { path: parseSteps(text), fromRoot: text.startsWith('$') };
}

function unquote(text: string): string {
  const quote = text[0]!;
  if (text.length < 2 || !text.endsWith(quote)) throw new JsonPathError(`${text} lacks its closing quote`);
  const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r' };
  return text.slice(1, -1).replace(/\\(.)/gs, (_, char: string) => escapes[char] ?? char);
}

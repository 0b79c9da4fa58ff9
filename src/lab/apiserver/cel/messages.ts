/** Translates error messages of the library into those of cel-go, which users know. */
import { EvaluationError, ParseError, TypeError as WrongType } from '@marcbachmann/cel-js';
import { isFunction } from './environment.js';
import { type Node, publicText } from './syntax-tree.js';

interface Complaint {
  code: string;
  summary: string;
  node?: Node;
  range?: { start: number };
}

function isComplaint(error: unknown): error is Complaint & Error {
  return error instanceof ParseError || error instanceof WrongType || error instanceof EvaluationError;
}

/** `ERROR: <input>:1:5: undefined field 'x'`, the line, and a mark under the place. */
export function compileMessage(error: unknown, expression: string): string {
  if (!isComplaint(error)) throw error;
  const at = placeOf(error);
  const before = expression.slice(0, at).split('\n');
  const column = [...before.at(-1)!].length;
  const line = expression.split('\n')[before.length - 1] ?? '';
  const text = error instanceof ParseError ? syntaxText(error, expression) : typeText(error);
  return `ERROR: <input>:${before.length}:${column + 1}: ${text}\n | ${line}\n | ${'.'.repeat(column)}^`;
}

/** cel-go points at dots, operators and opening parentheses; the library at the beginning of the expression around them. */
function placeOf({ node, range, code }: Complaint): number {
  const start = range?.start ?? 0;
  if (node?.op === undefined) return start;
  const source = (node as unknown as { input?: string }).input ?? '';
  if (code === 'no_such_key') return Math.max(source.lastIndexOf('.', node.pos), 0);
  const [left, right] = Array.isArray(node.args) ? (node.args as Node[]) : [];
  const isOperator = typeof left === 'object' && typeof right === 'object' && 'start' in right;
  if (isOperator && node.op !== '?:') return operatorPlace(source, node.op, (left as Node & { end: number }).end);
  if (node.op === 'rcall') {
    const [name, receiver] = node.args as [string, Node & { end: number }];
    return Math.max(source.indexOf('(', source.indexOf(publicText(name), receiver.end)), start);
  }
  return node.op === 'call' ? Math.max(source.indexOf('(', start), start) : start;
}

function operatorPlace(source: string, operator: string, from: number): number {
  return Math.max(source.indexOf(operator, from), from);
}

function typeText(error: Complaint): string {
  const { code, node } = error;
  const summary = publicText(error.summary);
  const quoted = /'([^']*)'/g;
  switch (code) {
    case 'unknown_variable':
      return `undeclared reference to '${summary.replace('Unknown variable: ', '')}' (in container '')`;
    case 'no_such_key':
      return `undefined field '${summary.replace('No such key: ', '')}'`;
    case 'no_such_overload':
      return overloadText(summary.replace('no such overload: ', ''), node);
    case 'no_matching_overload':
      return functionText(summary);
    case 'cannot_index_type':
      return `type '${celType(/'([^']*)'/.exec(summary)?.[1] ?? 'dyn')}' does not support field selection`;
    case 'invalid_logical_operand':
      return logicalText(node!);
    case 'invalid_condition_type':
      return `expected type 'bool' but found '${celType([...summary.matchAll(quoted)].at(-1)?.[1] ?? 'dyn')}'`;
    case 'heterogeneous_list_element':
    case 'heterogeneous_map_key':
    case 'heterogeneous_map_value': {
      const [expected, found] = [...summary.matchAll(quoted)].map(([, name]) => celType(name!));
      return `expected type '${expected}' but found '${found}'`;
    }
    case 'incompatible_ternary_branches': {
      const [left, right] = [...summary.matchAll(quoted)].map(([, name]) => celType(name!));
      return `found no matching overload for '_?_:_' applied to '(bool, ${left}, ${right})'`;
    }
    default:
      return summary;
  }
}

/** `int + string`, `!int` → found no matching overload for '_+_' applied to '(int, string)'. */
function overloadText(signature: string, node: Node | undefined): string {
  const operator = node?.op ?? '';
  if (operator.endsWith('_')) {
    const name = operator === '!_' ? '!_' : '-_';
    return `found no matching overload for '${name}' applied to '(${celType(signature.slice(1))})'`;
  }
  const [left, right] = signature.split(` ${operator} `);
  const name = operator === 'in' ? '@in' : `_${operator}_`;
  return `found no matching overload for '${name}' applied to '(${celType(left!)}, ${celType(right!)})'`;
}

/** `true && 1` → found no matching overload for '_&&_' applied to '(bool, int)'. */
function logicalText({ op, args }: Node): string {
  const types = (args as { checkedType?: { name: string } }[]).map(({ checkedType }) => checkedType?.name ?? 'dyn');
  return `found no matching overload for '_${op}_' applied to '(${types.map(celType).join(', ')})'`;
}

function functionText(summary: string): string {
  const [, whole = '', args = ''] = /'(.*)\((.*)\)'/.exec(summary) ?? [];
  const dot = whole.lastIndexOf('.');
  const name = whole.slice(dot + 1);
  if (!isFunction(name)) return `undeclared reference to '${name}' (in container '')`;
  const types = celType(args);
  return dot === -1
    ? `found no matching overload for '${name}' applied to '(${types})'`
    : `found no matching overload for '${name}' applied to '${celType(whole.slice(0, dot))}.(${types})'`;
}

/** list<string> → list(string). */
function celType(name: string): string {
  return name
    .replace(/\bdyn<([^<>]*)>/g, '$1')
    .replaceAll('<', '(')
    .replaceAll('>', ')')
    .replace(/\boptional\(/g, 'optional_type(');
}

const tokens: Record<string, string> = { RPAREN: ')', RBRACKET: ']', RBRACE: '}', COLON: ':', EOF: '<EOF>' };

function syntaxText({ code, summary }: Complaint, expression: string): string {
  const missing = /^Expected (\w+), got (\w+)$/.exec(summary);
  if (missing !== null) {
    const [, wanted = '', found = ''] = missing;
    return `Syntax error: missing '${tokens[wanted] ?? wanted}' at '${tokens[found] ?? found}'`;
  }
  if (code === 'unexpected_token') {
    const found = summary.replace('Unexpected token: ', '');
    const open = found === 'EOF' && /,\s*$/.test(expression) ? innermostOpen(expression) : undefined;
    if (open !== undefined) return `Syntax error: missing '${open}' at '<EOF>'`;
    // An open call could also be closed.
    const isCall = found === 'EOF' && /\w\($/.test(expression.trimEnd());
    const expected = isCall ? operands.replace("'(', ", "'(', ')', ") : operands;
    return `Syntax error: mismatched input '${tokens[found] ?? found}' expecting ${expected}`;
  }
  if (code === 'reserved_identifier') return `reserved identifier: ${summary.replace('Reserved identifier: ', '')}`;
  return `Syntax error: ${summary}`;
}

const operands =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** The closing counterpart of the bracket that is open at the end. */
function innermostOpen(expression: string): string | undefined {
  const closing: Record<string, string> = { '(': ')', '[': ']', '{': '}' };
  const open: string[] = [];
  for (const char of expression.replace(/'[^']*'|"[^"]*"/g, ''))
    if (closing[char] !== undefined) open.push(closing[char]);
    else if (char === open.at(-1)) open.pop();
  return open.at(-1);
}

export function evaluationMessage(error: unknown): string {
  if (error instanceof RangeError) return 'value too large';
  if (!isComplaint(error)) throw error;
  const { code } = error;
  const summary = publicText(error.summary);
  const outOfBounds = /index (-?\d+)/.exec(summary);
  switch (code) {
    case 'no_such_key':
      return summary.replace('No such key', 'no such key');
    case 'index_out_of_bounds':
      return `index out of bounds: ${outOfBounds?.[1] ?? '?'}`;
    case 'numeric_overflow':
      return 'integer overflow';
    case 'modulo_by_zero':
      return 'modulus by zero';
    case 'no_such_overload':
    case 'no_matching_overload':
    case 'invalid_logical_operand':
    case 'invalid_condition_type':
      return 'no such overload';
    case 'optional_value_missing':
      return 'optional.none() dereference';
    default:
      return summary;
  }
}

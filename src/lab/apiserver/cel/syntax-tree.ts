/**
 * Rewrites a parsed expression before and after its types are checked. The library does not let built-in functions
 * be replaced, so those that Kubernetes defines differently get another name, and `has` gets Kubernetes' meaning.
 */
import { EvaluationError } from '@marcbachmann/cel-js';
import { sizeOf, spend } from './meter.js';

/** A node as the library makes it; its own types have less. */
export interface Node {
  op: string;
  args: unknown;
  pos: number;
  start: number;
  meta: { alternate?: Node; macro?: Macro; evaluate?: Evaluate };
  setMeta(key: string, value: unknown): Node;
}

type Evaluate = (evaluator: Evaluator, node: Node, context: unknown) => unknown;

interface Macro {
  args?: Node[];
  typeCheck(checker: Checker, macro: Macro, context: unknown): unknown;
  evaluate(evaluator: Evaluator, macro: Macro, context: unknown): unknown;
}

interface Evaluator {
  run(node: Node, context: unknown): unknown;
  debugType(value: unknown): {
    kind: string;
    fieldLazy(value: unknown, key: string, node: Node, ev: Evaluator): unknown;
  };
}

interface Checker {
  check(node: Node, context: unknown): unknown;
  getType(name: string): unknown;
}

/** Built-in methods that we replace: `matches` must not hang, `join` and `replace` must not grow without limit. */
const renamed: ReadonlySet<string> = new Set([
  'matches',
  'join',
  'lowerAscii',
  'upperAscii',
  'indexOf',
  'lastIndexOf',
  'substring',
  'split',
  'trim',
]);
const mark = '__relet';

export function ownName(method: string): string {
  return renamed.has(method) ? `${method}${mark}` : method;
}

/** Messages of the library with the names that the author wrote. */
export function publicText(text: string): string {
  return text.replaceAll(mark, '');
}

/** Every node once, macros and what they expand to included. */
function* nodesOf(value: unknown, seen = new Set<unknown>()): Generator<Node> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (isNode(value)) {
    yield value;
    yield* nodesOf(value.args, seen);
    yield* nodesOf(value.meta.alternate, seen);
    yield* nodesOf(value.meta.macro, seen);
  } else if (isPlain(value)) for (const inner of Object.values(value)) yield* nodesOf(inner, seen);
}

/** Lists of nodes and records of them; not the contexts and types beside them. */
function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

function isNode(value: object): value is Node {
  return 'op' in value && 'meta' in value && 'args' in value;
}

/** Before types are checked. Returns the names it refers to. */
export function adapt(root: Node): Set<string> {
  const names = new Set<string>();
  for (const node of nodesOf(root)) {
    if (node.op === 'id') names.add(node.args as string);
    if (node.op === 'rcall') {
      const args = node.args as [string, ...unknown[]];
      args[0] = ownName(args[0]);
    }
    if (node.op === 'call' && (node.args as [string])[0] === 'has' && node.meta.macro !== undefined)
      adaptHas(node.meta.macro);
  }
  return names;
}

/** The library allows only names and dots inside has(), and does not check types. */
function adaptHas(macro: Macro): void {
  const selection = macro.args![0]!;
  macro.typeCheck = (checker, _macro, context) => {
    if (selection.op !== '.') throw new EvaluationError('invalid argument to has() macro', selection as never);
    checker.check(selection, context);
    return checker.getType('bool');
  };
  macro.evaluate = (evaluator, _macro, context) => {
    const [operand, field] = selection.args as [Node, string];
    const value = evaluator.run(operand, context);
    const type = evaluator.debugType(value);
    if (type.kind !== 'map' && type.kind !== 'message' && type.kind !== 'optional')
      throw new EvaluationError('no such overload', selection as never);
    return type.fieldLazy(value, field, selection, evaluator) !== undefined;
  };
}

const charged: ReadonlySet<string> = new Set(['call', 'rcall', '+', '==', '!=', 'in']);

/** After types are checked: adds the metering of loops and growing values. */
export function instrument(root: Node): void {
  for (const node of nodesOf(root)) {
    if (charged.has(node.op) && node.meta.alternate === undefined && node.meta.macro === undefined) charge(node);
    if (node.op === 'comprehension') charge((node.args as { step: Node }).step);
  }
}

function charge(node: Node): void {
  const evaluate = node.meta.evaluate;
  if (evaluate === undefined) return;
  node.setMeta('evaluate', ((evaluator, self, context) => {
    spend(1);
    const result = evaluate(evaluator, self, context);
    const size = sizeOf(result);
    if (size > 1 && node.op !== '?:') spend(node.op === 'accuPush' ? 0 : size);
    return result;
  }) satisfies Evaluate);
}

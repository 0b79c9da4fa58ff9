/** Rewrites a parsed expression before its types are checked: `has` gets the meaning that it has in Kubernetes. */
import { EvaluationError } from '@marcbachmann/cel-js';

/** A node as the library makes it; its own types have less. */
export interface Node {
  op: string;
  args: unknown;
  meta: { alternate?: Node; macro?: Macro };
}

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

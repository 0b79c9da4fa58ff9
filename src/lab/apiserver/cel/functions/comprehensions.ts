/** Macros over two variables, index and item of a list or key and value of a map: `self.m.all(k, v, v > 0)`. */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import { isEqual } from '../equality.js';
import { spend } from '../meter.js';
import type { Node } from '../syntax-tree.js';

/** What the library passes to a macro; its types lack it. */
interface Type {
  kind: string;
  keyType?: Type;
  valueType?: Type;
}
interface Context {
  forkWithVariable(name: string, type: Type): Context;
  reuse(outer: Context): Context;
  setIterValue(value: unknown, evaluator: Evaluator): Context;
}
interface Checker {
  check(node: Node, context: Context): Type;
  getType(name: string): Type;
  registry: { getListType(of: Type): Type; getMapType(key: Type, value: Type): Type };
}
interface Evaluator {
  run(node: Node, context: Context): unknown;
}

interface Loop {
  names: [string, string];
  range: Node;
  /** Filter and body, or the body alone. */
  parts: Node[];
  contexts?: [Context, Context];
}

type Step = (bodies: (() => unknown)[], key: unknown) => boolean;

/** `makes` is called for each evaluation; its step ends the loop by returning false. */
interface Kind {
  result(checker: Checker, key: Type, bodies: Type[]): Type;
  makes(): { step: Step; done(): unknown };
}

const truth = (checker: Checker) => checker.getType('bool');

const kinds: Record<string, Kind> = {
  all: { result: truth, makes: () => quantifier(false) },
  exists: { result: truth, makes: () => quantifier(true) },
  existsOne: {
    result: truth,
    makes() {
      let count = 0;
      const step: Step = ([body]) => {
        if (body!() === true) count++;
        return true;
      };
      return { step, done: () => count === 1 };
    },
  },
  transformList: {
    result: (checker, _key, bodies) => checker.registry.getListType(bodies.at(-1)!),
    makes() {
      const items: unknown[] = [];
      return { step: filtered((body) => items.push(body())), done: () => items };
    },
  },
  transformMap: {
    result: (checker, key, bodies) => checker.registry.getMapType(key, bodies.at(-1)!),
    makes() {
      const entries = new Map<unknown, unknown>();
      return { step: filtered((body, key) => entries.set(key, body())), done: () => entries };
    },
  },
  transformMapEntry: {
    result: (checker) => checker.getType('map<dyn, dyn>'),
    makes() {
      const entries = new Map<unknown, unknown>();
      const add = (body: () => unknown) => {
        for (const [key, value] of entriesOf(body())) {
          if ([...entries.keys()].some((known) => isEqual(known, key)))
            throw new EvaluationError(`insert failed: key ${String(key)} already exists`);
          entries.set(key, value);
        }
      };
      return { step: filtered(add), done: () => entries };
    },
  },
};

/** An error is thrown only if no other item decides, as in `||` and `&&`. */
function quantifier(decisive: boolean): ReturnType<Kind['makes']> {
  let error: unknown;
  let isDecided = false;
  return {
    step([body]) {
      try {
        isDecided = body!() === decisive;
      } catch (caught) {
        error ??= caught;
      }
      return !isDecided;
    },
    done() {
      if (!isDecided && error !== undefined) throw error;
      return isDecided ? decisive : !decisive;
    },
  };
}

function filtered(add: (body: () => unknown, key: unknown) => void): Step {
  return (bodies, key) => {
    if (bodies.length === 1 || bodies[0]!() === true) add(bodies.at(-1)!, key);
    return true;
  };
}

export function declareComprehensions(environment: Environment): void {
  for (const [name, kind] of Object.entries(kinds)) {
    const lengths = name.startsWith('transform') ? [3, 4] : [3];
    for (const length of lengths) {
      const args = Array(length).fill('ast').join(', ');
      environment.registerFunction(`list.${name}(${args}): dyn`, macro(name, kind) as never);
    }
  }
}

function macro(name: string, kind: Kind) {
  return ({ args, receiver }: { args: Node[]; receiver: Node }) => {
    const [first, second, ...parts] = args;
    const names = [first!, second!].map((node) => {
      if (node.op !== 'id') throw new EvaluationError(`${name}() variable name must be a simple identifier`);
      return node.args as string;
    });
    const loop: Loop = { names: names as [string, string], range: receiver, parts };
    return {
      range: receiver,
      parts,
      async: false,
      typeCheck: (checker: Checker, _macro: unknown, context: Context) => check(loop, kind, checker, context),
      evaluate: (evaluator: Evaluator, _macro: unknown, context: Context) => run(loop, kind, evaluator, context),
    };
  };
}

function check(loop: Loop, kind: Kind, checker: Checker, context: Context): Type {
  const range = checker.check(loop.range, context);
  const isMap = range.kind === 'map';
  const key = range.kind === 'list' ? checker.getType('int') : isMap ? range.keyType! : checker.getType('dyn');
  const value = range.kind === 'list' || isMap ? range.valueType! : checker.getType('dyn');
  const outer = context.forkWithVariable(loop.names[0], key);
  loop.contexts = [outer, outer.forkWithVariable(loop.names[1], value)];
  const bodies = loop.parts.map((part) => checker.check(part, loop.contexts![1]));
  return kind.result(checker, key, bodies);
}

function run(loop: Loop, kind: Kind, evaluator: Evaluator, context: Context): unknown {
  const range = evaluator.run(loop.range, context);
  const outer = loop.contexts![0].reuse(context);
  const inner = loop.contexts![1].reuse(outer);
  const { step, done } = kind.makes();
  const bodies = loop.parts.map((part) => () => evaluator.run(part, inner));
  for (const [key, value] of entriesOf(range)) {
    spend(1);
    outer.setIterValue(key, evaluator);
    inner.setIterValue(value, evaluator);
    if (!step(bodies, key)) break;
  }
  return done();
}

function entriesOf(range: unknown): Iterable<[unknown, unknown]> {
  if (Array.isArray(range)) return range.map((item, index) => [BigInt(index), item]);
  if (range instanceof Map) return range;
  if (typeof range === 'object' && range !== null) return Object.entries(range);
  throw new EvaluationError('no such overload');
}

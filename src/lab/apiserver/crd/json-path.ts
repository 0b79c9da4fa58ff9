/** The simple JSON paths of printer columns: `.spec.size`, `.status.conditions[?(@.type=="Ready")].status`, `['a.b']`. */

type Step =
  | { kind: 'key'; key: string }
  | { kind: 'index'; index: number }
  | { kind: 'all' }
  | { kind: 'filter'; path: Step[]; operator: string; value: unknown };

/** Undefined for a path that cannot be read. */
export function parseJsonPath(text: string): Step[] | undefined {
  const steps: Step[] = [];
  let rest = text
    .trim()
    .replace(/^\{(.*)\}$/s, '$1')
    .replace(/^\$/, '');
  while (rest !== '') {
    const taken = takeStep(rest);
    if (taken === undefined) return undefined;
    if (taken.step !== undefined) steps.push(taken.step);
    rest = rest.slice(taken.length);
  }
  return steps;
}

function takeStep(text: string): { step?: Step; length: number } | undefined {
  const filter = /^\[\?\(@((?:\.[\w-]+|\['[^']*'\])*)\s*(==|!=|<=|>=|<|>)\s*("[^"]*"|'[^']*'|[\w.-]+)\)\]/.exec(text);
  if (filter !== null) {
    const path = parseJsonPath(filter[1]!);
    if (path === undefined) return undefined;
    return {
      step: { kind: 'filter', path, operator: filter[2]!, value: literal(filter[3]!) },
      length: filter[0].length,
    };
  }
  const bracket = /^\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(-?\d+)|(\*))\]/.exec(text);
  if (bracket !== null) return { step: bracketStep(bracket), length: bracket[0].length };
  const dotted = /^\.(\*|(?:[^.[\]\\]|\\.)+)?/.exec(text);
  if (dotted === null) return undefined;
  const name = dotted[1];
  if (name === undefined) return { length: dotted[0].length };
  return {
    step: name === '*' ? { kind: 'all' } : { kind: 'key', key: name.replace(/\\(.)/g, '$1') },
    length: dotted[0].length,
  };
}

function bracketStep([, single, double, index, all]: RegExpExecArray): Step {
  if (all !== undefined) return { kind: 'all' };
  if (index !== undefined) return { kind: 'index', index: Number(index) };
  return { kind: 'key', key: (single ?? double ?? '').replace(/\\(.)/g, '$1') };
}

function literal(text: string): unknown {
  if (/^["']/.test(text)) return text.slice(1, -1);
  if (text === 'true' || text === 'false') return text === 'true';
  return Number.isNaN(Number(text)) ? text : Number(text);
}

/** Everything the path leads to; what is missing leads nowhere. */
export function findAll(value: unknown, steps: Step[]): unknown[] {
  let found: unknown[] = [value];
  for (const step of steps) found = found.flatMap((entry) => follow(entry, step));
  return found;
}

function follow(value: unknown, step: Step): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  switch (step.kind) {
    case 'key':
      return Object.hasOwn(value, step.key) && !Array.isArray(value)
        ? [(value as Record<string, unknown>)[step.key]]
        : [];
    case 'index': {
      const item = Array.isArray(value) ? value.at(step.index) : undefined;
      return item === undefined ? [] : [item];
    }
    case 'all':
      return Object.values(value);
    case 'filter':
      return (Array.isArray(value) ? value : []).filter((item) =>
        findAll(item, step.path).some((found) => compare(found, step.operator, step.value)),
      );
  }
}

function compare(left: unknown, operator: string, right: unknown): boolean {
  if (operator === '==') return left === right;
  if (operator === '!=') return left !== right;
  if (typeof left !== typeof right || (typeof left !== 'number' && typeof left !== 'string')) return false;
  const [a, b] = [left as number, right as number];
  return operator === '<' ? a < b : operator === '>' ? a > b : operator === '<=' ? a <= b : a >= b;
}

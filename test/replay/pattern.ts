/** Compares an answer with a recorded one, in which `<uid>`, `<rv>`, `<time>` and the like stand for what differs each time. */

const placeholders: Record<string, string> = {
  uid: '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  rv: '[0-9]+',
  time: '\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?Z',
  age: '\\S+',
  continue: '\\S+',
  hash: '\\S+',
  pointer: '0x[0-9a-f]+',
  scheme: '[^"]+',
  cause: '[\\s\\S]+',
  text: '[\\s\\S]*',
  'the patched object': '[\\s\\S]*',
};

function patternOf(text: string): RegExp {
  const parts = text.split(/(<(?:[a-z ]+|\d+ random)>)/);
  const source = parts.map((part) => {
    const name = /^<(.*)>$/.exec(part)?.[1];
    if (name === undefined) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const random = /^(\d+) random$/.exec(name);
    if (random !== null) return `[a-z0-9]{${random[1]}}`;
    return Object.hasOwn(placeholders, name) ? placeholders[name]! : part;
  });
  return new RegExp(`^${source.join('')}$`);
}

/** The first place where the answer differs; undefined if it does not. */
export function difference(actual: unknown, expected: unknown, path = ''): string | undefined {
  if (typeof expected === 'string') {
    const isSame = typeof actual === 'string' && (actual === expected || patternOf(expected).test(actual));
    return isSame ? undefined : `${path}: got ${show(actual)}, want ${show(expected)}`;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${path}: got ${show(actual)}, want a list`;
    if (actual.length !== expected.length) return `${path}: got ${show(actual)}, want ${show(expected)}`;
    return firstOf(expected.map((_, index) => () => difference(actual[index], expected[index], `${path}[${index}]`)));
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null || Array.isArray(actual))
      return `${path}: got ${show(actual)}, want ${show(expected)}`;
    const [left, right] = [actual as Record<string, unknown>, expected as Record<string, unknown>];
    const keys = [...new Set([...Object.keys(right), ...Object.keys(left)])];
    return firstOf(
      keys.map((key) => () => {
        if (!Object.hasOwn(right, key)) return `${path}.${key}: got ${show(left[key])}, want nothing`;
        if (!Object.hasOwn(left, key)) return `${path}.${key}: got nothing, want ${show(right[key])}`;
        return difference(left[key], right[key], `${path}.${key}`);
      }),
    );
  }
  return actual === expected ? undefined : `${path}: got ${show(actual)}, want ${show(expected)}`;
}

function firstOf(checks: (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const found = check();
    if (found !== undefined) return found;
  }
  return undefined;
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

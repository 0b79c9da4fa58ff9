/** Sorts names in natural order: node-9 before node-10. */

/** For sort(). Runs of digits are compared as numbers, all else by code unit; names that differ only in leading zeros, as texts. */
export function byNaturalOrder(a: string, b: string): number {
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (isDigit(a, i) && isDigit(b, j)) {
      const [from, other] = [afterZeros(a, i), afterZeros(b, j)];
      [i, j] = [afterDigits(a, from), afterDigits(b, other)];
      // Without leading zeros, the longer number is the larger one.
      if (i - from !== j - other) return i - from - (j - other);
      for (let at = 0; at < i - from; at++) {
        const difference = a.charCodeAt(from + at) - b.charCodeAt(other + at);
        if (difference !== 0) return difference;
      }
      continue;
    }
    const difference = a.charCodeAt(i) - b.charCodeAt(j);
    if (difference !== 0) return difference;
    i++;
    j++;
  }
  return a.length - i - (b.length - j) || (a < b ? -1 : a > b ? 1 : 0);
}

export const byName = (a: { name: string }, b: { name: string }): number => byNaturalOrder(a.name, b.name);

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}

function afterDigits(text: string, from: number): number {
  let at = from;
  while (isDigit(text, at)) at++;
  return at;
}

function afterZeros(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === 48 && isDigit(text, at + 1)) at++;
  return at;
}

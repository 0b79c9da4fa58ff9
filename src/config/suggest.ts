/** "Did you mean": finds the known name nearest to an unknown one. */

/** `memorySwap.swapBehavior` for `swapBehavior`: paths of fields that lie deeper than the name was written, at most three. */
export function deeper(name: string, paths: Iterable<string>): string[] {
  const end = `.${name.toLowerCase()}`;
  const found = [...paths].filter((path) => path.toLowerCase().endsWith(end) && !path.includes('[]'));
  return found.length > 3 ? [] : found;
}

/** Undefined when nothing is near enough to be meant. `least`: so many wrong letters are always allowed, as in `gt` for `get`. */
export function nearest(name: string, known: Iterable<string>, { least = 0 } = {}): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  // A third of the letters may be wrong, at most three.
  let limit = Math.max(least, Math.min(3, Math.floor(wanted.length / 3))) + 1;
  if (wanted.length > 100) return undefined;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase(), limit);
    if (distance < limit) {
      limit = distance;
      best = candidate;
    }
  }
  return best;
}

/** Letters to insert, delete, replace or swap; stops counting at `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, beforePrevious[j - 2]! + 1);
      row.push(best);
    }
    if (Math.min(...row) >= limit) return limit;
    [beforePrevious, previous] = [previous, row];
  }
  return previous[b.length]!;
}

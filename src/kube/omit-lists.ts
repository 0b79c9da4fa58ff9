/**
 * Removes large lists that are not needed from a response before it is parsed: in a Node the list of images is larger than
 * all the rest. The API has no way to request objects without them.
 */

/**
 * Fields that hold lists of objects become empty lists. The first `}]` after its start counts as the end of a list; where a
 * string contains that, the result is not valid JSON and the caller must request the whole response.
 */
export function omitLists(bytes: Buffer, fields: readonly string[]): Buffer {
  const marks = fields.map((field) => Buffer.from(`"${field}":[{`));
  const next = marks.map((mark) => bytes.indexOf(mark));
  const kept: Buffer[] = [];
  for (let from = 0; ; ) {
    let first = -1;
    for (const [index, at] of next.entries()) if (at >= 0 && (first < 0 || at < next[first]!)) first = index;
    if (first < 0) return from === 0 ? bytes : Buffer.concat([...kept, bytes.subarray(from)]);
    const begin = next[first]! + marks[first]!.length - 1;
    const end = bytes.indexOf('}]', begin);
    if (end < 0) return bytes;
    kept.push(bytes.subarray(from, begin));
    from = end + 1;
    for (const [index, mark] of marks.entries())
      if (next[index]! >= 0 && next[index]! < from) next[index] = bytes.indexOf(mark, from);
  }
}

/**
 * Takes large lists that nobody asked for out of an answer before it is read: of a Node, the images on its disk are more
 * than all the rest. The server cannot be asked to leave them out.
 */

/**
 * Fields that hold lists of objects become empty lists. The end of such a list is the first `}]` behind its begin; where a
 * string has that, the text is broken afterwards, and whoever cannot parse it must take the whole one instead.
 */
export function leaveOut(bytes: Buffer, fields: readonly string[]): Buffer {
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

/**
 * Finds a byte order mark inside a document that Go's YAML reader may misread. The reader removes a mark at the very beginning, and
 * treats a later one as a character, with one exception: if it is the first character in the buffer when the buffer is refilled, Go
 * drops the first character of each line in the buffer. Which mark that is depends on the scanner's state, so every mark that can get
 * there is an error.
 */

/** Bytes that Go's reader adds to its buffer at once, without a character that is cut off. */
const chunkBytes = 512;
/** The reader looks at most 4 characters ahead: a mark and two more, of up to 4 bytes, may be left when the buffer is filled. */
const leftBytes = 12;

/** Index of a byte order mark that Go may misread. */
export function misreadMark(text: string): number | undefined {
  if (!text.includes('\ufeff', 1)) return undefined;
  const bytes = new TextEncoder().encode(text);
  const start = isMark(bytes, 0) ? 3 : 0;
  for (let chunkEnd = start; ; chunkEnd = nextEnd(bytes, chunkEnd === start ? 0 : chunkEnd)) {
    for (let at = Math.max(start, chunkEnd - leftBytes); at <= chunkEnd; at++)
      if (isMark(bytes, at)) return characters(bytes.subarray(0, at));
    if (chunkEnd >= bytes.length) return undefined;
  }
}

function nextEnd(bytes: Uint8Array, chunkStart: number): number {
  let end = Math.min(chunkStart + chunkBytes, bytes.length);
  while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--;
  return end;
}

const isMark = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf;

const characters = (bytes: Uint8Array): number => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes).length;

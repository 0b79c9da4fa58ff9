/**
 * Frames in a file: each is one write, with a checksum.
 *
 *     magic │ length of the body │ crc32 of the body │ body
 *       4   │         4          │         4         │
 *
 * A write starts only when the one before is on disk. So a crash can leave one incomplete frame, at the end of the file: it was never
 * acknowledged. Any other frame that cannot be read was acknowledged and is damaged.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/** Not UTF-8, so the JSON in a body never contains it. */
const magic = Buffer.from([0xff, 0x72, 0x6c, 0xfe]);
const headBytes = 12;
/** Disks write whole sectors: an incomplete write leaves whole sectors unwritten. */
const sectorBytes = 512;

export class DamagedFile extends Error {
  constructor(path: string, where: string, options?: ErrorOptions) {
    super(
      `${path} is damaged ${where}; it was not changed. Start with an empty store: 'relet up --fresh', or another --data-dir`,
      options,
    );
    this.name = 'DamagedFile';
  }
}

export function frame(body: readonly Buffer[]): Buffer {
  const framed = Buffer.concat([Buffer.alloc(headBytes), ...body]);
  magic.copy(framed);
  framed.writeUInt32BE(framed.length - headBytes, 4);
  framed.writeUInt32BE(crc32(framed.subarray(headBytes)), 8);
  return framed;
}

export interface ReadFramesOptions {
  path: string;
  /** The last frame may be incomplete; it is left out. */
  mayEndIncomplete: boolean;
}

/** Decodes the body of every frame; returns how many bytes of the file are whole frames. Throws DamagedFile. */
export function* readFrames<T>(
  { path, mayEndIncomplete }: ReadFramesOptions,
  decode: (body: Buffer) => T,
): Generator<T, number> {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    let at = 0;
    while (at < size) {
      const body = readBody(fd, at, size);
      if (body === undefined) {
        if (!mayEndIncomplete || !isIncompleteEnd(readRange(fd, at, size), at)) {
          throw new DamagedFile(path, `at byte ${at}: the checksum does not match`);
        }
        return at;
      }
      yield decodeAt(path, at, () => decode(body));
      at += headBytes + body.length;
    }
    return at;
  } finally {
    closeSync(fd);
  }
}

function decodeAt<T>(path: string, at: number, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    throw new DamagedFile(path, `at byte ${at}: ${(cause as Error).message}`, { cause });
  }
}

/** Undefined when there is no whole frame at this offset. */
function readBody(fd: number, at: number, size: number): Buffer | undefined {
  if (size - at < headBytes) return undefined;
  const head = readRange(fd, at, at + headBytes);
  const end = at + headBytes + head.readUInt32BE(4);
  if (!head.subarray(0, 4).equals(magic) || end > size) return undefined;
  const body = readRange(fd, at + headBytes, end);
  return crc32(body) === head.readUInt32BE(8) ? body : undefined;
}

function readRange(fd: number, from: number, to: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(to - from);
  for (let done = 0; done < bytes.length; ) {
    const read = readSync(fd, bytes, done, bytes.length - done, from + done);
    if (read === 0) throw new Error('the file became shorter while it was read');
    done += read;
  }
  return bytes;
}

/** Whether `rest`, which begins with a broken frame, is one write that a crash interrupted. */
function isIncompleteEnd(rest: Buffer, offset: number): boolean {
  if (hasFrame(rest)) return false;
  if (rest.length < headBytes) return true;
  // The body is complete, so the length is what is wrong.
  if (crc32(rest.subarray(headBytes)) === rest.readUInt32BE(8)) return false;
  const isShort = headBytes + rest.readUInt32BE(4) > rest.length;
  return isShort || hasUnwrittenSector(rest, offset);
}

function hasFrame(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(magic); at !== -1; at = bytes.indexOf(magic, at + 1)) {
    if (bytes.length - at < headBytes) return false;
    const body = bytes.subarray(at + headBytes, at + headBytes + bytes.readUInt32BE(at + 4));
    if (body.length === bytes.readUInt32BE(at + 4) && crc32(body) === bytes.readUInt32BE(at + 8)) return true;
  }
  return false;
}

function hasUnwrittenSector(bytes: Buffer, offset: number): boolean {
  let from = 0;
  while (from < bytes.length) {
    const to = from + sectorBytes - ((offset + from) % sectorBytes);
    if (bytes.subarray(from, to).every((byte) => byte === 0)) return true;
    from = to;
  }
  return false;
}

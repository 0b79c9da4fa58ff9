/**
 * Messages of D-Bus in bytes, as the specification has them: little-endian, each value aligned to its size. Pure; dbus.ts sends and
 * receives them. A variant is read as the value in it and written as `variant(signature, value)`; a dictionary is read as an object.
 */

export type MessageKind = 'call' | 'return' | 'error' | 'signal';

export interface Message {
  kind: MessageKind;
  serial: number;
  path?: string;
  interface?: string;
  member?: string;
  errorName?: string;
  replyTo?: number;
  destination?: string;
  signature?: string;
  body: unknown[];
}

const kinds: readonly MessageKind[] = ['call', 'return', 'error', 'signal'];
const little = 'l'.charCodeAt(0);
const big = 'B'.charCodeAt(0);
const headerSignature = 'yyyyuua(yv)';
const fixedHeader = 16;
/** As the specification limits them. */
const mostBytes = 128 * 1024 * 1024;
const mostDepth = 64;

/** Header fields by their codes; what is not listed (sender, number of file descriptors) is not used. */
const fields = [
  [1, 'path', 'o'],
  [2, 'interface', 's'],
  [3, 'member', 's'],
  [4, 'errorName', 's'],
  [5, 'replyTo', 'u'],
  [6, 'destination', 's'],
  [8, 'signature', 'g'],
] as const;

export class Variant {
  readonly signature: string;
  readonly value: unknown;

  constructor(signature: string, value: unknown) {
    this.signature = signature;
    this.value = value;
  }
}

export const variant = (signature: string, value: unknown): Variant => new Variant(signature, value);

export function encodeMessage(message: Message): Buffer {
  const body = new Writer();
  const types = typesIn(message.signature ?? '');
  for (const [at, type] of types.entries()) body.write(type, message.body[at]);
  const header = new Writer();
  const given = fields.flatMap(([code, name, type]) => {
    const value = message[name];
    return value === undefined || value === '' ? [] : [[code, variant(type, value)]];
  });
  const values = [little, kinds.indexOf(message.kind) + 1, 0, 1, body.length, message.serial, given];
  for (const [at, type] of typesIn(headerSignature).entries()) header.write(type, values[at]);
  header.align(8);
  return Buffer.concat([header.bytes(), body.bytes()]);
}

/** The first message in these bytes and how long it is; undefined while it is not complete. Throws on what is not D-Bus. */
export function decodeMessage(bytes: Buffer): { message: Message; length: number } | undefined {
  if (bytes.length < fixedHeader) return undefined;
  const endian = bytes[0];
  if (endian !== little && endian !== big) throw new Error(`D-Bus: not a message: byte order ${endian}`);
  const uint32At = (at: number) => (endian === little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const length = align(fixedHeader + uint32At(12), 8) + uint32At(4);
  if (length > mostBytes) throw new Error(`D-Bus: a message of ${length} bytes`);
  if (bytes.length < length) return undefined;
  const reader = new Reader(bytes.subarray(0, length), endian === little);
  const [, kind, , , , serial, given] = typesIn(headerSignature).map((type) => reader.read(type));
  reader.align(8);
  const named = (given as [number, unknown][]).flatMap(([code, value]) => {
    const [, name, type] = fields.find(([known]) => known === code) ?? [];
    if (name !== undefined && typeof value !== (type === 'u' ? 'number' : 'string'))
      throw new Error(`D-Bus: the ${name} of a message is not a ${type === 'u' ? 'number' : 'text'}`);
    return name === undefined ? [] : [[name, value]];
  });
  const header = Object.fromEntries(named) as Partial<Message>;
  const body = typesIn(header.signature ?? '').map((type) => reader.read(type));
  const message: Message = { kind: kinds[(kind as number) - 1] ?? 'signal', serial: serial as number, ...header, body };
  return { message, length };
}

/** `sa(sv)` → `s`, `a(sv)`. */
export function typesIn(signature: string): string[] {
  const types: string[] = [];
  for (let at = 0; at < signature.length; ) {
    const end = endOfType(signature, at);
    types.push(signature.slice(at, end));
    at = end;
  }
  return types;
}

function endOfType(signature: string, at: number): number {
  const first = signature[at];
  if (first === 'a') return endOfType(signature, at + 1);
  const closing = first === '(' ? ')' : first === '{' ? '}' : undefined;
  if (closing === undefined) {
    if (first === undefined || !Object.hasOwn(sizes, first)) throw new Error(`D-Bus: not a type: ${signature}`);
    return at + 1;
  }
  let next = at + 1;
  while (next < signature.length && signature[next] !== closing) next = endOfType(signature, next);
  // A structure without members takes no bytes, so that an array of them would not end.
  if (next >= signature.length || next === at + 1) throw new Error(`D-Bus: not a type: ${signature}`);
  return next + 1;
}

/** Alignment of each type, which for numbers is their size. */
const sizes: Readonly<Record<string, number>> = {
  ...{ y: 1, g: 1, v: 1, n: 2, q: 2, b: 4, i: 4, u: 4, h: 4, s: 4, o: 4, a: 4 },
  ...{ x: 8, t: 8, d: 8, '(': 8, '{': 8 },
};

const align = (at: number, size: number): number => Math.ceil(at / size) * size;
const members = (type: string): string[] => typesIn(type.slice(1, -1));

class Writer {
  #bytes = Buffer.alloc(256);
  length = 0;

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  align(size: number): void {
    this.#take(align(this.length, size) - this.length);
  }

  write(type: string, value: unknown): void {
    const kind = type[0]!;
    this.align(sizes[kind]!);
    if (kind === 'v') {
      const { signature, value: inner } = value as Variant;
      this.write('g', signature);
      this.write(signature, inner);
    } else if (kind === 'a') this.#writeArray(type.slice(1), value as unknown[]);
    else if (kind === '(' || kind === '{')
      for (const [at, member] of members(type).entries()) this.write(member, (value as unknown[])[at]);
    else if (kind === 's' || kind === 'o' || kind === 'g') this.#writeText(kind, String(value));
    else this.#writeNumber(kind, value as number | boolean);
  }

  #writeArray(type: string, items: unknown[]): void {
    const at = this.#take(4);
    this.align(sizes[type[0]!]!);
    const start = this.length;
    for (const item of items) this.write(type, item);
    this.#bytes.writeUInt32LE(this.length - start, at);
  }

  #writeText(kind: string, text: string): void {
    const bytes = Buffer.from(text);
    if (bytes.includes(0)) throw new Error('D-Bus: a text must not contain NUL');
    const size = kind === 'g' ? 1 : 4;
    const at = this.#take(size + bytes.length + 1);
    this.#bytes.writeUIntLE(bytes.length, at, size);
    bytes.copy(this.#bytes, at + size);
  }

  #writeNumber(kind: string, value: number | boolean): void {
    const at = this.#take(sizes[kind]!);
    if (kind === 'd') this.#bytes.writeDoubleLE(Number(value), at);
    else if (kind === 'x') this.#bytes.writeBigInt64LE(BigInt(value), at);
    else if (kind === 't') this.#bytes.writeBigUInt64LE(BigInt(value), at);
    else if (kind === 'n' || kind === 'i') this.#bytes.writeIntLE(Number(value), at, sizes[kind]!);
    else this.#bytes.writeUIntLE(Number(value), at, sizes[kind]!);
  }

  /** Room for as many bytes, all zero. */
  #take(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(Math.max(this.length, this.#bytes.length))]);
    return at;
  }
}

/** Reading beyond the end throws. */
class Reader {
  readonly #bytes: Buffer;
  readonly #isLittle: boolean;
  #at = 0;
  #depth = 0;

  constructor(bytes: Buffer, isLittle: boolean) {
    this.#bytes = bytes;
    this.#isLittle = isLittle;
  }

  align(size: number): void {
    this.#at = align(this.#at, size);
  }

  read(type: string): unknown {
    const kind = type[0]!;
    if (kind !== 'v') this.align(sizes[kind]!);
    if ('va({'.includes(kind)) {
      if (++this.#depth > mostDepth) throw new Error(`D-Bus: more than ${mostDepth} values in each other`);
      const value = this.#readContainer(kind, type);
      this.#depth--;
      return value;
    }
    if (kind === 's' || kind === 'o' || kind === 'g') return this.#readText(kind);
    const value = this.#readNumber(kind);
    return kind === 'b' ? value !== 0 : value;
  }

  #readContainer(kind: string, type: string): unknown {
    if (kind === 'a') return this.#readArray(type.slice(1));
    if (kind !== 'v') return members(type).map((member) => this.read(member));
    const [inner, ...others] = typesIn(this.read('g') as string);
    if (inner === undefined || others.length > 0) throw new Error('D-Bus: a variant has one value');
    return this.read(inner);
  }

  #readArray(type: string): unknown {
    const length = this.#readNumber('u');
    this.align(sizes[type[0]!]!);
    const end = this.#at + length;
    const items: unknown[] = [];
    while (this.#at < end) items.push(this.read(type));
    if (this.#at !== end) throw new Error('D-Bus: an array is not as long as it says');
    return type.startsWith('{') ? Object.fromEntries(items as [string, unknown][]) : items;
  }

  #readText(kind: string): string {
    const length = this.#readNumber(kind === 'g' ? 'y' : 'u');
    const at = this.#take(length + 1);
    return this.#bytes.toString('utf8', at, at + length);
  }

  /** Times in microseconds and counts are exact; what is above 2^53, such as `infinity`, is near enough. */
  #readNumber(kind: string): number {
    const size = sizes[kind]!;
    const at = this.#take(size);
    const bytes = this.#isLittle ? this.#bytes.subarray(at, at + size) : reversed(this.#bytes.subarray(at, at + size));
    if (kind === 'd') return bytes.readDoubleLE();
    if (kind === 'x') return Number(bytes.readBigInt64LE());
    if (kind === 't') return Number(bytes.readBigUInt64LE());
    return kind === 'n' || kind === 'i' ? bytes.readIntLE(0, size) : bytes.readUIntLE(0, size);
  }

  #take(count: number): number {
    const at = this.#at;
    this.#at += count;
    if (this.#at > this.#bytes.length) throw new Error('D-Bus: a value goes beyond the end of its message');
    return at;
  }
}

const reversed = (bytes: Buffer): Buffer => Buffer.from(bytes).reverse();

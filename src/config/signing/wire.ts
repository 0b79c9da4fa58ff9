/** Reads and writes SSH's binary data types (RFC 4251): big-endian numbers, and strings with their length before them. */

export interface WireReader {
  byte(): number;
  uint32(): number;
  string(): Buffer;
  /** A string that is text. */
  text(): string;
  /** A whole number above 0, without leading zeros. */
  mpint(): Buffer;
  /** Throws when something is left. */
  end(): void;
}

/** Reading beyond the end throws. */
export function readWire(data: Buffer): WireReader {
  let at = 0;
  const take = (length: number): Buffer => {
    if (length > data.length - at) throw new Error('the data ends too early');
    at += length;
    return data.subarray(at - length, at);
  };
  const uint32 = () => take(4).readUInt32BE();
  const string = () => take(uint32());
  return {
    byte: () => take(1).readUInt8(),
    uint32,
    string,
    text: () => string().toString('latin1'),
    mpint() {
      const number = string();
      const first = number.findIndex((byte) => byte !== 0);
      if (first === -1 || number[0]! > 0x7f) throw new Error('a number in it is not above 0');
      return number.subarray(first);
    },
    end() {
      if (at < data.length) throw new Error('there is data behind its end');
    },
  };
}

export function wireString(data: Uint8Array | string): Buffer {
  const bytes = Buffer.from(data);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Deterministic randomness: the same for every run with the same seed. Each part of a simulation has its own stream. */
import { createHash } from 'node:crypto';
import type { Random } from '../../random.js';

export interface SeededRandom extends Random {
  /** A whole number, at least 0 and less than `below`. */
  below(below: number): number;
  pick<T>(list: readonly T[]): T;
  /** True so often: 0.1 is once in ten times. */
  chance(share: number): boolean;
  /** The stream of one entity: what others draw does not change it. */
  stream(name: string): SeededRandom;
}

export function seededRandom(seed: string): SeededRandom {
  const next = generator(seed);
  const number = () => next() / 2 ** 32;
  const bytes = (length: number) => {
    const words = Uint32Array.from({ length: Math.ceil(length / 4) }, next);
    return Buffer.from(words.buffer).subarray(0, length);
  };
  return {
    bytes,
    number,
    uuid() {
      const id = bytes(16);
      id[6] = (id[6]! & 0x0f) | 0x40;
      id[8] = (id[8]! & 0x3f) | 0x80;
      return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    },
    below: (below) => Math.floor(number() * below),
    pick: (list) => list[Math.floor(number() * list.length)]!,
    chance: (share) => number() < share,
    stream: (name) => seededRandom(`${seed}/${name}`),
  };
}

/** The generator sfc32: whole numbers of 32 bits. */
function generator(seed: string): () => number {
  const start = createHash('sha256').update(seed).digest();
  let [a, b, c, count] = [0, 4, 8, 12].map((at) => start.readUInt32LE(at)) as [number, number, number, number];
  return () => {
    const sum = (a + b + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  };
}

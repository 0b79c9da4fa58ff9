/** Randomness that is the same in every run with the same seed. */
import { createHash } from 'node:crypto';
import type { Random } from '../src/random.js';

export function seededRandom(seed: string): Random {
  let count = 0;
  const block = () => createHash('sha256').update(`${seed} ${count++}`).digest();
  const bytes = (length: number) => {
    const blocks: Buffer[] = [];
    for (let have = 0; have < length; have += 32) blocks.push(block());
    return Buffer.concat(blocks).subarray(0, length);
  };
  return {
    bytes,
    number: () => block().readUInt32BE() / 2 ** 32,
    uuid() {
      const id = bytes(16);
      id[6] = (id[6]! & 0x0f) | 0x40;
      id[8] = (id[8]! & 0x3f) | 0x80;
      return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    },
  };
}

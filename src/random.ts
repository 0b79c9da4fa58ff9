/** The Random interface: the system's randomness in production, a seeded generator in tests and simulations. */
import { randomBytes, randomUUID } from 'node:crypto';

export interface Random {
  /** At least 0 and less than 1. */
  number(): number;
  bytes(length: number): Buffer;
  uuid(): string;
}

export const systemRandom: Random = { number: Math.random, bytes: randomBytes, uuid: randomUUID };

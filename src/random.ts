/** Randomness that can be injected: the system's in production, a seeded one in tests and simulations. */
import { randomBytes, randomUUID } from 'node:crypto';

export interface Random {
  /** At least 0 and less than 1. */
  number(): number;
  bytes(length: number): Buffer;
  uuid(): string;
}

export const systemRandom: Random = { number: Math.random, bytes: randomBytes, uuid: randomUUID };

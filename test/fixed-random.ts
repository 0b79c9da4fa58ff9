/** Randomness without surprise: every number is the given one. */
import { type Random, systemRandom } from '../src/random.js';

export const fixedRandom = (number: number): Random => ({ ...systemRandom, number: () => number });

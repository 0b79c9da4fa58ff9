/**
 * Traps for a simulation: whatever takes time, randomness, files or the network from the system throws while they are set. What is
 * already held by the test runner stays as it is.
 */
import crypto from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { systemClock } from '../src/clock.js';
import { systemRandom } from '../src/random.js';

type Owner = Record<string, unknown>;

const trapped: [Owner, string[]][] = [
  [globalThis as unknown as Owner, ['setTimeout', 'setInterval', 'setImmediate']],
  [Date as unknown as Owner, ['now']],
  [Math as unknown as Owner, ['random']],
  [AbortSignal as unknown as Owner, ['timeout']],
  [crypto as unknown as Owner, ['randomBytes', 'randomUUID', 'randomInt', 'randomFillSync']],
  [fs as unknown as Owner, ['readFileSync', 'writeFileSync', 'openSync', 'readdirSync', 'statSync', 'mkdirSync']],
  [net as unknown as Owner, ['connect', 'createConnection', 'createServer']],
  [systemClock as unknown as Owner, ['now', 'monotonic', 'sleep']],
  [systemRandom as unknown as Owner, ['number', 'bytes', 'uuid']],
];

/** Returns how to take them away. `onUse` is called with what was used; the user gets an error. */
export function setTraps(onUse: (name: string) => void): () => void {
  const undo: (() => void)[] = [];
  for (const [owner, names] of trapped)
    for (const name of names) {
      const original = owner[name];
      owner[name] = () => {
        onUse(name);
        throw new Error(`${name} is not part of the simulation`);
      };
      undo.push(() => (owner[name] = original));
    }
  const RealDate = Date;
  class TrappedDate extends RealDate {
    constructor(...args: unknown[]) {
      if (args.length === 0) {
        onUse('new Date()');
        throw new Error('new Date() is not part of the simulation');
      }
      super(...(args as [number]));
    }
  }
  globalThis.Date = TrappedDate as DateConstructor;
  undo.push(() => (globalThis.Date = RealDate));
  syncBuiltinESMExports();
  return () => {
    for (const one of undo) one();
    syncBuiltinESMExports();
  };
}

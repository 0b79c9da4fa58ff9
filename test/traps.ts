/**
 * Traps for a simulation: whatever takes time, randomness, files or the network from the system throws while they are set. What is
 * already held by the test runner stays as it is.
 */
import crypto from 'node:crypto';
import dgram from 'node:dgram';
import dns from 'node:dns';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { systemClock } from '../src/clock.js';
import { systemRandom } from '../src/random.js';

const timerNames = ['setTimeout', 'setInterval', 'setImmediate'];
const fileNames = [
  'access',
  'lstat',
  'mkdir',
  'open',
  'readFile',
  'readdir',
  'rename',
  'rm',
  'stat',
  'unlink',
  'writeFile',
];
const randomNames = ['randomBytes', 'randomUUID', 'randomInt', 'randomFill', 'randomFillSync'];

const trapped: [object, string[]][] = [
  [globalThis, timerNames],
  [timers, timerNames],
  [timersPromises, timerNames],
  [Date, ['now']],
  [Math, ['random']],
  [AbortSignal, ['timeout']],
  [crypto, randomNames],
  // Those of node:crypto are the same ones.
  [crypto.webcrypto, ['getRandomValues', 'randomUUID']],
  [fs, [...fileNames, ...fileNames.map((name) => `${name}Sync`), 'existsSync', 'watch', 'createReadStream']],
  [fs.promises, fileNames],
  [net, ['connect', 'createConnection', 'createServer']],
  [net.Socket.prototype, ['connect']],
  [dgram, ['createSocket']],
  [dns, ['lookup']],
  [systemClock, ['now', 'monotonic', 'sleep']],
  [systemRandom, ['number', 'bytes', 'uuid']],
];

/** Returns how to take them away. `onUse` is called with what was used; the user gets an error. */
export function setTraps(onUse: (name: string) => void): () => void {
  const undo: (() => void)[] = [];
  for (const [owner, names] of trapped)
    for (const name of names) {
      // Not by assignment: some are getters, some are inherited.
      const own = Object.getOwnPropertyDescriptor(owner, name);
      const value = () => {
        onUse(name);
        throw new Error(`${name} is not part of the simulation`);
      };
      Object.defineProperty(owner, name, { value, configurable: true, writable: true });
      undo.push(() => (own ? Object.defineProperty(owner, name, own) : Reflect.deleteProperty(owner, name)));
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

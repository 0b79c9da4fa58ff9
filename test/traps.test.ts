/** The traps of simulations: what takes time, randomness, files or the network from the system throws while they are set. */
import crypto from 'node:crypto';
import dns from 'node:dns';
import fs from 'node:fs';
import net from 'node:net';
import timersPromises from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { setTraps } from './traps.js';

describe('the traps', () => {
  const uses: [string, () => unknown][] = [
    ['setTimeout', () => setTimeout(() => {}, 0)],
    ['setImmediate', () => setImmediate(() => {})],
    ['setTimeout of timers/promises', () => timersPromises.setTimeout(0)],
    ['Date.now', () => Date.now()],
    ['new Date()', () => new Date()],
    ['Math.random', () => Math.random()],
    ['AbortSignal.timeout', () => AbortSignal.timeout(1)],
    ['randomBytes', () => crypto.randomBytes(1)],
    ['crypto.getRandomValues', () => globalThis.crypto.getRandomValues(new Uint8Array(1))],
    ['getRandomValues of node:crypto', () => crypto.getRandomValues(new Uint8Array(1))],
    ['readFileSync', () => fs.readFileSync('/dev/null')],
    ['fs.promises', () => fs.promises.readFile('/dev/null')],
    ['a socket', () => net.connect(1)],
    ['a socket that was made before', () => new net.Socket().connect(1)],
    ['a listener', () => net.createServer()],
    ['a name', () => dns.lookup('localhost', () => {})],
  ];

  test.each(uses)('throw when a simulation uses %s', (_name, use) => {
    let used = 0;
    const clear = setTraps(() => used++);
    onTestFinished(clear);
    expect(use).toThrow('is not part of the simulation');
    clear();
    expect(used).toBe(1);
  });
});

/** Whose answer it was. */
import { describe, expect, test } from 'vitest';
import type { PortOwner } from '../drivers/listeners.js';
import { ownsPorts, patienceMs } from './ports.js';

const child = { pid: 7, startTime: '1' };
const ports = { healthz: { host: '127.0.0.1', port: 10248 }, serves: { host: '0.0.0.0', port: 10250 } };

interface Situation {
  /** Of the healthz port and of the other one. */
  owners: [PortOwner, PortOwner];
  /** What is found under its pid after the ports were looked at. */
  after?: typeof child | undefined;
  process?: typeof child | undefined;
  answeredForMs?: number;
}

describe('an answer counts', () => {
  test.each<[string, Situation, object]>([
    ['when the kubelet has both ports', { owners: ['child', 'child'] }, { isAlive: true }],
    ['not when its main port is taken', { owners: ['child', 9] }, { isAlive: false, taken: { port: 10250, pid: 9 } }],
    ['not when another answers', { owners: [9, 'child'] }, { isAlive: false, taken: { port: 10248, pid: 9 } }],
    ['not while it has not opened its main port', { owners: ['child', 'nobody'] }, { isAlive: false }],
    [
      'when nobody opens that port, after a while',
      { owners: ['child', 'nobody'], answeredForMs: patienceMs },
      { isAlive: true },
    ],
    [
      'not when the kubelet has ended and relet has not noticed',
      { owners: ['nobody', 'nobody'], after: undefined, answeredForMs: patienceMs },
      { isAlive: false },
    ],
    [
      'not when its pid is that of another process by now',
      { owners: ['child', 'child'], after: { pid: 7, startTime: '2' } },
      { isAlive: false },
    ],
    ['not when relet has seen it end', { owners: ['child', 'child'], process: undefined }, { isAlive: false }],
  ])('%s', (_name, situation, expected) => {
    const { owners, answeredForMs = 0 } = situation;
    const host = {
      ownerOf: ({ port }: { port: number }) => owners[port === 10248 ? 0 : 1],
      identify: () => ('after' in situation ? situation.after : child),
    };
    const kubelet = { process: 'process' in situation ? situation.process : child };
    expect(ownsPorts({ host, kubelet }, ports, answeredForMs)).toEqual(expected);
  });

  test('also where a config opens no port, as long as the process lives', () => {
    const host = { ownerOf: () => 'nobody' as const, identify: () => child };
    const none = { healthz: undefined, serves: undefined };
    expect(ownsPorts({ host, kubelet: { process: child } }, none, 0)).toEqual({ isAlive: true });
  });
});

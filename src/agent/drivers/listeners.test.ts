/** Owners of ports: real sockets of real processes on this machine. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../../test/eventually.js';
import { Program, sendSignal } from '../../../test/program.js';
import { identify } from '../../proc.js';
import { addressOf, ownerOf } from './listeners.js';

/** A process that listens on a port of its own choice, through another one in front of it where there are words. */
async function listener(host: string, ...inFront: string[]) {
  const script = `const server = require('net').createServer().listen(0, '${host}', () => console.log(server.address().port))`;
  const [program, ...args] = [...inFront, process.execPath, '-e', script];
  const listening = new Program(program!, args, { isGroup: true });
  onTestFinished(() => listening.kill('SIGKILL'));
  const [line] = await listening.printed(/\d+(?=\n)/);
  return { identity: identify(listening.pid)!, port: Number(line) };
}

/** A listener that was there before any of them. */
async function listenHere(host: string): Promise<number> {
  const server = createServer();
  onTestFinished(() => void server.close());
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}

describe('a port of the kubelet', () => {
  test('that it listens on itself is its own', async () => {
    const { identity, port } = await listener('127.0.0.1');
    expect(ownerOf({ host: '127.0.0.1', port }, identity)).toBe('kubelet');
  });

  test('that a process of its own listens on is its own: there may be a script in front of it', async () => {
    const { identity, port } = await listener('127.0.0.1', 'sh', '-c', '"$@" & wait', 'sh');
    expect(ownerOf({ host: '127.0.0.1', port }, identity)).toBe('kubelet');
  });

  test.each(['127.0.0.1', '0.0.0.0', '::'])('that an older process has on %s is not', async (address) => {
    const port = await listenHere(address);
    const { identity } = await listener('127.0.0.1');
    expect(ownerOf({ host: '127.0.0.1', port }, identity)).toEqual({ other: `pid ${process.pid}` });
    expect(ownerOf({ host: '0.0.0.0', port }, identity)).toEqual({ other: `pid ${process.pid}` });
  });

  test('that another has on another address does not concern it', async () => {
    const port = await listenHere('127.0.0.2');
    const { identity } = await listener('127.0.0.1');
    expect(ownerOf({ host: '127.0.0.1', port }, identity)).toBe('nobody');
  });

  test('that a younger process of the same user has may be the kubelet in a container: it is believed', async () => {
    const { identity } = await listener('127.0.0.1');
    const { port } = await listener('127.0.0.1');
    expect(ownerOf({ host: '127.0.0.1', port }, identity)).toBe('kubelet');
  });

  test('that it had is nobody’s once it has ended', async () => {
    const { identity, port } = await listener('127.0.0.1');
    sendSignal(identity.pid, 'SIGKILL');
    await eventually('ended', () => identify(identity.pid) === undefined);
    expect(ownerOf({ host: '127.0.0.1', port }, identity)).toBe('nobody');
  });

  test('that nobody has is nobody’s', async () => {
    const { identity } = await listener('127.0.0.1');
    expect(ownerOf({ host: '127.0.0.1', port: 1 }, identity)).toBe('nobody');
  });
});

test.each([
  ['0100007F', '127.0.0.1'],
  ['0A4D12C6', '198.18.77.10'],
  ['00000000000000000000000000000000', '::'],
  ['00000000000000000000000001000000', '::1'],
  ['0000000000000000FFFF00000100007F', '127.0.0.1'],
])('the address %s is %s', (hex, address) => expect(addressOf(hex)).toBe(address));

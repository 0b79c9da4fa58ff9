/** Addresses and ports of a system on one machine. */
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import {
  ApiPortTaken,
  decideNetwork,
  firstAddressFor,
  isFree,
  type Network,
  nodeAddress,
  runOnFreePort,
} from './network.js';

const question = { dir: '/home/ann/.relet', nodes: 3, askedPort: undefined, remembered: undefined };
const free = async () => true;

test('nodes have one loopback address each, counted up over the edges of bytes', () => {
  const network = { firstAddress: '127.7.8.254' };
  expect([0, 1, 2, 300].map((index) => nodeAddress(network, index))).toEqual([
    '127.7.8.254',
    '127.7.8.255',
    '127.7.9.0',
    '127.7.10.42',
  ]);
});

test('systems in different directories have different addresses, the same one always the same', () => {
  expect(firstAddressFor('/a')).toBe(firstAddressFor('/a'));
  expect(firstAddressFor('/a')).not.toBe(firstAddressFor('/b'));
  for (const dir of Array.from({ length: 200 }, (_, index) => `/dir-${index}`))
    expect(firstAddressFor(dir)).toMatch(/^127\.([1-9]|\d{2}|1\d\d|2[0-4]\d|25[0-4])\.\d*[02468]\.1$/);
});

test('the usual ports are taken where they are free', async () => {
  expect(await decideNetwork({ ...question, isFree: free })).toEqual({
    apiPort: 6443,
    firstAddress: firstAddressFor('/home/ann/.relet'),
    kubeletPort: 10250,
    healthzPort: 10248,
    metricsPort: 10269,
  });
});

test('a new system moves away from ports that are taken, and from no others', async () => {
  const taken = new Set([6443, 10250]);
  const network = await decideNetwork({ ...question, isFree: async (_host, port) => !taken.has(port) });
  expect(network).toMatchObject({ kubeletPort: 11250, healthzPort: 10248, metricsPort: 10269 });
  expect(network.apiPort).not.toBe(6443);
});

test('a real kubelet needs its ports on all addresses of the machine', async () => {
  const asked: string[] = [];
  const isFree = async (host: string, port: number) => {
    asked.push(`${host}:${port}`);
    return port !== 10250;
  };
  expect(await decideNetwork({ ...question, nodes: 1, isReal: true, isFree })).toMatchObject({ kubeletPort: 11250 });
  expect(asked).toContain('0.0.0.0:11250');
});

test('a port that was asked for, or is in use for this system, is not replaced by another', async () => {
  const nothing = async () => false;
  await expect(decideNetwork({ ...question, askedPort: 7000, isFree: nothing })).rejects.toThrow(
    'port 7000 is taken by another program: stop that, or give another with --port (0: any)',
  );
  const remembered = await decideNetwork({ ...question, isFree: free });
  await expect(decideNetwork({ ...question, remembered, isFree: nothing })).rejects.toThrow('port 6443 is taken');
  const kubeletTaken = async (_host: string, port: number) => port !== 10250;
  await expect(decideNetwork({ ...question, remembered, isFree: kubeletTaken })).rejects.toThrow(
    `${remembered.firstAddress}:10250, where a node of this system listens, is taken`,
  );
});

test('what another program listens on is seen to be taken', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  expect(await isFree('127.0.0.1', port)).toBe(false);
  await new Promise((resolve) => server.close(resolve));
  expect(await isFree('127.0.0.1', port)).toBe(true);
});

test('a port that another program takes before the API server starts is replaced, once, unless it was asked for', async () => {
  const tried: number[] = [];
  const takenOnce = async ({ apiPort }: Network) => {
    tried.push(apiPort);
    if (tried.length === 1) throw new ApiPortTaken('taken meanwhile');
  };
  await runOnFreePort({ ...question, isFree: free }, takenOnce);
  expect(tried).toHaveLength(2);
  expect(tried[1]).not.toBe(tried[0]);
  tried.length = 0;
  await expect(runOnFreePort({ ...question, askedPort: 7000, isFree: free }, takenOnce)).rejects.toThrow('taken');
  expect(tried).toEqual([7000]);
});

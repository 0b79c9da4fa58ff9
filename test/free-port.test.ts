/** Ports that tests hand to processes they start later. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { freePort } from './free-port.js';

test('no port is given out twice, not even to another process', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  expect(new Set(ports).size).toBe(50);
  const script = `require('net').createServer().listen({ path: '\\0relet-test-port-${ports[0]}' }).on('error', () => process.exit(7))`;
  expect(spawnSync(process.execPath, ['-e', script]).status).toBe(7);
});

test('the kernel gives it to nobody who takes any port', async () => {
  const [low, high] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/).map(Number);
  const port = await freePort();
  expect(port < low! || port > high!).toBe(true);
});

/**
 * A port for a server that is started later, perhaps by another process. Nobody gets it in between: it is outside the range
 * from which the kernel takes ports by itself, and a socket in the abstract namespace reserves it against other tests on this
 * machine until the process that asked has ended.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type ListenOptions, type Server } from 'node:net';

const [lowest] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/).map(Number);
const range = lowest! > 25_000 ? { from: 15_000, to: lowest! } : { from: 61_000, to: 65_535 };

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 1000; tries++) {
    const port = range.from + Math.floor(Math.random() * (range.to - range.from));
    const reservation = await listening({ path: `\0relet-test-port-${port}` });
    if (reservation === undefined) continue;
    const server = await listening({ port });
    if (server !== undefined) {
      await new Promise((resolve) => server.close(resolve));
      reservation.unref();
      return port;
    }
    reservation.close();
  }
  throw new Error(`no port from ${range.from} to ${range.to} is free`);
}

async function listening(where: ListenOptions): Promise<Server | undefined> {
  const server = createServer().listen(where);
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}

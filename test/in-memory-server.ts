/** The API server in memory for a test: no socket, a clock that the test moves, seeded randomness. */
import { createClient, type KubeClient } from '../src/kube/client.js';
import type { Transport } from '../src/kube/transport.js';
import { newSigningKey } from '../src/lab/apiserver/access/json-web-token.js';
import { createControlPlane } from '../src/lab/apiserver/apiserver.js';
import { servedBy } from '../src/lab/faults/server.js';
import { inMemoryTransport } from '../src/rehearsal/simulation/in-memory-transport.js';
import { seededRandom } from '../src/rehearsal/simulation/seeded-random.js';
import { connectionSource } from './connection-source.js';
import { ManualClock } from './manual-clock.js';

const signingKey = newSigningKey();

/** Everybody may do everything. The caller closes `plane`. */
export async function startInMemoryServer(seed: string) {
  const clock = new ManualClock();
  const random = seededRandom(seed);
  const plane = await createControlPlane({
    clock,
    random,
    modes: ['AlwaysAllow'],
    anonymous: true,
    serviceAccountKey: signingKey,
    kubeletClient: { cert: '', key: '' },
    ownPort: () => undefined,
    address: () => '127.0.0.1:6443',
  });
  const transport = inMemoryTransport(servedBy(plane.handle));
  // A name that no resolver knows: a connection over the network would fail.
  const server = 'http://cluster.invalid';
  const connection = { server, cluster: {}, user: {}, userName: '', namespace: 'default', contextName: '' };
  const source = connectionSource({ connection, clock });
  const clientOver = (over: Transport): KubeClient =>
    createClient({ source, transport: over, clock, random, userAgent: 'test' });
  return { clock, plane, transport, clientOver };
}

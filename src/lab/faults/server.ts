/** The API server of a fault schedule: the lab's own, in memory, with its access rules and admission policies. */
import { X509Certificate } from 'node:crypto';
import { inMemoryTransport, type Serve } from '../../rehearsal/simulation/in-memory-transport.js';
import { admin, applyManifests, clientAs, groupsOf, type StartServer } from '../../rehearsal/simulation/server.js';
import { newSigningKey } from '../apiserver/access/json-web-token.js';
import { createControlPlane } from '../apiserver/apiserver.js';
import type { Handle } from '../apiserver/handler.js';
import { InMemoryPeer } from '../apiserver/http/peer-exchange.js';
import { LaggingStore } from './lagging-store.js';

/** Created once: a key needs the system's randomness, and no token is signed with it here. */
let signingKey: string | undefined;

export const startFullServer: StartServer = async ({ clock, random, manifests }) => {
  signingKey ??= newSigningKey();
  const options = {
    clock,
    dynamicKubeletConfig: false,
    // Nobody reads them here, and they are half of the bytes of an object.
    managedFields: false,
    // Only the last one of each watch: most events of a simulation would be bookmarks.
    bookmarkMs: Number.POSITIVE_INFINITY,
    nodeConfigAccess: 'manual' as const,
    tokens: [{ authenticate: (token: string) => ({ user: { name: token, groups: groupsOf(token) } }) }],
    serviceAccountKey: signingKey,
    kubeletClient: { cert: '', key: '' },
    ownPort: () => undefined,
    address: () => '127.0.0.1:6443',
  };
  const plane = await createControlPlane({ ...options, random });
  const planes = [plane];
  const transport = inMemoryTransport(servedBy(plane.handle));
  await applyManifests(clientAs(admin, { transport, clock, random }), manifests);
  return {
    store: plane.store,
    transport,
    async another(random) {
      const store = new LaggingStore(plane.store);
      const other = await createControlPlane({ ...options, random, sharedStore: store });
      planes.unshift(other);
      const fallBehind = () => store.fallBehind();
      return { transport: inMemoryTransport(servedBy(other.handle)), fallBehind, catchUp: () => store.catchUp() };
    },
    async close() {
      for (const one of planes) await one.close();
    },
  };
};

/** Calls a handler of the API server in this process. */
export function servedBy(handle: Handle): Serve {
  return ({ tls, ...request }, sink) => {
    const clientCertificate = tls.cert === undefined ? {} : { clientCertificate: new X509Certificate(tls.cert) };
    const exchange = new InMemoryPeer({ ...request, ...clientCertificate }, sink);
    return { answered: handle(exchange), disconnect: () => exchange.close() };
  };
}

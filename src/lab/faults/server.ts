/** The API server of a fault schedule: the lab's own, in memory, with its access rules and admission policies. */
import { X509Certificate } from 'node:crypto';
import { inMemoryTransport, type Serve } from '../../rehearsal/simulation/in-memory-transport.js';
import { admin, applyManifests, clientAs, groupsOf, type StartServer } from '../../rehearsal/simulation/server.js';
import { newSigningKey } from '../apiserver/access/json-web-token.js';
import { createControlPlane } from '../apiserver/apiserver.js';
import type { Handle } from '../apiserver/handler.js';
import { InMemoryPeer } from '../apiserver/http/peer-exchange.js';

/** Created once: a key needs the system's randomness, and no token is signed with it here. */
let signingKey: string | undefined;

export const startFullServer: StartServer = async ({ clock, random, manifests }) => {
  signingKey ??= newSigningKey();
  const plane = await createControlPlane({
    clock,
    random,
    dynamicKubeletConfig: false,
    // Nobody reads them here, and they are half of the bytes of an object.
    managedFields: false,
    // Only the last one of each watch: most events of a simulation would be bookmarks.
    bookmarkMs: Number.POSITIVE_INFINITY,
    nodeConfigAccess: 'manual',
    tokens: [{ authenticate: (token) => ({ user: { name: token, groups: groupsOf(token) } }) }],
    serviceAccountKey: signingKey,
    kubeletClient: { cert: '', key: '' },
    ownPort: () => undefined,
    address: () => '127.0.0.1:6443',
  });
  const transport = inMemoryTransport(servedBy(plane.handle));
  await applyManifests(clientAs(admin, { transport, clock, random }), manifests);
  return { store: plane.store, transport, close: () => plane.close() };
};

/** Calls a handler of the API server in this process. */
export function servedBy(handle: Handle): Serve {
  return ({ tls, ...request }, sink) => {
    const clientCertificate = tls.cert === undefined ? {} : { clientCertificate: new X509Certificate(tls.cert) };
    const exchange = new InMemoryPeer({ ...request, ...clientCertificate }, sink);
    return { answered: handle(exchange), disconnect: () => exchange.close() };
  };
}

/** The API server of a simulation: the lab's own, in memory, with the manifests of deploy/ and an identity for each client. */
import type { KubeObject } from '../../api/object.js';
import type { Clock } from '../../clock.js';
import { createClient, type KubeClient } from '../../kube/client.js';
import type { Identity } from '../../kube/identity.js';
import type { Transport } from '../../kube/transport.js';
import type { Random } from '../../random.js';
import { newSigningKey } from '../apiserver/access/json-web-token.js';
import { type ControlPlane, createControlPlane } from '../apiserver/apiserver.js';
import { inMemoryTransport } from './in-memory-transport.js';

export interface SimulatedServer {
  plane: ControlPlane;
  /** Straight to the server: for what is not simulated. */
  transport: Transport;
  close(): Promise<void>;
}

export interface SimulatedServerOptions {
  clock: Clock;
  random: Random;
  /** Of deploy/: definitions, roles, policies. */
  manifests: readonly KubeObject[];
}

/** Made once: a key needs the system's randomness, and no token is signed with it here. */
let signingKey: string | undefined;

export const admin = 'admin';
export const controllerAccount = 'system:serviceaccount:relet-system:relet-controller';
export const nodeUser = (node: string) => `system:node:${node}`;

export async function startServer({ clock, random, manifests }: SimulatedServerOptions): Promise<SimulatedServer> {
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
  const transport = inMemoryTransport(plane.handle);
  const client = clientAs(admin, { transport, clock, random });
  for (const object of inOrder(manifests)) await create(client, object);
  return { plane, transport, close: () => plane.close() };
}

/** The token of a client is its name. */
function groupsOf(user: string): string[] {
  if (user === admin) return ['system:masters'];
  if (user.startsWith('system:node:')) return ['system:nodes'];
  return ['system:serviceaccounts', 'system:serviceaccounts:relet-system'];
}

export interface ClientParts {
  transport: Transport;
  clock: Clock;
  random: Random;
}

export function clientAs(user: string, { transport, clock, random }: ClientParts): KubeClient {
  // A name that no resolver knows: a connection over the network would fail.
  const server = 'https://cluster.invalid';
  const connection = { server, cluster: {}, user: {}, userName: user, namespace: 'default', contextName: '' };
  const credentials = { headers: { authorization: `Bearer ${user}` }, tls: { insecure: false }, rejected: () => false };
  const identity: Identity = { connection, current: async () => credentials };
  return createClient({ source: () => identity, transport, clock, random, userAgent: 'relet-simulation' });
}

/** Definitions and the namespace come before what needs them. */
function inOrder(manifests: readonly KubeObject[]): KubeObject[] {
  const rank = ({ kind }: KubeObject) => ['Namespace', 'CustomResourceDefinition'].indexOf(kind);
  return [...manifests].sort((a, b) => rank(b) - rank(a));
}

async function create(client: KubeClient, object: KubeObject): Promise<void> {
  const [group, version] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', object.apiVersion];
  const plural = object.kind.endsWith('y') ? `${object.kind.slice(0, -1)}ies` : `${object.kind}s`;
  const { namespace } = object.metadata;
  const type = { group: group!, version: version!, resource: plural.toLowerCase() };
  await client.create(type, namespace === undefined ? {} : { namespace }, object);
}

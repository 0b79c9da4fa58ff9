/** The API of a simulation as its clients see it: a transport in this process, and an identity for each client. */
import type { KubeObject } from '../../api/object.js';
import type { Clock } from '../../clock.js';
import { createClient, type KubeClient } from '../../kube/client.js';
import type { Identity } from '../../kube/identity.js';
import type { Transport } from '../../kube/transport.js';
import type { Store } from '../../memory-api/store/store.js';
import type { Random } from '../../random.js';

export interface SimulatedServer {
  store: Store;
  /** Straight to the API: for what is not simulated. */
  transport: Transport;
  /** Another API server of the cluster. */
  another?(random: Random): Promise<LaggingServer>;
  close(): Promise<void>;
}

/** Its cache can fall behind: watches from it and reads with resourceVersion=0 are as old as that, quorum reads and writes are not. */
export interface LaggingServer {
  transport: Transport;
  /** The cache gets nothing any more. */
  fallBehind(): void;
  catchUp(): void;
}

export interface SimulatedServerOptions {
  clock: Clock;
  random: Random;
  /** Definitions, roles and policies of deploy/. */
  manifests: readonly KubeObject[];
}

/** Starts an API with the manifests in it. */
export type StartServer = (options: SimulatedServerOptions) => Promise<SimulatedServer>;

export const admin = 'admin';
export const controllerAccount = 'system:serviceaccount:relet-system:relet-controller';
export const nodeUser = (node: string) => `system:node:${node}`;

/** The groups of a client, whose token is its name. */
export function groupsOf(user: string): string[] {
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

/** Creates the manifests, definitions and the namespace before what needs them. */
export async function applyManifests(client: KubeClient, manifests: readonly KubeObject[]): Promise<void> {
  const rank = ({ kind }: KubeObject) => ['Namespace', 'CustomResourceDefinition'].indexOf(kind);
  for (const object of [...manifests].sort((a, b) => rank(b) - rank(a))) {
    const [group, version] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', object.apiVersion];
    const plural = object.kind.endsWith('y') ? `${object.kind.slice(0, -1)}ies` : `${object.kind}s`;
    const { namespace } = object.metadata;
    const type = { group: group!, version: version!, resource: plural.toLowerCase() };
    await client.create(type, namespace === undefined ? {} : { namespace }, object);
  }
}

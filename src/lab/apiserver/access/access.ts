/**
 * Who may do what, put together: the server hands in its store and gets back every part of a request's way that decides
 * about access, and the kinds, subresources and paths that go with it.
 */
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import type { Random } from '../../../random.js';
import { defaultAdmission } from '../admission/default-admission.js';
import type { Admission } from '../admission.js';
import { inTurn } from '../admission.js';
import type { Authorizer } from '../attributes.js';
import type { RequestAccess } from '../handler.js';
import { findObject } from '../own-objects.js';
import { NodeProxy } from '../proxy/node-proxy.js';
import type { Resource } from '../resource.js';
import type { Connector, Route } from '../router.js';
import type { Store } from '../store/store.js';
import { feedAccess } from './access-feed.js';
import { RequestAuthenticator, type TokenAuthenticator } from './authenticate.js';
import { AuthorizerChain, alwaysAllow, masters } from './authorizer.js';
import { escalationCheck } from './escalation.js';
import { impersonation } from './impersonate.js';
import { TokenSigner } from './json-web-token.js';
import { NodeAuthorizer } from './node-authorizer.js';
import { NodeGraph, type NodeGraphOptions } from './node-graph.js';
import { RbacAuthorizer } from './rbac.js';
import { reviewResources } from './reviews.js';
import { allRules, rbacRules } from './rule-source.js';
import { ServiceAccountTokens } from './service-account-tokens.js';
import { tokenConnector } from './token-connector.js';
import { issuerRoutes } from './token-issuer.js';
import { startUpkeep } from './upkeep.js';

export const authorizationModes = ['Node', 'RBAC', 'AlwaysAllow'] as const;
export type AuthorizationMode = (typeof authorizationModes)[number];

export interface AccessOptions {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
  /** Asked in this order. Default Node, RBAC. */
  modes?: AuthorizationMode[];
  /** Whether a node may read the ConfigMap assigned to it. Default automatic. */
  nodeConfigAccess?: NodeGraphOptions['configAccess'];
  /** Whether requests without credentials are let in as system:anonymous. Default false. */
  anonymous?: boolean;
  /** Tokens beside those of service accounts, as from --token-auth-file. */
  tokens?: TokenAuthenticator[];
  /** PEM of the key that signs tokens of service accounts. */
  serviceAccountKey: string;
  /** Who signs them, and the audience they are for where none is asked. */
  issuer?: string;
  /** What the server shows to kubelets. */
  kubeletClient: { cert: string; key: string };
  /** PEM of the authority of the kubelets' certificates. Default: not checked, as in kube-apiserver. */
  kubeletCa?: string;
  /** Where this server listens, once it does. */
  ownPort(): number | undefined;
}

export interface Access extends RequestAccess {
  admission: Admission;
  resources: Resource[];
  connectors: Connector[];
  routes: Route[];
  /** Makes the default roles and accounts exist. To be called once, before the first request; namespaces must exist. */
  start(): Promise<void>;
  /** Lets go of the store and of connections to kubelets. */
  stop(): void;
}

export function createAccess(options: AccessOptions): Access {
  const { store, clock, random, modes = ['Node', 'RBAC'] } = options;
  const { issuer = 'https://kubernetes.default.svc.cluster.local' } = options;
  const objects = { find: (key: Parameters<typeof findObject>[1]) => findObject(store, key) };
  const rbac = new RbacAuthorizer();
  const graph = new NodeGraph({ configAccess: options.nodeConfigAccess ?? 'automatic' });
  const stops = [feedAccess(store, rbac, graph)];

  const byMode: Record<AuthorizationMode, Authorizer> = {
    Node: new NodeAuthorizer(graph),
    RBAC: rbac,
    AlwaysAllow: alwaysAllow,
  };
  const authorizer = new AuthorizerChain([masters, ...modes.map((mode) => byMode[mode])]);
  const signer = new TokenSigner(options.serviceAccountKey);
  const serviceAccountTokens = new ServiceAccountTokens({ signer, issuer, objects, clock, random });
  const authenticator = new RequestAuthenticator({
    tokens: [...(options.tokens ?? []), serviceAccountTokens],
    anonymous: options.anonymous ?? false,
    issuer,
    clock,
  });
  const admission = inTurn([
    defaultAdmission(objects, random),
    ...(modes.includes('RBAC') ? [escalationCheck(rbac, authorizer)] : []),
  ]);
  const proxy = new NodeProxy({
    ...options,
    client: options.kubeletClient,
    findNode: (name) => objects.find({ ...nodes, name }),
  });

  return {
    authenticator,
    impersonate: impersonation(authorizer),
    authorizer,
    admission,
    resources: reviewResources({
      authorizer,
      authenticateToken: (token, audiences) => authenticator.authenticateToken(token, audiences),
      rules: modes.includes('AlwaysAllow') ? allRules : rbacRules(rbac, { nodes: modes.includes('Node') }),
      clock,
    }),
    connectors: [
      { group: '', resource: 'nodes', subresource: 'proxy', handle: (exchange, info) => proxy.handle(exchange, info) },
      tokenConnector({ tokens: serviceAccountTokens, objects, issuer, admission, clock }),
    ],
    routes: issuerRoutes(issuer, signer),
    async start() {
      stops.push(await startUpkeep(options));
    },
    stop() {
      for (const stop of stops) stop();
      proxy.close();
    },
  };
}

const nodes = { group: '', resource: 'nodes', namespace: '' };

/** The modes named in --authorization-mode; throws with the ones there are. */
export function parseModes(text: string): AuthorizationMode[] {
  const modes = text.split(',').map((mode) => mode.trim());
  for (const mode of modes)
    if (!(authorizationModes as readonly string[]).includes(mode))
      throw new Error(
        `--authorization-mode: ${JSON.stringify(mode)} is unknown, there are ${authorizationModes.join(', ')}`,
      );
  return modes as AuthorizationMode[];
}

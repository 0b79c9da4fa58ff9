/**
 * Access control, put together from the store: authentication, authorization and admission,
 * and the kinds and subresources that belong to them.
 */
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import type { Admission } from '../../../memory-api/admission.js';
import { admissionChain } from '../../../memory-api/admission.js';
import type { Authorizer } from '../../../memory-api/attributes.js';
import { findObject } from '../../../memory-api/own-objects.js';
import type { Resource } from '../../../memory-api/resource.js';
import type { Connector } from '../../../memory-api/router.js';
import type { Store } from '../../../memory-api/store/store.js';
import type { Random } from '../../../random.js';
import { defaultAdmission } from '../admission/default-admission.js';
import type { RequestAccess } from '../handler.js';
import type { PeerExchange } from '../http/peer-exchange.js';
import { NodeProxy } from '../proxy/node-proxy.js';
import { startAccessControllers } from './access-controllers.js';
import { watchAccessObjects } from './access-watch.js';
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

export const authorizationModes = ['Node', 'RBAC', 'AlwaysAllow'] as const;
export type AuthorizationMode = (typeof authorizationModes)[number];

export interface AccessOptions {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
  /** In this order. Default Node, RBAC. */
  modes?: AuthorizationMode[];
  /** Whether a node may read the ConfigMap assigned to it. Default automatic. */
  nodeConfigAccess?: NodeGraphOptions['configAccess'];
  /** Whether requests without credentials are let in as system:anonymous. Default false. */
  anonymous?: boolean;
  /** Tokens beside those of service accounts, as from --token-auth-file. */
  tokens?: TokenAuthenticator[];
  /** PEM of the key that signs tokens of service accounts. */
  serviceAccountKey: string;
  /** The issuer of these tokens, and their default audience. */
  issuer?: string;
  /** The server's client certificate for kubelets. */
  kubeletClient: { cert: string; key: string };
  /** PEM of the authority of the kubelets' certificates. Default: not checked, as in kube-apiserver. */
  kubeletCa?: string;
  /** The port of this server, once it listens. */
  ownPort(): number | undefined;
}

export interface Access extends RequestAccess {
  admission: Admission;
  resources: Resource[];
  connectors: Connector[];
  /** Creates the default roles and accounts. Call it once, before the first request; namespaces must exist. */
  start(): Promise<void>;
  /** Ends watches of the store and connections to kubelets. */
  stop(): void;
}

export function createAccess(options: AccessOptions): Access {
  const { store, clock, random, modes = ['Node', 'RBAC'] } = options;
  const { issuer = 'https://kubernetes.default.svc.cluster.local' } = options;
  const objects = { find: (key: Parameters<typeof findObject>[1]) => findObject(store, key) };
  const rbac = new RbacAuthorizer();
  const graph = new NodeGraph({ configAccess: options.nodeConfigAccess ?? 'automatic' });
  const stops = [watchAccessObjects(store, rbac, graph)];

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
  const admission = admissionChain([
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
      {
        group: '',
        resource: 'nodes',
        subresource: 'proxy',
        // Every exchange of this server has a peer.
        handle: (exchange, info) => proxy.handle(exchange as PeerExchange, info),
      },
      tokenConnector({ tokens: serviceAccountTokens, objects, issuer, admission, clock }),
    ],
    async start() {
      stops.push(await startAccessControllers(options));
    },
    stop() {
      for (const stop of stops) stop();
      proxy.close();
    },
  };
}

const nodes = { group: '', resource: 'nodes', namespace: '' };

/** Parses --authorization-mode; an error lists the modes there are. */
export function parseModes(text: string): AuthorizationMode[] {
  const modes = text.split(',').map((mode) => mode.trim());
  for (const mode of modes)
    if (!(authorizationModes as readonly string[]).includes(mode))
      throw new Error(
        `--authorization-mode: ${JSON.stringify(mode)} is unknown, there are ${authorizationModes.join(', ')}`,
      );
  return modes as AuthorizationMode[];
}

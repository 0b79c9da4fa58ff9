/**
 * The Node authorizer: what a kubelet may do with its own credential. Objects that belong to a node are found in the
 * graph, its own Node and Lease by name; the rest follows fixed rules. That a kubelet writes only its own objects is
 * checked by NodeRestriction, which sees the object. After a denial here RBAC may still allow.
 */
import { quote } from '../../../go/quote.js';
import type { Attributes, Authorizer, Decision } from '../../../memory-api/attributes.js';
import { nodeNameOf } from '../well-known.js';
import type { NodeGraph, Vertex } from './node-graph.js';
import { nodeRules } from './node-rules.js';
import { ruleAllows } from './policy-rule.js';

const allowed: Decision = { allowed: true };
const noOpinion: Decision = { allowed: false };
const deny = (reason: string): Decision => ({ allowed: false, reason });
const unrelated = (node: string) => deny(`no relationship found between node '${node}' and this object`);

export class NodeAuthorizer implements Authorizer {
  constructor(private readonly graph: NodeGraph) {}

  authorize(request: Attributes): Decision {
    const node = nodeNameOf(request.user);
    if (node === undefined) return noOpinion;
    if (node === '') return deny(`unknown node for user ${quote(request.user.name)}`);
    const byResource = request.isResource && this.byResource[`${request.apiGroup}/${request.resource}`];
    if (byResource) return byResource(node, request);
    return nodeRules.some((rule) => ruleAllows(rule, request)) ? allowed : noOpinion;
  }

  private readonly byResource: Record<string, (node: string, request: Attributes) => Decision> = Object.assign(
    Object.create(null),
    {
      '/secrets': (node: string, request: Attributes) => this.read(node, 'secret', request),
      '/configmaps': (node: string, request: Attributes) => this.read(node, 'configmap', request),
      '/serviceaccounts': (node: string, request: Attributes) => this.token(node, request),
      '/nodes': (node: string, request: Attributes) => ownNode(node, request),
      '/pods': (node: string, request: Attributes) => this.pod(node, request),
      'coordination.k8s.io/leases': (node: string, request: Attributes) => ownLease(node, request),
      'storage.k8s.io/csinodes': (node: string, request: Attributes) => ownCsiNode(node, request),
    },
  );

  private read(node: string, vertex: Vertex, request: Attributes): Decision {
    if (!['get', 'list', 'watch'].includes(request.verb)) return deny('can only read resources of this type');
    if (request.subresource !== '') return deny('cannot read subresource');
    if (request.namespace === '') return deny('can only read namespaced object of this type');
    return this.related(node, vertex, request);
  }

  private get(node: string, vertex: Vertex, request: Attributes): Decision {
    if (request.verb !== 'get') return deny('can only get individual resources of this type');
    if (request.subresource !== '') return deny('cannot get subresource');
    return this.related(node, vertex, request);
  }

  private token(node: string, request: Attributes): Decision {
    if (request.verb !== 'create' || request.name === '')
      return deny('can only create tokens for individual service accounts');
    if (request.subresource !== 'token') return deny('can only create token subresource of serviceaccount');
    return this.related(node, 'serviceaccount', request);
  }

  private pod(node: string, request: Attributes): Decision {
    const { verb, subresource } = request;
    if (subresource === 'status') return verb === 'update' || verb === 'patch' ? allowed : noOpinion;
    if (subresource === 'eviction') return verb === 'create' ? allowed : noOpinion;
    if (subresource !== '') return noOpinion;
    if (verb === 'create' || verb === 'delete') return allowed;
    if (verb === 'get') return this.get(node, 'pod', request);
    if (verb !== 'list' && verb !== 'watch') return noOpinion;
    const scoped = request.fieldSelector?.some(
      ({ field, operator, value }) => field === 'spec.nodeName' && operator === '=' && value === node,
    );
    if (scoped) return allowed;
    if (request.name !== '') return this.related(node, 'pod', request);
    return deny('can only list/watch pods with spec.nodeName field selector');
  }

  private related(node: string, vertex: Vertex, { namespace, name }: Attributes): Decision {
    if (name === '') return deny('No Object name found');
    return this.graph.isRelated(node, vertex, namespace, name) ? allowed : unrelated(node);
  }
}

/** Reading is allowed by name alone, so that a kubelet can look for its Node before it creates it. */
function ownNode(node: string, { verb, subresource, name }: Attributes): Decision {
  if (subresource === 'status') return verb === 'update' || verb === 'patch' ? allowed : noOpinion;
  if (subresource !== '') return noOpinion;
  if (verb === 'create' || verb === 'update' || verb === 'patch') return allowed;
  if (verb !== 'get' && verb !== 'list' && verb !== 'watch') return noOpinion;
  if (name === node) return allowed;
  return name === ''
    ? deny(`node '${node}' cannot read all nodes, only its own Node object`)
    : deny(`node '${node}' cannot read '${name}', only its own Node object`);
}

/** On create the name is not known yet; NodeRestriction checks it. */
const ownVerbs = ['get', 'create', 'update', 'patch', 'delete'];

function ownLease(node: string, { verb, namespace, name }: Attributes): Decision {
  if (!ownVerbs.includes(verb)) return deny('can only get, create, update, patch, or delete a node lease');
  if (namespace !== 'kube-node-lease') return deny('can only access leases in the "kube-node-lease" system namespace');
  if (verb !== 'create' && name !== node)
    return deny('can only access node lease with the same name as the requesting node');
  return allowed;
}

function ownCsiNode(node: string, { verb, subresource, name }: Attributes): Decision {
  if (!ownVerbs.includes(verb)) return deny('can only get, create, update, patch, or delete a CSINode');
  if (subresource !== '') return deny('cannot authorize CSINode subresources');
  if (verb !== 'create' && name !== node)
    return deny('can only access CSINode with the same name as the requesting node');
  return allowed;
}

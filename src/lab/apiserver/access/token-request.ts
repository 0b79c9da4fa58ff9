/** serviceaccounts/NAME/token: issues a token for a service account, bound to a pod or a node if requested. */
import type { KubeObject } from '../../../api/object.js';
import { rfc3339 } from '../../../clock.js';
import { quote } from '../../../go/quote.js';
import type { Objects } from '../../../memory-api/admission/rejection.js';
import { type FieldError, invalidField } from '../../../memory-api/field-error.js';
import { badRequest, conflict, invalid, notFound } from '../../../memory-api/status-error.js';
import type { Grant, ServiceAccountTokens } from './service-account-tokens.js';

interface BoundRef {
  kind?: string;
  apiVersion?: string;
  name?: string;
  uid?: string;
}

export interface TokenRequestSpec {
  audiences?: string[];
  expirationSeconds?: number;
  boundObjectRef?: BoundRef;
}

export interface TokenRequestOptions {
  tokens: ServiceAccountTokens;
  objects: Objects;
  nowMs: number;
}

const minSeconds = 600;
const defaultSeconds = 3600;

export const tokenRequestKind = { group: 'authentication.k8s.io', kind: 'TokenRequest' };

/** Kinds to which a token may be bound: kind → resource. */
const boundKinds: Record<string, string> = { Pod: 'pods', Node: 'nodes' };

/** The account, after the names in body and path were compared. Throws 404, 422. */
export function accountFor(request: KubeObject, namespace: string, name: string, objects: Objects): KubeObject {
  const { metadata } = request;
  const mismatch = (field: 'name' | 'namespace', wanted: string) =>
    metadata[field] && metadata[field] !== wanted
      ? [invalidField(`metadata.${field}`, metadata[field], `must match the service account ${field} if specified`)]
      : [];
  const errors = [...mismatch('name', name), ...mismatch('namespace', namespace)];
  if (errors.length > 0) throw invalid(tokenRequestKind, name, errors.slice(0, 1));
  const account = objects.find({ group: '', resource: 'serviceaccounts', namespace, name });
  if (account === undefined) throw notFound({ group: '', resource: 'serviceaccounts' }, name);
  return account;
}

/** The request with its defaults filled in, and validated. */
export function completeRequest(request: KubeObject, account: KubeObject, issuer: string, nowMs: number): KubeObject {
  const spec = (request.spec ?? {}) as TokenRequestSpec;
  const expirationSeconds = spec.expirationSeconds ?? defaultSeconds;
  const errors = checkSeconds(expirationSeconds);
  if (errors.length > 0) throw invalid(tokenRequestKind, '', errors);
  const { name, namespace } = account.metadata;
  const creationTimestamp = rfc3339(nowMs);
  return {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), creationTimestamp },
    spec: {
      audiences: spec.audiences?.length ? spec.audiences : [issuer],
      expirationSeconds,
      boundObjectRef: spec.boundObjectRef ?? null,
    },
    status: { token: '', expirationTimestamp: null },
  };
}

export function answerRequest(request: KubeObject, account: KubeObject, options: TokenRequestOptions): KubeObject {
  const { tokens, nowMs, objects } = options;
  const spec = request.spec as Required<Omit<TokenRequestSpec, 'boundObjectRef'>> & { boundObjectRef: BoundRef | null };
  const bound = spec.boundObjectRef === null ? {} : bind(spec.boundObjectRef, account, objects);
  const token = tokens.issue({
    namespace: account.metadata.namespace!,
    serviceaccount: ref(account),
    ...bound,
    audiences: spec.audiences,
    seconds: spec.expirationSeconds,
  });
  const expirationTimestamp = rfc3339(nowMs + spec.expirationSeconds * 1000);
  return { ...request, status: { token, expirationTimestamp } };
}

function checkSeconds(seconds: number): FieldError[] {
  const complain = (detail: string) => [invalidField('spec.expirationSeconds', seconds, detail)];
  if (seconds < minSeconds) return complain('may not specify a duration less than 10 minutes');
  return seconds > 2 ** 32 ? complain('may not specify a duration larger than 2^32 seconds') : [];
}

function bind(bound: BoundRef, account: KubeObject, objects: Objects): Pick<Grant, 'pod' | 'node'> {
  const { kind = '', apiVersion = '', name = '', uid = '' } = bound;
  const resource = apiVersion === 'v1' && Object.hasOwn(boundKinds, kind) ? boundKinds[kind]! : undefined;
  if (resource === undefined) throw badRequest(`cannot bind token to object of type ${apiVersion} ${kind}`);
  const namespace = kind === 'Node' ? '' : account.metadata.namespace!;
  const object = objects.find({ group: '', resource, namespace, name });
  if (object === undefined) throw notFound({ group: '', resource }, name);
  const spec = (object.spec ?? {}) as { serviceAccountName?: string; nodeName?: string };
  if (kind === 'Pod' && spec.serviceAccountName !== account.metadata.name)
    throw badRequest(
      `cannot bind token for serviceaccount ${quote(account.metadata.name)} to pod running with different serviceaccount name.`,
    );
  if (uid !== '' && uid !== object.metadata.uid)
    throw conflict(
      { group: '', resource: kind },
      name,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (kind === 'Node') return { node: ref(object) };
  return { pod: ref(object), ...(spec.nodeName ? { node: nodeRef(spec.nodeName, objects) } : {}) };
}

/** A node that was deleted is still named, without a uid. */
function nodeRef(name: string, objects: Objects) {
  const node = objects.find({ group: '', resource: 'nodes', namespace: '', name });
  return node === undefined ? { name } : ref(node);
}

const ref = ({ metadata }: KubeObject) => ({ name: metadata.name, uid: metadata.uid ?? '' });

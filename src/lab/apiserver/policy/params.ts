/** The parameter objects of a binding. */

import { selectsLabels } from '../../../api/label-selector.js';
import type { KubeObject } from '../../../api/object.js';
import type { Registry } from '../../../memory-api/registry.js';
import { apiVersionOf, collectionOf, decodeStored, keyOf } from '../../../memory-api/requests/codec.js';
import type { Resource } from '../../../memory-api/resource.js';
import type { ParamRef, PolicySpec } from '../../../memory-api/resources/admission-policy.js';
import type { Store } from '../../../memory-api/store/store.js';

/** The policy or the binding is misconfigured; its failurePolicy decides the result. */
export class Misconfigured extends Error {}

export interface Places {
  store: Store;
  registry: Registry;
}

/** Undefined for a policy without parameters. */
export function paramResource({ registry }: Places, { paramKind }: PolicySpec): Resource | undefined {
  if (paramKind === undefined) return undefined;
  const { apiVersion = '', kind = '' } = paramKind;
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const resource = registry.findKind(group, version, kind);
  if (resource !== undefined) return resource;
  throw new Misconfigured(`failed to find resource referenced by paramKind: '${apiVersion}, Kind=${kind}'`);
}

/** One evaluation for each; `undefined` is an evaluation without parameters. `namespace` is that of the request. */
export function collectParams(
  places: Places,
  resource: Resource | undefined,
  ref: ParamRef | undefined,
  namespace: string,
): (KubeObject | undefined)[] {
  if (resource === undefined || ref === undefined) return [undefined];
  const within = ref.namespace || namespace;
  if (resource.namespaced && within === '')
    throw new Misconfigured('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
  if (!resource.namespaced && ref.namespace)
    throw new Misconfigured('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  const found = ref.name ? named(places, resource, within, ref.name) : selected(places, resource, within, ref);
  if (found.length === 0 && ref.parameterNotFoundAction === 'Deny')
    throw new Misconfigured('no params found for policy binding with `Deny` parameterNotFoundAction');
  return found;
}

function named({ store }: Places, resource: Resource, namespace: string, name: string): KubeObject[] {
  const stored = store.latest(keyOf(resource, namespace, name));
  return stored === undefined ? [] : [shown(resource, stored.bytes)];
}

function selected({ store }: Places, resource: Resource, namespace: string, { selector = {} }: ParamRef): KubeObject[] {
  const scope = { ...collectionOf(resource), ...(resource.namespaced ? { namespace } : {}) };
  return store
    .list(scope)
    .items.map(({ bytes }) => shown(resource, bytes))
    .filter(({ metadata }) => selectsLabels(selector, metadata.labels));
}

function shown(resource: Resource, bytes: Buffer): KubeObject {
  return { ...decodeStored(resource, bytes), kind: resource.kind, apiVersion: apiVersionOf(resource) };
}

/** Watches the CRDs in the store and updates the registry: established definitions are served, deleted ones are not. */
import type { KubeObject } from '../../api/object.js';
import type { Registry } from '../registry.js';
import type { Resource } from '../resource.js';
import type { Store } from '../store/store.js';
import { customResources } from './custom-resource.js';
import { isEstablished } from './definition.js';
import { crdGroup, crdPlural } from './definitions.js';

/** Serves the kinds of all CRDs until the returned function is called. */
export function serveDefinedKinds(store: Store, registry: Registry): () => void {
  const served = new Map<string, Resource[]>();
  const serve = (name: string, crd: KubeObject | undefined) => {
    const before = served.get(name) ?? [];
    const after = crd !== undefined && isEstablished(crd) ? customResources(crd) : [];
    served.set(name, after);
    if (before.length + after.length > 0) registry.replace(before, after);
  };
  const definitions = { group: crdGroup, resource: crdPlural };
  for (const { key, bytes } of store.list(definitions).items) serve(key.name, parse(bytes));
  return store.subscribe(definitions, ({ type, key, bytes }) =>
    serve(key.name, type === 'deleted' ? undefined : parse(bytes)),
  );
}

function parse(bytes: Buffer): KubeObject {
  return JSON.parse(bytes.toString()) as KubeObject;
}

/** Keeps the RBAC index and the node graph up to date with the store. */
import type { KubeObject } from '../../../api/object.js';
import type { Collection, Store, StoreEvent } from '../../../memory-api/store/store.js';
import type { NodeGraph } from './node-graph.js';
import { type RbacAuthorizer, rbacGroup } from './rbac.js';

const rbacCollections: Collection[] = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map(
  (resource) => ({
    group: rbacGroup,
    resource,
  }),
);
const pods: Collection = { group: '', resource: 'pods' };
const nodes: Collection = { group: '', resource: 'nodes' };

/** A change is applied before its write is answered, so that an assignment takes effect at once. */
export function watchAccessObjects(store: Store, rbac: RbacAuthorizer, graph: NodeGraph): () => void {
  const stops = [
    ...rbacCollections.map((collection) => follow(store, collection, rbac)),
    follow(store, pods, graph),
    follow(store, nodes, graph, configSourceFilter()),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

interface Follower {
  apply(resource: string, namespace: string, name: string, object: KubeObject | undefined): void;
}

function follow(
  store: Store,
  collection: Collection,
  follower: Follower,
  matters: (event: Pick<StoreEvent, 'key' | 'bytes'>) => boolean = () => true,
): () => void {
  for (const { key, bytes } of store.list(collection).items)
    if (matters({ key, bytes })) follower.apply(key.resource, key.namespace, key.name, parse(bytes));
  return store.subscribe(collection, (event) => {
    if (!matters(event)) return;
    const object = event.type === 'deleted' ? undefined : parse(event.bytes);
    follower.apply(event.key.resource, event.key.namespace, event.key.name, object);
  });
}

const parse = (bytes: Buffer) => JSON.parse(bytes.toString('utf8')) as KubeObject;

/** Nodes change at every heartbeat and seldom have a config: most changes need not be parsed. */
function configSourceFilter(): (event: Pick<StoreEvent, 'key' | 'bytes'>) => boolean {
  const having = new Set<string>();
  return ({ key, bytes }) => {
    const had = having.has(key.name);
    const has = bytes.includes('"configSource"');
    if (has) having.add(key.name);
    else having.delete(key.name);
    return has || had;
  };
}

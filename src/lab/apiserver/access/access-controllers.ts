/**
 * Controllers for access: they reconcile the default roles and a ServiceAccount `default` in every namespace.
 */

import type { KubeObject } from '../../../api/object.js';
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import { fillSystemFields } from '../../../memory-api/object-meta.js';
import { type Key, RevisionConflict, type Store } from '../../../memory-api/store/store.js';
import type { Random } from '../../../random.js';
import { defaultPolicy, reconcile } from './default-policy.js';
import { rbacGroup } from './rbac.js';

export interface AccessControllerOptions {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
}

const namespaces = { group: '', resource: 'namespaces' };
const serviceAccounts = { group: '', resource: 'serviceaccounts' };

const plurals: Record<string, string> = {
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
};

/** Resolves when all objects exist; then watches for changes until the returned function is called. */
export async function startAccessControllers(options: AccessControllerOptions): Promise<() => void> {
  const { store, log } = options;
  const follow = (done: Promise<void>) =>
    done.catch((error: unknown) =>
      log.error('access controller failed, retrying at the next change or start', { error }),
    );
  const stops = [
    store.subscribe(namespaces, ({ type, key }) => {
      if (type === 'created') follow(ensureAccount(options, key.name));
    }),
    store.subscribe(serviceAccounts, ({ type, key }) => {
      if (type === 'deleted' && key.name === 'default') follow(ensureAccount(options, key.namespace));
    }),
  ];
  await Promise.all(defaultPolicy().map((object) => ensureDefault(options, object)));
  await Promise.all(store.list(namespaces).items.map(({ key }) => ensureAccount(options, key.name)));
  return () => {
    for (const stop of stops) stop();
  };
}

function ensureDefault(options: AccessControllerOptions, wanted: KubeObject): Promise<void> {
  const { name, namespace = '' } = wanted.metadata;
  return put(options, { group: rbacGroup, resource: plurals[wanted.kind]!, namespace, name }, (existing) =>
    reconcile(wanted, existing),
  );
}

/** Nothing is created in a terminating namespace. */
async function ensureAccount(options: AccessControllerOptions, namespace: string): Promise<void> {
  const home = read(options.store, { ...namespaces, namespace: '', name: namespace });
  if (home === undefined || home.metadata.deletionTimestamp !== undefined) return;
  await put(options, { ...serviceAccounts, namespace, name: 'default' }, (existing) =>
    existing === undefined
      ? { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } }
      : undefined,
  );
}

/** Stores the result of `change`, which is called again after a conflict with another write. */
async function put(
  { store, clock, random }: AccessControllerOptions,
  key: Key,
  change: (existing: KubeObject | undefined) => KubeObject | undefined,
): Promise<void> {
  for (;;) {
    const stored = store.latest(key);
    const next = change(stored && parse(stored.bytes));
    if (next === undefined) return;
    if (stored === undefined) fillSystemFields(next, clock.now(), random);
    const { kind, apiVersion, metadata, ...rest } = next;
    const encode = (revision: number) =>
      // Kind and version first: lists cut them off by their length.
      Buffer.from(
        JSON.stringify({ kind, apiVersion, metadata: { ...metadata, resourceVersion: String(revision) }, ...rest }),
      );
    try {
      await store.write({ key, expected: stored?.revision ?? 0, delete: false, encode });
      return;
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
}

const parse = (bytes: Buffer) => JSON.parse(bytes.toString('utf8')) as KubeObject;

function read(store: Store, key: Key): KubeObject | undefined {
  const stored = store.latest(key);
  return stored && parse(stored.bytes);
}

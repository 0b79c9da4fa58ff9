/**
 * What the server keeps in place by itself, as the controllers of a cluster would: the default roles, a ServiceAccount
 * `default` in every namespace, and the rules of ClusterRoles that are put together from others.
 */

import type { KubeObject } from '../../../api/object.js';
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import type { Random } from '../../../random.js';
import { isSameJson } from '../json-equality.js';
import { fillSystemFields } from '../object-meta.js';
import { type Key, RevisionConflict, type Store, type StoreEvent } from '../store/store.js';
import { aggregatedRules, isCombined, takesPart } from './aggregation.js';
import { defaultPolicy, reconcile } from './default-policy.js';
import { rbacGroup } from './rbac.js';

export interface UpkeepOptions {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
}

const namespaces = { group: '', resource: 'namespaces' };
const serviceAccounts = { group: '', resource: 'serviceaccounts' };
const clusterRoles = { group: rbacGroup, resource: 'clusterroles' };

const plurals: Record<string, string> = {
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
};

/** Resolves when everything is in place; then follows changes until the returned function is called. */
export async function startUpkeep(options: UpkeepOptions): Promise<() => void> {
  const { store, log } = options;
  const follow = (done: Promise<void>) =>
    done.catch((error: unknown) => log.error('upkeep failed, the next change or start tries again', { error }));
  const stops = [
    store.subscribe(namespaces, ({ type, key }) => {
      if (type === 'created') follow(ensureAccount(options, key.name));
    }),
    store.subscribe(serviceAccounts, ({ type, key }) => {
      if (type === 'deleted' && key.name === 'default') follow(ensureAccount(options, key.namespace));
    }),
  ];
  await Promise.all(defaultPolicy().map((object) => ensureDefault(options, object)));
  // Only now: the defaults come by the dozen, and one look at the end does for all of them.
  const aggregation = new Aggregation(options);
  stops.push(
    store.subscribe(clusterRoles, (event) => {
      if (aggregation.isMovedBy(event)) follow(aggregation.bringUpToDate());
    }),
  );
  await Promise.all(store.list(namespaces).items.map(({ key }) => ensureAccount(options, key.name)));
  await aggregation.bringUpToDate();
  return () => {
    for (const stop of stops) stop();
  };
}

function ensureDefault(options: UpkeepOptions, wanted: KubeObject): Promise<void> {
  const { name, namespace = '' } = wanted.metadata;
  return put(options, { group: rbacGroup, resource: plurals[wanted.kind]!, namespace, name }, (existing) =>
    reconcile(wanted, existing),
  );
}

/** A namespace that is going gets nothing new. */
async function ensureAccount(options: UpkeepOptions, namespace: string): Promise<void> {
  const home = read(options.store, { ...namespaces, namespace: '', name: namespace });
  if (home === undefined || home.metadata.deletionTimestamp !== undefined) return;
  await put(options, { ...serviceAccounts, namespace, name: 'default' }, (existing) =>
    existing === undefined
      ? { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } }
      : undefined,
  );
}

/** With a role for each node there are thousands of ClusterRoles, of which a few dozen matter here. */
class Aggregation {
  readonly #options: UpkeepOptions;
  /** As of the last look: the roles that are put together from others, and the names of all that take part. */
  #combined: KubeObject[] = [];
  #takingPart = new Set<string>();

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  isMovedBy({ type, key, bytes }: StoreEvent): boolean {
    if (this.#takingPart.has(key.name)) return true;
    return type !== 'deleted' && takesPart(parse(bytes), this.#combined);
  }

  /** One role may feed another, so each change leads to the next look, until nothing changes any more. */
  async bringUpToDate(): Promise<void> {
    const all = this.#options.store.list(clusterRoles).items.map(({ bytes }) => parse(bytes));
    this.#combined = all.filter(isCombined);
    const taking = all.filter((role) => takesPart(role, this.#combined));
    this.#takingPart = new Set(taking.map(({ metadata }) => metadata.name));
    await Promise.all(
      this.#combined.map((role) =>
        put(this.#options, { ...clusterRoles, namespace: '', name: role.metadata.name }, (existing) => {
          const rules = existing && aggregatedRules(existing, taking);
          return rules === undefined || isSameJson(rules, existing!.rules ?? []) ? undefined : { ...existing!, rules };
        }),
      ),
    );
  }
}

/** Stores what `change` makes of the newest state; somebody else's write in between means looking again. */
async function put(
  { store, clock, random }: UpkeepOptions,
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
      // Kind and version first: lists leave them out by their length.
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

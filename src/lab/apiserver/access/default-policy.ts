/**
 * Reconciles the default roles and bindings: at every start missing objects are created, and rules or
 * subjects that a default needs are restored. Additions are kept. An object annotated
 * `rbac.authorization.kubernetes.io/autoupdate: "false"` is left as it is.
 */

import type { KubeObject } from '../../../api/object.js';
import { isSameJson } from '../../../memory-api/json-equality.js';
import { uncovered } from './covers.js';
import { type DefaultRole, defaultClusterRoles } from './default-roles.js';
import { type PolicyRule, rulesOf } from './policy-rule.js';
import { rbacGroup } from './rbac.js';

const autoUpdate = 'rbac.authorization.kubernetes.io/autoupdate';
const apiVersion = `${rbacGroup}/v1`;

interface Subject {
  kind: string;
  apiGroup?: string;
  name: string;
  namespace?: string;
}

const group = (name: string): Subject => ({ kind: 'Group', apiGroup: rbacGroup, name });
const user = (name: string): Subject => ({ kind: 'User', apiGroup: rbacGroup, name });

/** ClusterRoleBindings are named like the ClusterRole they bind. */
const clusterBindings: Record<string, Subject[]> = {
  'cluster-admin': [group('system:masters')],
  'system:monitoring': [group('system:monitoring')],
  'system:discovery': [group('system:authenticated')],
  'system:basic-user': [group('system:authenticated')],
  'system:public-info-viewer': [group('system:authenticated'), group('system:unauthenticated')],
  // Without subjects: the Node authorizer does this. The empty binding replaces one of old clusters.
  'system:node': [],
};

/** Every default object, roles before the bindings that name them. */
export function defaultPolicy(): KubeObject[] {
  return [
    ...defaultClusterRoles.map(clusterRole),
    ...Object.entries(clusterBindings).map(([name, subjects]) => ({
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name, ...defaultMetadata() },
      roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name },
      ...(subjects.length === 0 ? {} : { subjects }),
    })),
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'relet:kubelet-api-admin', ...defaultMetadata() },
      roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'system:kubelet-api-admin' },
      subjects: [user('kube-apiserver-kubelet-client')],
    },
  ];
}

/** Returns the object to store for a default object: the default, the existing one completed, or undefined when nothing is missing. */
export function reconcile(wanted: KubeObject, existing: KubeObject | undefined): KubeObject | undefined {
  if (existing === undefined) return wanted;
  if (existing.metadata.annotations?.[autoUpdate] === 'false') return undefined;
  const next = structuredClone(existing);
  next.metadata.labels = { ...existing.metadata.labels, ...wanted.metadata.labels };
  next.metadata.annotations = { ...wanted.metadata.annotations, ...existing.metadata.annotations };
  if (wanted.rules !== undefined) next.rules = [...asList(existing.rules), ...missingRules(wanted, existing)];
  if (wanted.roleRef !== undefined) Object.assign(next, completedBinding(wanted, existing));
  return isSameJson(next, existing) ? undefined : next;
}

const missingRules = (wanted: KubeObject, existing: KubeObject): PolicyRule[] =>
  rulesOf(wanted).filter((rule) => uncovered(rulesOf(existing), [rule]).length > 0);

/** A binding's roleRef cannot be changed in place by clients; the server corrects its own defaults here. */
function completedBinding(wanted: KubeObject, existing: KubeObject): Partial<KubeObject> {
  const known = asList(existing.subjects) as Subject[];
  const same = (a: Subject) => (b: Subject) => a.kind === b.kind && a.name === b.name && a.namespace === b.namespace;
  const missing = ((wanted.subjects as Subject[] | undefined) ?? []).filter((subject) => !known.some(same(subject)));
  return {
    roleRef: wanted.roleRef,
    ...(known.length + missing.length === 0 ? {} : { subjects: [...known, ...missing] }),
  };
}

function clusterRole({ name, rules }: DefaultRole): KubeObject {
  return { apiVersion, kind: 'ClusterRole', metadata: { name, ...defaultMetadata() }, rules };
}

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const defaultMetadata = () => ({
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
  annotations: { [autoUpdate]: 'true' },
});

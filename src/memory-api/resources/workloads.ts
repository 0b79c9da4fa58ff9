/**
 * Deployments, DaemonSets, ReplicaSets, StatefulSets and Services, stored without controllers: the manifests of deploy/
 * can be applied, and a drain finds the workload of a Pod.
 */
import type { KubeObject } from '../../api/object.js';
import type { Column, Resource } from '../resource.js';
import { ageColumn, column, nameColumn, numberColumn } from './columns.js';
import { type Definition, defineResource } from './define.js';

const specOf = (object: KubeObject) => (object.spec ?? {}) as Record<string, unknown>;
const statusOf = (object: KubeObject) => (object.status ?? {}) as Record<string, number | undefined>;

function counted(name: string, description: string, field: string): Column {
  return numberColumn(name, description, (object) => statusOf(object)[field] ?? 0);
}

const readyColumn = column('Ready', 'Pods that are ready, of those wanted.', (object) => {
  return `${statusOf(object).readyReplicas ?? 0}/${specOf(object).replicas}`;
});

function workload({ kind, columns, ...own }: Pick<Definition, 'kind' | 'columns' | 'shortNames'>): Resource {
  return defineResource({
    group: 'apps',
    kind,
    plural: `${kind.toLowerCase()}s`,
    shape: `apps.v1.${kind}`,
    namespaced: true,
    categories: ['all'],
    hasStatus: true,
    hasGeneration: true,
    noController: true,
    columns: [nameColumn, ...(columns ?? []), ageColumn],
    prepareForCreate(object) {
      object.status = {};
    },
    ...own,
    setDefaults(object) {
      if (kind !== 'DaemonSet') object.spec = { replicas: 1, ...specOf(object) };
    },
  });
}

export const deployments = workload({
  kind: 'Deployment',
  shortNames: ['deploy'],
  columns: [
    readyColumn,
    counted('Up-to-date', 'Pods of the newest template.', 'updatedReplicas'),
    counted('Available', 'Pods that serve.', 'availableReplicas'),
  ],
});

export const daemonSets = workload({
  kind: 'DaemonSet',
  shortNames: ['ds'],
  columns: [
    counted('Desired', 'How many nodes should run it.', 'desiredNumberScheduled'),
    counted('Current', 'How many nodes run it.', 'currentNumberScheduled'),
    counted('Ready', 'How many nodes have it ready.', 'numberReady'),
  ],
});

export const replicaSets = workload({
  kind: 'ReplicaSet',
  shortNames: ['rs'],
  columns: [
    numberColumn('Desired', 'How many Pods are wanted.', (object) => specOf(object).replicas),
    counted('Current', 'How many Pods there are.', 'replicas'),
    counted('Ready', 'How many Pods are ready.', 'readyReplicas'),
  ],
});

export const statefulSets = workload({ kind: 'StatefulSet', shortNames: ['sts'], columns: [readyColumn] });

export const services = defineResource({
  kind: 'Service',
  plural: 'services',
  shape: 'core.v1.Service',
  namespaced: true,
  shortNames: ['svc'],
  categories: ['all'],
  hasStatus: true,
  // A kubelet lists all services but headless ones.
  selectableFields: {
    'spec.clusterIP': (service) => String(specOf(service).clusterIP ?? ''),
    'spec.type': (service) => String(specOf(service).type ?? ''),
  },
  columns: [nameColumn, column('Type', 'How it can be reached.', (service) => specOf(service).type ?? ''), ageColumn],
  setDefaults(service) {
    service.spec = { type: 'ClusterIP', sessionAffinity: 'None', ...specOf(service) };
  },
  prepareForCreate(service) {
    service.status = { loadBalancer: {} };
  },
});

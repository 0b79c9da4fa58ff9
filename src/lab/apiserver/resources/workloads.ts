/**
 * Deployments, DaemonSets and other kinds that create Pods, stored without controllers: manifests of a cluster can be
 * applied, and a drain finds the DaemonSet of a Pod.
 */

import type { KubeObject } from '../../../api/object.js';
import { type FieldError, requiredField } from '../field-error.js';
import { isEquivalent } from '../json-equality.js';
import type { Column, Resource } from '../resource.js';
import { scalePart } from '../scale-subresource.js';
import { ageColumn, column, nameColumn, numberColumn, wideColumn } from './columns.js';
import { type Definition, defineResource, keepOtherPart } from './define.js';
import { setPodSpecDefaults } from './pod-defaults.js';
import type { PodSpec } from './pod-parts.js';
import { labelsText, selectorText } from './selector-text.js';

interface Template {
  metadata?: object;
  spec?: PodSpec & { nodeSelector?: Record<string, string> };
}

interface Spec {
  replicas?: number;
  selector?: unknown;
  template?: Template;
  strategy?: Strategy;
  updateStrategy?: Strategy;
  podManagementPolicy?: string;
  revisionHistoryLimit?: number;
  progressDeadlineSeconds?: number;
}

interface Strategy {
  type?: string;
  rollingUpdate?: Record<string, unknown>;
}

const specOf = (object: KubeObject) => object.spec as Spec;
const statusOf = (object: KubeObject) => (object.status ?? {}) as Record<string, number | undefined>;
const replicasOf = (object: KubeObject) => specOf(object).replicas ?? 0;

export const selectorColumn = wideColumn('Selector', 'Which Pods are its own.', (object) => {
  return selectorText(specOf(object).selector) || '<none>';
});

/** The names and images of a template's containers. */
export function containerColumns(templateOf: (object: KubeObject) => Template | undefined): Column[] {
  const list = (object: KubeObject, field: 'name' | 'image') =>
    (templateOf(object)?.spec?.containers ?? []).map((container) => container[field] ?? '').join(',');
  return [
    wideColumn('Containers', 'The names of the containers.', (object) => list(object, 'name')),
    wideColumn('Images', 'The images of the containers.', (object) => list(object, 'image')),
  ];
}

const templateColumns = containerColumns((object) => specOf(object).template);

function counted(name: string, description: string, field: string): Column {
  return numberColumn(name, description, (object) => statusOf(object)[field] ?? 0);
}

const sizeColumns = [
  numberColumn('Desired', 'How many Pods are wanted.', replicasOf),
  counted('Current', 'How many Pods there are.', 'replicas'),
  counted('Ready', 'How many Pods are ready.', 'readyReplicas'),
];

function workload(own: Omit<Definition, 'namespaced' | 'hasStatus'>, isScalable = true): Resource {
  const scale = {
    wanted: ['spec', 'replicas'],
    present: ['status', 'replicas'],
    selector: (object: KubeObject) => selectorText(specOf(object).selector),
  };
  const resource = defineResource({
    group: 'apps',
    namespaced: true,
    categories: ['all'],
    hasStatus: true,
    hasGeneration: true,
    noController: true,
    validateCreate: validate,
    validateUpdate: validate,
    prepareForCreate(object) {
      object.status = {};
    },
    ...own,
    setDefaults(object) {
      object.spec ??= {};
      setTemplateDefaults(specOf(object).template);
      if (isScalable) specOf(object).replicas ??= 1;
      own.setDefaults?.(object);
    },
  });
  if (!isScalable) return resource;
  return { ...resource, scale, subresources: { ...resource.subresources, scale: scalePart } };
}

export function setTemplateDefaults(template: Template | undefined): void {
  if (template?.spec !== undefined) setPodSpecDefaults(template.spec);
}

function validate(object: KubeObject): FieldError[] {
  return specOf(object).selector ? [] : [requiredField('spec.selector', '')];
}

/** The default strategy is RollingUpdate. */
function rolling(strategy: Strategy | undefined, defaults: Record<string, unknown>): Strategy {
  const type = strategy?.type || 'RollingUpdate';
  if (type !== 'RollingUpdate') return { ...strategy, type };
  return { type, rollingUpdate: { ...defaults, ...strategy?.rollingUpdate } };
}

export const deployments = workload({
  kind: 'Deployment',
  plural: 'deployments',
  shape: 'apps.v1.Deployment',
  shortNames: ['deploy'],
  columns: [
    nameColumn,
    column('Ready', 'Pods that are ready, of those wanted.', (object) => {
      return `${statusOf(object).readyReplicas ?? 0}/${replicasOf(object)}`;
    }),
    counted('Up-to-date', 'Pods of the newest template.', 'updatedReplicas'),
    counted('Available', 'Pods that serve.', 'availableReplicas'),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ],
  setDefaults(object) {
    const spec = specOf(object);
    spec.strategy = rolling(spec.strategy, { maxSurge: '25%', maxUnavailable: '25%' });
    spec.revisionHistoryLimit ??= 10;
    spec.progressDeadlineSeconds ??= 600;
  },
});

export const daemonSets = workload(
  {
    kind: 'DaemonSet',
    plural: 'daemonsets',
    shape: 'apps.v1.DaemonSet',
    shortNames: ['ds'],
    columns: [
      nameColumn,
      counted('Desired', 'How many nodes should run it.', 'desiredNumberScheduled'),
      counted('Current', 'How many nodes run it.', 'currentNumberScheduled'),
      counted('Ready', 'How many nodes have it ready.', 'numberReady'),
      counted('Up-to-date', 'How many nodes run the newest template.', 'updatedNumberScheduled'),
      counted('Available', 'How many nodes have it in service.', 'numberAvailable'),
      column('Node Selector', 'Which nodes should run it.', (object) => {
        return labelsText(specOf(object).template?.spec?.nodeSelector) || '<none>';
      }),
      ageColumn,
      ...templateColumns,
      selectorColumn,
    ],
    setDefaults(object) {
      const spec = specOf(object);
      spec.updateStrategy = rolling(spec.updateStrategy, { maxSurge: 0, maxUnavailable: 1 });
      spec.revisionHistoryLimit ??= 10;
    },
    prepareForCreate(object) {
      object.status = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
      countTemplates(object, 1);
    },
    prepareForUpdate(object, old, subresource) {
      keepOtherPart(object, old, subresource);
      const before = Number(old.metadata.annotations?.[templateGeneration] ?? 1);
      countTemplates(object, isEquivalent(specOf(object).template, specOf(old).template) ? before : before + 1);
    },
  },
  false,
);

/** How often the template of a DaemonSet changed: formerly a field, now an annotation. */
const templateGeneration = 'deprecated.daemonset.template.generation';

function countTemplates({ metadata }: KubeObject, count: number): void {
  metadata.annotations = { ...metadata.annotations, [templateGeneration]: String(count) };
}

/** The revisions of DaemonSets and StatefulSets. */
export const controllerRevisions = defineResource({
  group: 'apps',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  shape: 'apps.v1.ControllerRevision',
  namespaced: true,
  columns: [
    nameColumn,
    column('Controller', 'Whose past it is.', ({ metadata }) => {
      const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
      if (owner === undefined) return '<none>';
      const [, group = ''] = owner.apiVersion.split('/').reverse();
      return `${owner.kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${owner.name}`;
    }),
    column('Revision', 'Its place among the others.', ({ revision }) => String(revision ?? 0)),
    ageColumn,
  ],
});

export const replicaSets = workload({
  kind: 'ReplicaSet',
  plural: 'replicasets',
  shape: 'apps.v1.ReplicaSet',
  shortNames: ['rs'],
  columns: [nameColumn, ...sizeColumns, ageColumn, ...templateColumns, selectorColumn],
  prepareForCreate(object) {
    object.status = { replicas: 0 };
  },
});

export const statefulSets = workload({
  kind: 'StatefulSet',
  plural: 'statefulsets',
  shape: 'apps.v1.StatefulSet',
  shortNames: ['sts'],
  columns: [
    nameColumn,
    column('Ready', 'Pods that are ready, of those wanted.', (object) => {
      return `${statusOf(object).readyReplicas ?? 0}/${replicasOf(object)}`;
    }),
    ageColumn,
    ...templateColumns,
  ],
  setDefaults(object) {
    const spec = specOf(object);
    spec.podManagementPolicy ||= 'OrderedReady';
    spec.updateStrategy = rolling(spec.updateStrategy, { partition: 0 });
    spec.revisionHistoryLimit ??= 10;
    object.spec = { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' }, ...spec };
  },
  prepareForCreate(object) {
    object.status = { replicas: 0, availableReplicas: 0 };
  },
});

export const replicationControllers = workload({
  group: '',
  kind: 'ReplicationController',
  plural: 'replicationcontrollers',
  shape: 'core.v1.ReplicationController',
  shortNames: ['rc'],
  columns: [
    nameColumn,
    ...sizeColumns,
    ageColumn,
    ...templateColumns,
    wideColumn('Selector', 'Which Pods are its own.', (object) => labelsText(specOf(object).selector) || '<none>'),
  ],
  setDefaults(object) {
    const spec = specOf(object);
    const { labels } = (spec.template?.metadata ?? {}) as { labels?: Record<string, string> };
    if (labels === undefined) return;
    spec.selector ??= labels;
    object.metadata.labels ??= labels;
  },
  prepareForCreate(object) {
    object.status = { replicas: 0 };
  },
});

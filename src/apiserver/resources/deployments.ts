/** Deployments, kept and shown: what is meant for a cluster can be applied here whole. Nothing runs their Pods. */
import { type FieldError, requiredField } from '../../api/field-error.js';
import type { KubeObject } from '../../api/object.js';
import { ageColumn, column, nameColumn } from './columns.js';
import { builtIn } from './define.js';

interface Spec {
  replicas?: number;
  selector?: object | null;
}

interface Status {
  readyReplicas?: number;
  updatedReplicas?: number;
  availableReplicas?: number;
}

const specOf = (deployment: KubeObject) => (deployment.spec ?? {}) as Spec;
const statusOf = (deployment: KubeObject) => (deployment.status ?? {}) as Status;

export const deployments = builtIn({
  group: 'apps',
  kind: 'Deployment',
  plural: 'deployments',
  shape: 'apps.v1.Deployment',
  namespaced: true,
  shortNames: ['deploy'],
  categories: ['all'],
  hasStatus: true,
  hasGeneration: true,
  columns: [
    nameColumn,
    column('Ready', 'Pods that are ready, of those wanted.', (deployment) => {
      return `${statusOf(deployment).readyReplicas ?? 0}/${specOf(deployment).replicas ?? 1}`;
    }),
    column('Up-to-date', 'Pods of the newest template.', (deployment) => statusOf(deployment).updatedReplicas ?? 0),
    column('Available', 'Pods that serve.', (deployment) => statusOf(deployment).availableReplicas ?? 0),
    ageColumn,
  ],
  setDefaults(deployment) {
    const spec = specOf(deployment);
    spec.replicas ??= 1;
    deployment.spec = spec;
  },
  prepareForCreate(deployment) {
    deployment.status = {};
  },
  validateCreate: validate,
  validateUpdate: validate,
});

function validate(deployment: KubeObject): FieldError[] {
  return specOf(deployment).selector ? [] : [requiredField('spec.selector', '')];
}

/** Namespaces: created with the finalizer `kubernetes` in spec, Active until deleted, Terminating until empty. */

import { checkQualifiedName, nameIsDnsLabel } from '../../api/names.js';
import type { KubeObject } from '../../api/object.js';
import { type FieldError, invalidField } from '../field-error.js';
import { ageColumn, column, nameColumn } from './columns.js';
import { defineResource, keepOtherPart } from './define.js';

export const namespaceFinalizer = 'kubernetes';
const nameLabel = 'kubernetes.io/metadata.name';

interface NamespaceStatus {
  phase?: string;
}

export const namespaces = defineResource({
  kind: 'Namespace',
  plural: 'namespaces',
  shape: 'core.v1.Namespace',
  namespaced: false,
  shortNames: ['ns'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: {
    finalize: { kind: 'Namespace', verbs: ['update'] },
    status: { kind: 'Namespace', verbs: ['get', 'patch', 'update'] },
  },
  columns: [nameColumn, column('Status', 'Active, or Terminating while it is emptied.', phase), ageColumn],
  nameRule: nameIsDnsLabel,
  selectableFields: {
    'status.phase': phase,
    // Kubernetes accepts `name` for this kind too.
    name: (object) => object.metadata.name,
  },
  setDefaults(object) {
    // A generated name is labelled once it is known.
    if (object.metadata.name) labelWithName(object);
  },
  prepareForCreate(object) {
    if (object.metadata.name) labelWithName(object);
    object.status = { phase: 'Active' };
    const spec = (object.spec ?? {}) as { finalizers?: string[] };
    const finalizers = spec.finalizers ?? [];
    object.spec = {
      finalizers: finalizers.includes(namespaceFinalizer) ? finalizers : [...finalizers, namespaceFinalizer],
    };
  },
  prepareForUpdate(object, old, subresource) {
    if (subresource === 'finalize') {
      object.status = structuredClone(old.status);
      return;
    }
    keepOtherPart(object, old, subresource);
    object.spec = structuredClone(old.spec);
  },
  deletion: {
    begin(object) {
      object.status = { ...(object.status as NamespaceStatus), phase: 'Terminating' };
    },
  },
  validateCreate: (object) => validateFinalizers(object, () => 'spec.finalizers'),
  validateUpdate(object, _old, subresource) {
    if (subresource === 'finalize') return validateFinalizers(object, (index) => `spec.finalizers[${index}]`);
    return [];
  },
});

function labelWithName(object: KubeObject): void {
  object.metadata.labels = { ...object.metadata.labels, [nameLabel]: object.metadata.name };
}

function phase(object: KubeObject): string {
  return (object.status as NamespaceStatus | undefined)?.phase ?? '';
}

const bareFinalizers: ReadonlySet<string> = new Set([namespaceFinalizer, 'orphan', 'foregroundDeletion']);

function validateFinalizers(object: KubeObject, place: (index: number) => string): FieldError[] {
  const finalizers = (object.spec as { finalizers?: string[] } | undefined)?.finalizers ?? [];
  const bare = 'name is neither a standard finalizer name nor is it fully qualified';
  return finalizers.flatMap((name, index) => {
    const wrong = checkQualifiedName(name);
    if (!name.includes('/') && !bareFinalizers.has(name)) wrong.push(bare);
    return wrong.map((message) => invalidField(place(index), name, message));
  });
}

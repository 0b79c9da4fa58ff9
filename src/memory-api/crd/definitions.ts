/**
 * CustomResourceDefinitions as a resource. Its status is set in the same write: a kind can be used as soon as its
 * definition is visible.
 */
import type { KubeObject } from '../../api/object.js';
import { type Clock, rfc3339 } from '../../clock.js';
import type { Registry } from '../registry.js';
import type { Resource } from '../resource.js';
import { createdAtColumn, nameColumn } from '../resources/columns.js';
import { defineResource } from '../resources/define.js';
import { type CrdCondition, type CrdStatus, crdSpec, crdStatus } from './definition.js';
import { namedStatus } from './naming.js';
import { validateDefinition, validateDefinitionUpdate } from './validate-definition.js';

export const crdGroup = 'apiextensions.k8s.io';
export const crdPlural = 'customresourcedefinitions';
/** Keeps a definition until all objects of its kind are deleted. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

export interface DefinitionsOptions {
  /** For the names that are taken. */
  registry: Registry;
  clock: Pick<Clock, 'now'>;
}

export function customResourceDefinitions({ registry, clock }: DefinitionsOptions): Resource {
  const settle = (crd: KubeObject) => {
    addStoredVersion(crd);
    crd.status = namedStatus(crd, registry, rfc3339(clock.now()));
  };
  return defineResource({
    group: crdGroup,
    kind: 'CustomResourceDefinition',
    plural: crdPlural,
    shape: 'apiextensions.v1.CustomResourceDefinition',
    namespaced: false,
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    hasStatus: true,
    statusResetFields: ['metadata'],
    hasGeneration: true,
    columns: [nameColumn, createdAtColumn],
    rows: { mayBeNull: true },
    setDefaults(crd) {
      const spec = crdSpec(crd);
      spec.names.singular ||= spec.names.kind.toLowerCase();
      if (spec.names.kind !== '') spec.names.listKind ||= `${spec.names.kind}List`;
      spec.conversion ??= { strategy: 'None' };
    },
    prepareForCreate(crd) {
      crd.status = { acceptedNames: { plural: '', kind: '' }, storedVersions: null };
      settle(crd);
    },
    prepareForUpdate(crd, old, subresource) {
      if (subresource === 'status') {
        crd.spec = structuredClone(old.spec);
        return;
      }
      crd.status = structuredClone(old.status);
      settle(crd);
    },
    deletion: {
      begin(crd) {
        const { finalizers = [] } = crd.metadata;
        if (!finalizers.includes(cleanupFinalizer)) crd.metadata.finalizers = [...finalizers, cleanupFinalizer];
        crd.status = withCondition(crdStatus(crd) as CrdStatus, {
          type: 'Terminating',
          status: 'True',
          lastTransitionTime: rfc3339(clock.now()),
          reason: 'InstanceDeletionPending',
          message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
        });
      },
    },
    validateCreate: validateDefinition,
    validateUpdate: (crd, old, subresource) => (subresource === '' ? validateDefinitionUpdate(crd, old) : []),
  });
}

/** Records every version that objects were ever stored in. */
function addStoredVersion(crd: KubeObject): void {
  const storage = crdSpec(crd).versions?.find((version) => version.storage)?.name;
  const status = crdStatus(crd) as CrdStatus;
  const known = status.storedVersions ?? [];
  if (storage !== undefined && !known.includes(storage)) status.storedVersions = [...known, storage];
}

function withCondition(status: CrdStatus, condition: CrdCondition): CrdStatus {
  const others = (status.conditions ?? []).filter(({ type }) => type !== condition.type);
  return { ...status, conditions: [...others, condition] };
}

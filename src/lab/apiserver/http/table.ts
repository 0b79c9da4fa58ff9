/**
 * Table and PartialObjectMetadata: the server prints rows for `kubectl get`, and sends only metadata to clients that
 * ask for it.
 */
import type { KubeObject } from '../../../api/object.js';
import { ApiError } from '../../../api/status.js';
import type { ListMeta, OutputForm, Presentation, Presenter } from '../../../memory-api/requests/presenter.js';
import { type Column, isCustom, type Resource } from '../../../memory-api/resource.js';
import { badRequest } from '../../../memory-api/status-error.js';

const versions: ReadonlySet<string> = new Set(['v1', 'v1beta1']);
const includeChoices: ReadonlySet<string> = new Set(['', 'None', 'Metadata', 'Object']);

export function tablePresenter(now: () => Date): Presenter {
  return {
    present(presentation) {
      const { form } = presentation;
      if (form.as === 'Table') return table(presentation, now());
      return form.as === 'PartialObjectMetadata' ? partialObject(presentation) : partialList(presentation);
    },
  };
}

function table({ form, resource, objects, list, includeObject, withColumns }: Presentation, now: Date): unknown {
  const apiVersion = apiVersionOf(form, 'Table');
  if (!includeChoices.has(includeObject)) {
    const rule = "must be 'Metadata', 'Object', 'None', or empty";
    throw badRequest(
      `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(includeObject)}: ${rule}`,
    );
  }
  const rows = objects.map((object) => ({
    cells: resource.columns.map((column) => column.cell(object, now)),
    ...withConditions(resource.rows?.conditions?.(object) ?? []),
    object: included(object, includeObject, resource, apiVersion),
  }));
  return {
    kind: 'Table',
    apiVersion,
    metadata: list === undefined ? { resourceVersion: objects[0]?.metadata.resourceVersion } : listMeta(list),
    columnDefinitions: withColumns ? resource.columns.map(definition) : null,
    rows: rows.length === 0 && resource.rows?.mayBeNull ? null : rows,
  };
}

function withConditions(conditions: object[]): { conditions?: object[] } {
  return conditions.length === 0 ? {} : { conditions };
}

function definition({ name, type, format = '', description, priority }: Column): unknown {
  return { name, type, format, description, priority };
}

function included(object: KubeObject, choice: string, resource: Resource, apiVersion: string): unknown {
  if (choice === 'None') return null;
  if (choice !== 'Object') return partial(object, apiVersion);
  const { group, version, kind } = resource;
  return { ...object, kind, apiVersion: group === '' ? version : `${group}/${version}` };
}

function partialObject({ form, resource, objects, list }: Presentation): unknown {
  if (list !== undefined)
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (${goType(resource)}List)`,
    );
  return partial(objects[0]!, apiVersionOf(form, form.as));
}

function partialList({ form, resource, objects, list }: Presentation): unknown {
  if (list === undefined)
    throw notAcceptable(
      `you requested PartialObjectMetadataList, but the requested object is not a list (${goType(resource)})`,
    );
  const apiVersion = apiVersionOf(form, form.as);
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion,
    metadata: listMeta(list),
    items: objects.map((object) => partial(object, apiVersion)),
  };
}

function partial(object: KubeObject, apiVersion: string): unknown {
  return { kind: 'PartialObjectMetadata', apiVersion, metadata: object.metadata };
}

function listMeta({ resourceVersion, continue: token, remainingItemCount }: ListMeta): unknown {
  return {
    resourceVersion,
    ...(token === undefined || token === '' ? {} : { continue: token }),
    ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
  };
}

function apiVersionOf({ group, version }: OutputForm, what: string): string {
  const asked = `${group}/${version}`;
  if (group === 'meta.k8s.io' && versions.has(version)) return asked;
  throw notAcceptable(`no ${what} exists in group version ${asked}`);
}

/** The Go type of a kind: *core.ConfigMap, *rbac.Role. */
function goType(resource: Resource): string {
  const { group, kind } = resource;
  if (isCustom(resource)) return '*unstructured.Unstructured';
  return `*${group === '' ? 'core' : group.split('.')[0]}.${kind}`;
}

function notAcceptable(message: string): ApiError {
  return new ApiError(406, 'NotAcceptable', message);
}

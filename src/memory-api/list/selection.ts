/** The objects that a list, a watch or a deletecollection selects: a scope of the store and a filter. */

import { matchesLabels, parseLabelSelector, SelectorError } from '../../api/label-selector.js';
import type { KubeObject } from '../../api/object.js';
import { quote } from '../../go/quote.js';
import { exactValue, type FieldTerm, parseFieldSelector } from '../field-selector.js';
import { collectionOf } from '../requests/codec.js';
import type { RequestInfo } from '../requests/request-info.js';
import { isCustom, type Resource } from '../resource.js';
import { badRequest } from '../status-error.js';
import type { Scope } from '../store/store.js';

export interface Selection {
  scope: Scope;
  /** Undefined if the scope is enough: then no object need be parsed. */
  matches: ((object: KubeObject) => boolean) | undefined;
  /** Whether there is a selector; remainingItemCount is then left out. */
  isSelective: boolean;
}

export function selectionOf(info: RequestInfo, resource: Resource, query: URLSearchParams): Selection {
  try {
    return select(info, resource, query.get('labelSelector') ?? '', query.get('fieldSelector') ?? '');
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message);
    throw error;
  }
}

function select(info: RequestInfo, resource: Resource, labelText: string, fieldText: string): Selection {
  const labels = parseLabelSelector(labelText);
  const fields = parseFieldSelector(fieldText);
  for (const { field } of fields) checkField(resource, field);

  const name = requestedName(info.name, fields);
  const wanted = exactValue(fields, 'metadata.namespace');
  const namespace = resource.namespaced ? info.namespace || wanted : '';
  const scope: Scope = {
    ...collectionOf(resource),
    ...(namespace === undefined || (namespace === '' && resource.namespaced) ? {} : { namespace }),
    ...(name === undefined || name === '' ? {} : { name }),
  };
  const rest = fields.filter((term) => !isInScope(term, scope));
  const tests: ((object: KubeObject) => boolean)[] = [];
  if (labels.length > 0) tests.push((object) => matchesLabels(labels, object.metadata.labels));
  for (const { field, operator, value } of rest) {
    const read = reader(resource, field);
    tests.push((object) => (read(object) === value) === (operator === '='));
  }
  return {
    scope,
    matches: tests.length === 0 ? undefined : (object) => tests.every((test) => test(object)),
    isSelective: labels.length > 0 || fields.length > 0,
  };
}

/** The request was authorized for the name in its path: no selector may change it. */
function requestedName(authorized: string, fields: FieldTerm[]): string | undefined {
  const selected = exactValue(fields, 'metadata.name');
  if (authorized === '') return selected;
  if (fields.length > 0 && selected !== authorized)
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  return authorized;
}

function isInScope({ field, operator, value }: FieldTerm, scope: Scope): boolean {
  if (operator !== '=') return false;
  return (
    (field === 'metadata.name' && scope.name === value) || (field === 'metadata.namespace' && scope.namespace === value)
  );
}

function reader(resource: Resource, field: string): (object: KubeObject) => string {
  if (field === 'metadata.name') return (object) => object.metadata.name;
  if (field === 'metadata.namespace') return (object) => object.metadata.namespace ?? '';
  return resource.selectableFields[field]!;
}

/** Kinds with selectable fields have another error message than those without. */
function checkField(resource: Resource, field: string): void {
  if (field === 'metadata.name' || (field === 'metadata.namespace' && isNamespaceField(resource))) return;
  const own = Object.keys(resource.selectableFields);
  if (own.includes(field)) return;
  throw badRequest(
    own.length > 0 || isCustom(resource)
      ? `field label not supported: ${field}`
      : `${quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
  );
}

/** By default every kind has it; kinds with selectable fields only where they are namespaced. */
function isNamespaceField(resource: Resource): boolean {
  return resource.namespaced || Object.keys(resource.selectableFields).length === 0;
}

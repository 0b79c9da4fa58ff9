/**
 * How writes change ownership of fields. Pure: objects, schema and managers in, managers (and for an apply the new
 * object) out.
 *
 *     update: a manager that changes a field owns it alone; one without fields is removed
 *     apply:  an applier owns the fields it applies, shared with others of the same value; fields that it no longer
 *             applies and nobody else owns are removed; changing a field of another owner is a conflict unless forced
 */
import { isSameJson } from '../json-equality.js';
import { type Comparison, compare } from './compare.js';
import {
  deepDifference,
  difference,
  type FieldSet,
  fromPaths,
  has,
  intersection,
  isEmpty,
  nothing,
  paths,
  sortedDeep,
  union,
} from './field-set.js';
import { fieldsOf, withNamedFields } from './fields-of.js';
import { capManagers, isSameManager, type Manager } from './managers.js';
import { merge } from './merge.js';
import type { JsonMap, MergeSchema } from './merge-schema.js';
import { fieldElement } from './path-element.js';
import { removeFields } from './remove-fields.js';

/** System fields, which nobody owns. */
const systemFields = fromPaths(
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...['name', 'namespace', 'creationTimestamp', 'selfLink', 'uid', 'clusterName', 'generation'].map(inMetadata),
  ...['managedFields', 'resourceVersion'].map(inMetadata),
);

function inMetadata(name: string): string[] {
  return ['f:metadata', `f:${name}`];
}

export interface Write {
  /** Empty if the object is new; without managedFields, as `object` too. */
  live: JsonMap;
  managers: Manager[];
  schema: MergeSchema;
  /** Fields that this subresource cannot change: status on the object, spec on its status. */
  reset: FieldSet;
  /** The writer's name, version and time; without fields. */
  by: Manager;
}

/** The managers after an update to `object`. */
export function afterUpdate(write: Write, object: JsonMap): Manager[] {
  const { live, managers, schema, reset, by } = write;
  const { changed, removed } = changes(compare(visible(live, reset), visible(object, reset), schema), reset);
  const taken = difference(changed, systemFields);
  if (isEmpty(taken) && isEmpty(removed)) return managers;
  const lost = union(changed, removed);
  const own = managers.find((entry) => isSameManager(entry, by));
  const others = managers.filter((entry) => entry !== own).flatMap((entry) => withoutFields(entry, lost));
  const kept = own === undefined ? [] : withoutFields(own, removed);
  if (isEmpty(taken)) return [...others, ...kept];
  const fieldsV1 = kept[0] === undefined ? sortedDeep(taken) : union(kept[0].fieldsV1, taken);
  return capManagers([...others, { ...by, fieldsV1 }], union);
}

/** Without the parts that are reset as a whole and need not be compared. */
function visible(object: JsonMap, reset: FieldSet): JsonMap {
  if (isEmpty(reset)) return object;
  return Object.fromEntries(Object.entries(object).filter(([key]) => !has(reset, fieldElement(key))));
}

function changes({ removed, modified, added }: Comparison, reset: FieldSet): { changed: FieldSet; removed: FieldSet } {
  return {
    changed: deepDifference(union(modified, added), reset),
    removed: deepDifference(removed, reset),
  };
}

function withoutFields(entry: Manager, fields: FieldSet): Manager[] {
  const fieldsV1 = difference(entry.fieldsV1, fields);
  if (fieldsV1 === entry.fieldsV1) return [entry];
  return isEmpty(fieldsV1) ? [] : [{ ...entry, fieldsV1 }];
}

export interface Conflict {
  manager: Manager;
  path: string[];
}

/** Others own fields that the applied object would change. */
export class ApplyConflicts extends Error {
  constructor(readonly conflicts: Conflict[]) {
    super(`${conflicts.length} fields belong to others`);
  }
}

export interface Applied {
  object: JsonMap;
  managers: Manager[];
  /** The object changed; its owners may change without that. */
  isChanged: boolean;
}

/** The object and its managers after `applied` was applied. Throws ApplyConflicts, ItemError. */
export function apply(write: Write, applied: JsonMap, { force }: { force: boolean }): Applied {
  const { live, managers, schema, reset, by } = write;
  const own = managers.find((entry) => isSameManager(entry, by));
  const others = managers.filter((entry) => entry !== own);
  const fieldsV1 = deepDifference(fieldsOf(applied, schema), reset);
  const merged = merge(live, applied, schema) as JsonMap;
  const object = prune(merged, own?.fieldsV1 ?? nothing, [fieldsV1, ...others.map((entry) => entry.fieldsV1)], schema);
  const { changed, removed } = changes(compare(live, object, schema), reset);
  const conflicts = others.flatMap((manager) =>
    [...paths(intersection(manager.fieldsV1, changed))].map((path) => ({ manager, path })),
  );
  if (conflicts.length > 0 && !force) throw new ApplyConflicts(conflicts);
  const isChanged = !isSameJson(live, object);
  const { time, ...rest } = by;
  const stamp = isChanged ? time : own?.time;
  const claimed = difference(fieldsV1, systemFields);
  return {
    object,
    isChanged,
    managers: [
      ...others.flatMap((entry) => withoutFields(entry, union(changed, removed))),
      ...(isEmpty(claimed) ? [] : [{ ...rest, ...(stamp === undefined ? {} : { time: stamp }), fieldsV1: claimed }]),
    ],
  };
}

/**
 * Removes fields that the applier owned and no longer applies, unless another owns them. Containers are removed with
 * their last content; fields that nobody ever owned stay.
 */
function prune(merged: JsonMap, last: FieldSet, owned: FieldSet[], schema: MergeSchema): JsonMap {
  if (isEmpty(last)) return merged;
  const named = (fields: FieldSet) => withNamedFields(fields, schema);
  const before = named(fieldsOf(merged, schema));
  const bare = named(fieldsOf(removeFields(merged, named(last), schema), schema));
  const ownedFields = named(owned.reduce(union, nothing));
  const kept = removeFields(merged, difference(before, union(bare, ownedFields)), schema);
  const gone = difference(before, named(fieldsOf(kept, schema)));
  return removeFields(merged, intersection(gone, named(last)), schema);
}

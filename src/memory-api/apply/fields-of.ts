/**
 * The fields that a value sets, as an applied object claims them; and the same with the named fields on the way to
 * them.
 */
import { isObject } from '../../json.js';
import { addElement, type FieldSet, isEmpty, leaf, sortedDeep } from './field-set.js';
import {
  fieldSchema,
  isGranularMap,
  isNamed,
  itemElement,
  itemSchema,
  type JsonMap,
  listKeys,
  type MergeSchema,
} from './merge-schema.js';
import { fieldElement } from './path-element.js';

/** Throws ItemError for lists whose items cannot be distinguished. */
export function fieldsOf(object: JsonMap, schema: MergeSchema): FieldSet {
  return sortedDeep(mapFields(object, schema));
}

/** The fields below a value; undefined if the value is atomic. */
function fieldsBelow(value: unknown, schema: MergeSchema): FieldSet | undefined {
  if (isObject(value) && isGranularMap(schema)) return mapFields(value, schema);
  if (Array.isArray(value) && listKeys(schema) !== undefined) return listFields(value, schema);
  // A container that is null has no fields; its parent decides whether it is a field itself.
  return undefined;
}

function mapFields(map: JsonMap, schema: MergeSchema): FieldSet {
  const result: Record<string, FieldSet> = {};
  for (const [key, value] of Object.entries(map)) {
    const children = fieldsBelow(value, fieldSchema(schema, key));
    const element = fieldElement(key);
    const isBare = isObject(value) && Object.keys(value).length === 0;
    if (children === undefined || isBare) result[element] = leaf;
    // A named field is owned through its content; a key of a map is owned itself too.
    else if (!isNamed(schema, key)) Object.assign(result, addElement({}, element, children));
    else if (!isEmpty(children)) result[element] = children;
  }
  return result;
}

function listFields(list: unknown[], schema: MergeSchema): FieldSet {
  const keys = listKeys(schema)!;
  const items = new Map<string, unknown>();
  const repeated = new Set<string>();
  for (const item of list) {
    const element = itemElement(item, keys, schema);
    if (items.has(element)) repeated.add(element);
    else items.set(element, item);
  }
  const result: Record<string, FieldSet> = {};
  for (const [element, item] of items) {
    const children = repeated.has(element) ? undefined : fieldsBelow(item, itemSchema(schema));
    if (children === undefined) result[element] = leaf;
    else Object.assign(result, addElement({}, element, children));
  }
  return result;
}

/** The set with every named field that leads to a member, to remove those as a whole. */
export function withNamedFields(set: FieldSet, schema: MergeSchema): FieldSet {
  const changed: Record<string, FieldSet> = {};
  for (const [element, children] of Object.entries(set)) {
    if (element === '.' || isEmpty(children)) continue;
    const isField = element.startsWith('f:');
    const name = element.slice(2);
    const below = withNamedFields(children, isField ? fieldSchema(schema, name) : itemSchema(schema));
    if (isField && isNamed(schema, name)) Object.assign(changed, addElement({}, element, below));
    else if (below !== children) changed[element] = below;
  }
  return isEmpty(changed) ? set : { ...set, ...changed };
}

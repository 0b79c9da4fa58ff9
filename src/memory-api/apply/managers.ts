/**
 * Reads and writes metadata.managedFields. A manager is identified by its name, operation,
 * subresource and, unless it applies, the API version it writes in.
 */
import { isObject } from '../../json.js';
import { type FieldSet, nothing, sortedDeep } from './field-set.js';
import { readElement } from './path-element.js';

export interface Manager {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  /** Absent where the manager came to own fields without ever changing one. */
  time?: string;
  fieldsType: 'FieldsV1';
  fieldsV1: FieldSet;
  subresource?: string;
}

/** Sets from outside are trees of any depth; no real one is deeper. */
const maxDepth = 200;
/** With more managers that update than this, the oldest are merged. */
const maxUpdaters = 10;

export function isSameManager(a: Manager, b: Manager): boolean {
  return (
    a.manager === b.manager &&
    a.operation === b.operation &&
    (a.subresource ?? '') === (b.subresource ?? '') &&
    (a.operation === 'Apply' || a.apiVersion === b.apiVersion)
  );
}

/** Undefined if something in it cannot be read. */
export function readManagers(entries: unknown): Manager[] | undefined {
  if (entries === undefined || entries === null) return [];
  if (!Array.isArray(entries)) return undefined;
  try {
    return entries.map(readManager);
  } catch {
    return undefined;
  }
}

function readManager(entry: unknown): Manager {
  const { manager = '', operation, apiVersion, time, fieldsType, fieldsV1, subresource } = entry as Partial<Manager>;
  if (operation !== 'Apply' && operation !== 'Update') throw new Error('operation must be `Apply` or `Update`');
  if (!apiVersion) throw new Error('apiVersion must not be empty');
  if (fieldsType !== 'FieldsV1') throw new Error(`invalid fieldsType ${JSON.stringify(fieldsType)}`);
  return {
    manager,
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType,
    fieldsV1: sortedDeep(readFields(fieldsV1 ?? nothing, 0)),
    ...(subresource ? { subresource } : {}),
  };
}

function readFields(value: unknown, depth: number): FieldSet {
  if (!isObject(value)) throw new Error('not a set of fields');
  if (depth > maxDepth) throw new Error('too deep');
  const result: Record<string, FieldSet> = {};
  for (const [element, below] of Object.entries(value)) {
    const known = element === '.' ? element : readElement(element);
    if (known !== undefined) result[known] = readFields(below, depth + 1);
  }
  return result;
}

/** A list with one empty entry: the client resets ownership. */
export function isReset(entries: unknown): boolean {
  if (!Array.isArray(entries)) return false;
  return entries.length === 0 || (entries.length === 1 && Object.keys(entries[0] as object).length === 0);
}

/** In the order in which Kubernetes writes them. */
export function sortManagers(managers: Manager[]): Manager[] {
  return managers.length < 2 ? managers : [...managers].sort(compareManagers);
}

function compareManagers(a: Manager, b: Manager): number {
  return (
    compareText(a.operation, b.operation) ||
    compareText(a.time ?? '', b.time ?? '') ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource ?? '', b.subresource ?? '')
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Merges the oldest managers that update until there are few enough. */
export function capManagers(managers: Manager[], join: (a: FieldSet, b: FieldSet) => FieldSet): Manager[] {
  const updaters = sortManagers(managers.filter(({ operation }) => operation === 'Update'));
  let excess = updaters.length - maxUpdaters;
  if (excess <= 0) return managers;
  const buckets = new Map<string, Manager>();
  const gone = new Set<Manager>();
  for (const updater of updaters) {
    if (excess === 0) break;
    const bucket = buckets.get(updater.apiVersion);
    gone.add(updater);
    if (bucket !== undefined) excess--;
    buckets.set(updater.apiVersion, bucket === undefined ? updater : ancient(bucket, updater, join));
  }
  return [...managers.filter((entry) => !gone.has(entry)), ...buckets.values()];
}

function ancient(bucket: Manager, { time, fieldsV1 }: Manager, join: (a: FieldSet, b: FieldSet) => FieldSet): Manager {
  const { subresource: _, time: __, ...rest } = bucket;
  return {
    ...rest,
    manager: 'ancient-changes',
    ...(time === undefined ? {} : { time }),
    fieldsV1: join(bucket.fieldsV1, fieldsV1),
  };
}

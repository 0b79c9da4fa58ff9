/**
 * The inventory of a fleet: the values of each field, on how many nodes, from where, in which pools; and outliers, nodes whose value
 * differs from that of nearly all others in their pool. Pure.
 */
import { getField } from '../config/model.js';
import { byNaturalOrder } from '../natural-order.js';
import type { EffectiveFleet, FleetNode, Unread } from './effective-configs.js';
import { leafFields, ownFields, valueText } from './effective-document.js';
import { poolOf } from './pools.js';

export interface Inventory {
  nodes: number;
  /** Distinct documents. */
  configs: number;
  pools: Pool[];
  fields: FieldValues[];
  outliers: Outlier[];
  unread: Pick<Unread, 'name' | 'reason'>[];
}

export interface Pool {
  name: string;
  nodes: number;
  kubelets: string[];
  configs: number;
}

export interface FieldValues {
  field: string;
  /** Most frequent first. */
  values: FieldValue[];
}

export interface FieldValue {
  value: string;
  nodes: string[];
  /** Number of nodes by origin. */
  origins: Record<string, number>;
  pools: Record<string, number>;
}

export interface Outlier {
  node: string;
  pool: string;
  field: string;
  value: string;
  /** The value of the others. */
  usual: string;
}

export interface InventoryOptions {
  /** A label that names the pools. */
  by?: string | undefined;
  /** Only fields that match; all values of them, defaults too. */
  field?: RegExp | undefined;
}

/** From 3 nodes on, a value that two thirds of a pool have is the usual one. */
const smallestPool = 3;
const usualShare = 2 / 3;

export function takeInventory(fleet: EffectiveFleet, { by, field: wanted }: InventoryOptions = {}): Inventory {
  const pools = groupBy(fleet.nodes, (node) => poolOf(node, by));
  const fields = new Map<string, Map<string, FieldValue>>();
  const outliers: Outlier[] = [];
  for (const [pool, members] of pools) {
    const byDocument = groupBy(members, ({ document }) => document);
    const values = valuesOf(fleet, byDocument, wanted);
    for (const [field, found] of values) {
      for (const { value, origin, nodes } of found) count(fields, field, { value, origin, nodes, pool });
      outliers.push(...outliersOf(pool, members.length, field, found));
    }
  }
  const kept = [...fields].map(([field, values]) => ({ field, values: [...values.values()].sort(mostFirst) }));
  return {
    nodes: fleet.nodes.length,
    configs: new Set(fleet.nodes.map(({ document }) => document)).size,
    pools: [...pools].map(([name, members]) => poolSummary(name, members)).sort(byPoolName),
    fields: kept.filter((one) => wanted !== undefined || isNotable(one)).sort(byField),
    outliers: outliers.sort((a, b) => byNaturalOrder(`${a.node} ${a.field}`, `${b.node} ${b.field}`)),
    unread: fleet.unread.map(({ name, reason }) => ({ name, reason })),
  };
}

/** `*` stands for anything: `eviction*`, `authentication.*`, `*Port`. */
export function fieldGlob(glob: string): RegExp {
  const escaped = glob.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^${escaped}$`, 'i');
}

interface Found {
  value: string;
  origin: string;
  nodes: string[];
}

/** By field; one entry for each document. */
function valuesOf(fleet: EffectiveFleet, byDocument: Map<string, FleetNode[]>, wanted: RegExp | undefined) {
  const values = new Map<string, Found[]>();
  for (const [id, members] of byDocument) {
    const { config, origins, minor, unknown } = fleet.documents.get(id)!;
    const nodes = members.map(({ name }) => name);
    for (const { path, shape } of leafFields(minor)) {
      if (ownFields.includes(path) || wanted?.test(path) === false) continue;
      const value = unknown.includes(path) ? '<not reported>' : valueText(getField(config, path), shape.kind);
      const found = values.get(path);
      const entry = { value, origin: origins[path] ?? 'default', nodes };
      if (found === undefined) values.set(path, [entry]);
      else found.push(entry);
    }
  }
  return values;
}

function count(
  fields: Map<string, Map<string, FieldValue>>,
  field: string,
  { value, origin, nodes, pool }: Found & { pool: string },
): void {
  let values = fields.get(field);
  if (values === undefined) {
    values = new Map();
    fields.set(field, values);
  }
  let entry = values.get(value);
  if (entry === undefined) {
    entry = { value, nodes: [], origins: {}, pools: {} };
    values.set(value, entry);
  }
  for (const node of nodes) entry.nodes.push(node);
  addTo(entry.origins, origin, nodes.length);
  addTo(entry.pools, pool, nodes.length);
}

function addTo(counts: Record<string, number>, key: string, nodes: number): void {
  counts[key] = (counts[key] ?? 0) + nodes;
}

function outliersOf(pool: string, size: number, field: string, found: readonly Found[]): Outlier[] {
  if (size < smallestPool || found.length < 2) return [];
  const counts = new Map<string, number>();
  for (const { value, nodes } of found) counts.set(value, (counts.get(value) ?? 0) + nodes.length);
  const usual = [...counts].find(([, nodes]) => nodes >= size * usualShare && nodes < size)?.[0];
  if (usual === undefined) return [];
  return found
    .filter(({ value }) => value !== usual)
    .flatMap(({ value, nodes }) => nodes.map((node) => ({ node, pool, field, value, usual })));
}

function poolSummary(name: string, members: readonly FleetNode[]): Pool {
  return {
    name,
    nodes: members.length,
    kubelets: [...new Set(members.map(({ kubeletVersion }) => kubeletVersion))].sort(byNaturalOrder),
    configs: new Set(members.map(({ document }) => document)).size,
  };
}

/** The field is set on some node, or its default is not the same everywhere. */
export const isNotable = ({ values }: FieldValues): boolean =>
  values.length > 1 || values.some(({ origins }) => Object.keys(origins).some((origin) => origin !== 'default'));

export function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** `1 node`, `3 nodes`. */
export const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

export function inventorySummary({ nodes, pools, configs, fields }: Inventory): string {
  const counts = `${counted(nodes, 'node')} in ${counted(pools.length, 'pool')} with ${counted(configs, 'distinct config')}.`;
  const isFromConfigz = fields.some(({ values }) => values.some(({ origins }) => Object.hasOwn(origins, 'set')));
  return isFromConfigz ? `${counts} ${cannotTell}` : counts;
}

const cannotTell =
  "Some values are from /configz, which shows them without where they come from: they are 'default' or 'set'.";

/** The whole origin where it is one; else by kind, with the number of nodes. */
export function originText({ origins }: Pick<FieldValue, 'origins'>): string {
  const all = Object.entries(origins);
  if (all.length === 1) return all[0]![0];
  const kinds: Record<string, number> = {};
  for (const [origin, nodes] of all) addTo(kinds, origin.split(' ')[0]!, nodes);
  const names = Object.keys(kinds);
  return names.map((kind) => (names.length === 1 ? kind : `${kind} (${kinds[kind]})`)).join(', ');
}

const mostValues = 8;

/** The values as they are shown: a field with many values, or one that every host has for itself, is one entry. */
export function shownValues({ values }: FieldValues): FieldValue[] {
  const isOfHosts = values.length >= smallestPool && values.every(({ nodes }) => nodes.length === 1);
  if (values.length <= mostValues && !isOfHosts) return values;
  const all: FieldValue = { value: `${values.length} different values`, nodes: [], origins: {}, pools: {} };
  for (const { nodes, origins } of values) {
    all.nodes = all.nodes.concat(nodes);
    for (const [origin, nodes] of Object.entries(origins)) addTo(all.origins, origin, nodes);
  }
  return [all];
}

const mostFirst = (a: FieldValue, b: FieldValue): number =>
  b.nodes.length - a.nodes.length || byNaturalOrder(a.value, b.value);
const byPoolName = (a: Pool, b: Pool): number => byNaturalOrder(a.name, b.name);
const byField = (a: FieldValues, b: FieldValues): number => byNaturalOrder(a.field, b.field);

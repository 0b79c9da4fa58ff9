/**
 * An inventory as files, for Git and for offline use: one file for each distinct document, and index.json with the nodes. The same
 * fleet gives the same bytes. Also compares two inventories. Pure; the command line reads and writes the files.
 */
import { CannotRun } from '../cannot-run.js';
import { fieldAt } from '../config/fields.js';
import { getField } from '../config/model.js';
import { isObject, jsonText, parseObject } from '../json.js';
import { byNaturalOrder } from '../natural-order.js';
import type { EffectiveFleet, FleetNode, Unread } from './effective-configs.js';
import { type EffectiveDocument, leafFields, valueText, withId } from './effective-document.js';

const apiVersion = 'relet.dev/v1alpha1';
export const indexFile = 'index.json';
export const documentFile = (id: string): string => `config-${id}.json`;
/** The names that `--save` gives, so that it removes no other file. */
export const isDocumentFile = (name: string): boolean => /^config-[0-9a-f]{12}\.json$/.test(name);

export function inventoryFiles({ nodes, unread, documents }: EffectiveFleet): Map<string, string> {
  const used = [...new Set(nodes.map(({ document }) => document))].sort();
  const files = used.map((id): [string, string] => [documentFile(id), documentText(documents.get(id)!)]);
  const index = {
    apiVersion,
    kind: 'NodeInventory',
    nodes: nodes.map(({ name, kubeletVersion, set, labels, own, document }) => ({
      name,
      kubeletVersion,
      ...(set !== undefined && { set }),
      config: documentFile(document),
      ...(Object.keys(own).length > 0 && { own }),
      labels: sorted(labels),
    })),
    unread: unread.map(({ name, kubeletVersion, labels, reason }) => ({
      name,
      kubeletVersion,
      reason,
      labels: sorted(labels),
    })),
  };
  return new Map([...files, [indexFile, `${jsonText(index, 1)}\n`]]);
}

const sorted = <T>(object: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));

function documentText({ minor, source, config, origins, flags, unknown }: EffectiveDocument): string {
  const document = {
    apiVersion,
    kind: 'EffectiveKubeletConfiguration',
    kubelet: `1.${minor}`,
    source,
    ...(flags && { flags }),
    ...(unknown.length > 0 && { unknown }),
    origins: sorted(origins),
    config: sorted(config),
  };
  return `${jsonText(document, 1)}\n`;
}

/** `read` returns the text of a file of the directory. Throws CannotRun for files that are not an inventory. */
export function readInventoryFiles(read: (name: string) => string): EffectiveFleet {
  const index = objectIn(read(indexFile), indexFile, 'NodeInventory');
  const documents = new Map<string, EffectiveDocument>();
  const byFile = new Map<string, string>();
  const idOf = (file: string): string => {
    if (!isDocumentFile(file)) throw new CannotRun(`${indexFile}: '${file}' is not the name of a config`);
    if (!byFile.has(file)) {
      const document = readDocumentText(read(file), file);
      documents.set(document.id, document);
      byFile.set(file, document.id);
    }
    return byFile.get(file)!;
  };
  const nodes = listIn(index, 'nodes').map((node): FleetNode => {
    const { own, config } = node;
    return { ...listedIn(node), document: idOf(String(config)), own: isObject(own) ? own : {} };
  });
  const unread = listIn(index, 'unread').map(
    (node): Unread => ({ ...listedIn(node), reason: String(node.reason ?? '') }),
  );
  return { nodes, unread, documents };
}

function listedIn({ name, kubeletVersion, set, labels }: Record<string, unknown>) {
  if (typeof name !== 'string') throw new CannotRun(`${indexFile}: a node has no name`);
  const texts = Object.entries(isObject(labels) ? labels : {}).map(([key, value]) => [key, String(value)]);
  return {
    name,
    kubeletVersion: String(kubeletVersion ?? ''),
    labels: Object.fromEntries(texts) as Record<string, string>,
    ...(typeof set === 'string' && { set }),
  };
}

function listIn(object: Record<string, unknown>, key: string): Record<string, unknown>[] {
  const list = object[key] ?? [];
  if (!Array.isArray(list) || !list.every(isObject)) throw new CannotRun(`${indexFile}: ${key} is not a list of nodes`);
  return list;
}

function readDocumentText(text: string, file: string): EffectiveDocument {
  const { kubelet, source, flags, unknown, origins, config } = objectIn(text, file, 'EffectiveKubeletConfiguration');
  const minor = /^1\.(\d{1,3})$/.exec(String(kubelet))?.[1];
  const isText = (one: unknown): one is string => typeof one === 'string';
  const texts = (list: unknown): string[] | undefined => (Array.isArray(list) ? list.filter(isText) : undefined);
  if (minor === undefined || !isObject(config) || (source !== 'agent' && source !== 'configz' && source !== 'file'))
    throw new CannotRun(`${file}: kubelet, source or config is missing`);
  const from = Object.entries(isObject(origins) ? origins : {}).filter((entry): entry is [string, string] =>
    isText(entry[1]),
  );
  return withId({
    minor: Number(minor),
    source,
    config,
    origins: Object.fromEntries(from),
    flags: texts(flags),
    unknown: texts(unknown) ?? [],
  });
}

function objectIn(text: string, file: string, kind: string): Record<string, unknown> {
  const value = parseObject(text);
  if (value?.kind === kind && value.apiVersion === apiVersion) return value;
  throw new CannotRun(`${file}: not a ${kind} of ${apiVersion}`);
}

export interface FleetDifference {
  added: string[];
  removed: string[];
  kubelets: { node: string; before: string; after: string }[];
  /** A change of a field, and the nodes that have it. */
  changes: { field: string; before: string; after: string; nodes: string[] }[];
}

export function fleetDifference(before: EffectiveFleet, after: EffectiveFleet): FleetDifference {
  const old = new Map(before.nodes.map((node) => [node.name, node]));
  const next = new Map(after.nodes.map((node) => [node.name, node]));
  const changes = new Map<string, FleetDifference['changes'][number]>();
  const kubelets: FleetDifference['kubelets'] = [];
  const pairs = new Map<string, ReturnType<typeof documentChanges>>();
  for (const [name, node] of next) {
    const was = old.get(name);
    if (was === undefined) continue;
    if (was.kubeletVersion !== node.kubeletVersion)
      kubelets.push({ node: name, before: was.kubeletVersion, after: node.kubeletVersion });
    const pair = `${was.document} ${node.document}`;
    if (!pairs.has(pair))
      pairs.set(pair, documentChanges(before.documents.get(was.document)!, after.documents.get(node.document)!));
    for (const change of pairs.get(pair)!) {
      const key = JSON.stringify(change);
      const entry = changes.get(key);
      if (entry === undefined) changes.set(key, { ...change, nodes: [name] });
      else entry.nodes.push(name);
    }
  }
  return {
    added: [...next.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !next.has(name)),
    kubelets,
    changes: [...changes.values()].sort((a, b) => byNaturalOrder(a.field, b.field)),
  };
}

function documentChanges(a: EffectiveDocument, b: EffectiveDocument) {
  if (a.id === b.id) return [];
  const fields = new Map([...leafFields(a.minor), ...leafFields(b.minor)].map(({ path, shape }) => [path, shape.kind]));
  return [...fields].flatMap(([field, kind]) => {
    const text = ({ config, minor }: EffectiveDocument) =>
      existsAt(field, minor) ? valueText(getField(config, field), kind) : '<no such field>';
    const [before, after] = [text(a), text(b)];
    return before === after ? [] : [{ field, before, after }];
  });
}

function existsAt(path: string, minor: number): boolean {
  const field = fieldAt(path);
  return field !== undefined && field.first <= minor && minor <= field.last;
}

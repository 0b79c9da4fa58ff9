/**
 * Recorded bodies are whole objects or digests: a list of names, a few fields, the cells of a table. An answer equals a digest when
 * one of these ways to cut it down gives exactly the digest.
 */
import { difference } from './pattern.js';

// biome-ignore lint/suspicious/noExplicitAny: answers of any form are looked into
type Json = any;

export function compareBody(answer: unknown, recorded: unknown): string | undefined {
  const [actual, expected] = [withoutWords(answer), withoutWords(recorded)];
  const cleaned = clean(actual, keepsManagedFields(expected));
  const whole = difference(cleaned, expected);
  if (whole === undefined || isWholeObject(expected)) return whole;
  const differences = cuts(cleaned, expected).map((cut) => difference(cut, expected));
  return differences.includes(undefined) ? undefined : whole;
}

/** Errors are compared by code, reason, details and the fields of their causes, not by their words. */
function withoutWords(value: Json): Json {
  if (value?.kind !== 'Status' || value.status !== 'Failure') return value;
  const causes = value.details?.causes?.map(({ message: _words, ...cause }: Json) => cause);
  return { ...value, message: '', details: { ...value.details, ...(causes && { causes }) } };
}

function isWholeObject(expected: Json): boolean {
  return (
    typeof expected === 'object' &&
    expected?.apiVersion !== undefined &&
    expected.kind !== undefined &&
    !isCutDown(expected) &&
    !('n' in expected)
  );
}

/** Discovery is cut down to some resources; a table of two fields shows only that it is one. */
function isCutDown(expected: Json): boolean {
  return expected.kind === 'APIResourceList' || Object.keys(expected).length === 2;
}

function keepsManagedFields(expected: unknown): boolean {
  return JSON.stringify(expected)?.includes('managedFields') ?? false;
}

/** Leaves out what the records leave out. */
function clean(value: Json, withManagedFields: boolean): Json {
  if (Array.isArray(value)) return value.map((item) => clean(item, withManagedFields));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(
    ([key, item]) =>
      key !== 'storageVersionHash' &&
      !(key === 'managedFields' && !withManagedFields) &&
      !(key === 'columnDefinitions' && item === null),
  );
  const cleaned = Object.fromEntries(kept.map(([key, item]) => [key, clean(item, withManagedFields)]));
  // Times of managers are their own; the records drop them with the entry's order kept.
  if (withManagedFields && 'fieldsV1' in cleaned) delete cleaned.time;
  return cleaned;
}

function cuts(answer: Json, expected: Json): Json[] {
  if (typeof answer !== 'object' || answer === null) return [answer];
  const { kind, metadata = {}, spec, status, items } = answer;
  const found: Json[] = [
    kind,
    metadata.name,
    metadata.labels,
    spec,
    status,
    answer.data,
    answer.rules,
    answer.roleRef,
    answer.count,
  ];
  if (spec !== undefined) found.push(spec.unschedulable, [spec, metadata.generation]);
  if (Array.isArray(items)) found.push(...listCuts(answer));
  if (kind === 'Table') found.push(...tableCuts(answer));
  if (kind === 'Node') found.push(nodeConfigCut(answer), nodeStatusCut(answer));
  if (kind === 'Pod')
    found.push(
      { image: spec.containers[0].image, kind, name: metadata.name, phase: status.phase },
      { kind, name: metadata.name },
    );
  if (kind === 'SelfSubjectReview') found.push({ groups: status.userInfo.groups, kind });
  if (kind === 'TokenReview') found.push({ ...status });
  if (kind === 'CustomResourceDefinition') found.push(definitionCut(answer), spec);
  if (kind === 'APIResourceList' || Array.isArray(answer.paths)) found.push(discoveryCut(answer, expected));
  if (answer.swagger !== undefined) found.push(openApiCut(answer, expected));
  if (answer.gitVersion !== undefined)
    found.push(Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, typeof value])));
  return found.filter((cut) => cut !== undefined);
}

function listCuts({ apiVersion, kind, metadata, items }: Json): Json[] {
  const names = items.map((item: Json) => item.metadata.name);
  return [
    names,
    { kind, metadata, names },
    { apiVersion, kind, n: items.map((item: Json) => [item.kind, item.metadata.name]) },
  ];
}

function tableCuts(table: Json): Json[] {
  const columns: Json[] = table.columnDefinitions ?? [];
  const rows: Json[] = table.rows ?? [];
  const withoutAge = (cells: Json[]) => cells.filter((_, index) => columns[index]?.name !== 'Age');
  const always = (cells: Json[]) => cells.filter((_, index) => columns[index]?.priority === 0);
  const names = columns.map(({ name }) => name);
  const ranked = columns.map(({ name, priority }) => [name, priority]);
  const all = rows.map(({ cells }) => withoutAge(cells));
  const narrow = rows.map(({ cells }) =>
    cells.filter((_: Json, index: number) => columns[index]?.priority === 0 && columns[index]?.name !== 'Age'),
  );
  return [
    all,
    { c: names, r: all },
    { c: ranked, r: all },
    { cells: narrow, columns: ranked },
    { cells: narrow, kind: table.kind },
    { apiVersion: table.apiVersion, kind: table.kind },
    rows.map(({ object, cells }) => ({ name: cells[0], object })),
    rows.map(({ object }) => object?.kind),
    rows.map(({ cells }) => always(cells)),
    { ...table, columnDefinitions: columns.map((column) => ({ ...column, description: '<text>' })) },
  ];
}

function nodeConfigCut({ spec, status }: Json): Json {
  return { config: status?.config ?? null, configSource: spec?.configSource ?? null };
}

function nodeStatusCut({ status }: Json): Json {
  const { conditions, addresses, capacity } = status ?? {};
  return {
    ...(conditions === undefined
      ? {}
      : { conditions: conditions.map((entry: Json) => [entry.type, entry.status, entry.reason]) }),
    ...(addresses === undefined ? {} : { addresses }),
    ...(capacity === undefined ? {} : { capacity }),
  };
}

function definitionCut({ spec, status }: Json): Json {
  const conditions = (status.conditions ?? []).map((entry: Json) => [
    entry.type,
    entry.status,
    entry.reason,
    entry.message,
  ]);
  return { accepted: status.acceptedNames, conditions, spec, stored: status.storedVersions };
}

/** Records hold only the resources and paths that matter. */
function discoveryCut(answer: Json, expected: Json): Json {
  if (Array.isArray(answer.paths))
    return { paths: answer.paths.filter((path: string) => expected.paths?.includes(path)) };
  const wanted = new Set((expected.resources ?? []).map(({ name }: Json) => name));
  return { ...answer, resources: answer.resources.filter(({ name }: Json) => wanted.has(name)) };
}

function openApiCut({ swagger, definitions, paths }: Json, expected: Json): Json {
  const { patch, ...item } = paths['/api/v1/namespaces/{namespace}/configmaps/{name}'];
  const { conditions } = definitions['io.k8s.api.core.v1.NodeStatus'].properties;
  const { taints } = definitions['io.k8s.api.core.v1.NodeSpec'].properties;
  const shown = Object.keys(expected.definitions).map((name) => [
    name,
    {
      gvk: definitions[name]['x-kubernetes-group-version-kind'],
      properties: Object.keys(definitions[name].properties).sort(),
      type: definitions[name].type,
    },
  ]);
  return {
    conditions: { k: conditions['x-kubernetes-patch-merge-key'], s: conditions['x-kubernetes-patch-strategy'] },
    configMapPatchConsumes: patch.consumes,
    configMapPatchParams: patch.parameters.some(({ name }: Json) => name === 'fieldManager'),
    configMapVerbs: [...Object.keys(item), 'patch'].sort(),
    configSource: Object.keys(definitions['io.k8s.api.core.v1.ConfigMapNodeConfigSource'].properties).sort(),
    definitions: Object.fromEntries(shown),
    swagger,
    taintsPatch: taints['x-kubernetes-patch-strategy'] ?? null,
  };
}

/** Events are whole, or cut down to a few fields of their object. */
export function compareEvents(actual: Json[], expected: Json[]): string | undefined {
  if (actual.length !== expected.length) {
    const seen = actual.map((event) => `${event.type} ${event.object?.metadata?.name}`);
    return `events: got ${actual.length} (${seen.join(', ')}), want ${expected.length}`;
  }
  for (const [index, event] of actual.entries()) {
    const found = compareEvent(event, expected[index]);
    if (found !== undefined) return `event ${index}: ${found}`;
  }
  return undefined;
}

function compareEvent(event: Json, expected: Json): string | undefined {
  const cleaned = clean(event, false);
  const whole = difference(cleaned, expected);
  if (whole === undefined) return undefined;
  const { type, object = {} } = cleaned;
  // An answer that is not an event has no type and no object.
  if (type === undefined) return difference({ object: {} }, expected);
  const { kind, data, spec, metadata = {} } = object;
  const few = {
    ...(data === undefined ? {} : { data }),
    kind,
    ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
    name: metadata.name,
  };
  const tables =
    kind === 'Table' && object.columnDefinitions
      ? [
          {
            ...object,
            columnDefinitions: object.columnDefinitions.map((column: Json) => ({ ...column, description: '<text>' })),
          },
        ]
      : [];
  const cut = [few, metadata.name, [kind, spec], ...tables].map((entry) =>
    difference({ type, object: entry }, expected),
  );
  return cut.includes(undefined) ? undefined : whole;
}

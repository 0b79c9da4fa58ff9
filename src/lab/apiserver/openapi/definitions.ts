/** The definitions behind a set of resources: built-in shapes, kinds that CRDs define, and the lists of both. */
import type { Resource } from '../../../memory-api/resource.js';
import { addStruct, type Definition, definitionName, listMetaName, objectMetaName } from './definition.js';

/** The definition that a resource's objects have. */
export function kindName({ shape, group, version, kind }: Resource): string {
  if (shape !== undefined) return definitionName(shape);
  return [...group.split('.').reverse(), version, kind].join('.');
}

export function listName(resource: Resource): string {
  return resource.shape === undefined
    ? `${kindName(resource)}List`
    : kindName(resource).replace(/[^.]+$/, resource.names.listKind);
}

export function buildDefinitions(resources: Resource[]): Map<string, Definition> {
  const definitions = new Map<string, Definition>();
  for (const struct of ['meta.v1.ObjectMeta', 'meta.v1.ListMeta', 'meta.v1.Status', 'meta.v1.DeleteOptions'])
    addStruct(definitions, struct);
  for (const resource of resources) addKind(definitions, resource);
  markKind(definitions, definitionName('meta.v1.Status'), { group: '', version: 'v1', kind: 'Status' });
  for (const { group, version } of resources)
    markKind(definitions, definitionName('meta.v1.DeleteOptions'), { group, version, kind: 'DeleteOptions' });
  return new Map([...definitions].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function addKind(definitions: Map<string, Definition>, resource: Resource): void {
  const { group, version, kind, names, shape } = resource;
  const name = kindName(resource);
  if (shape !== undefined) addStruct(definitions, shape);
  else definitions.set(name, customKind(resource));
  markKind(definitions, name, { group, version, kind });
  for (const part of Object.values(resource.subresources)) {
    const struct = subresourceShapes[part.kind];
    if (struct === undefined) continue;
    addStruct(definitions, struct);
    markKind(definitions, definitionName(struct), {
      group: part.group ?? group,
      version: part.version ?? version,
      kind: part.kind,
    });
  }
  if (!resource.verbs.includes('list')) return;
  definitions.set(listName(resource), {
    type: 'object',
    description: `A list of ${kind} objects.`,
    required: ['items'],
    properties: {
      ...typeMeta(),
      items: { description: 'The objects.', type: 'array', items: { ref: name } },
      metadata: { description: "The list's own metadata.", ref: listMetaName },
    },
  });
  markKind(definitions, listName(resource), { group, version, kind: names.listKind });
}

/** Kinds that only subresources have. */
const subresourceShapes: Record<string, string> = {
  Eviction: 'policy.v1.Eviction',
  Binding: 'core.v1.Binding',
  TokenRequest: 'authentication.v1.TokenRequest',
};

function typeMeta(): Record<string, Definition> {
  return {
    apiVersion: { description: 'The group and version of this form of the object.', type: 'string' },
    kind: { description: 'What the object is.', type: 'string' },
  };
}

/** A CRD's schema, with the parts every object has. */
function customKind({ schema }: Resource): Definition {
  const own = (schema ?? {}) as Definition;
  return {
    ...own,
    type: 'object',
    properties: {
      ...own.properties,
      ...typeMeta(),
      metadata: { description: "The object's name, labels and other metadata.", ref: objectMetaName },
    },
  };
}

function markKind(
  definitions: Map<string, Definition>,
  name: string,
  kind: { group: string; version: string; kind: string },
): void {
  const definition = definitions.get(name)!;
  const key = 'x-kubernetes-group-version-kind';
  const kinds = (definition[key] ?? []) as (typeof kind)[];
  const isKnown = kinds.some((entry) => entry.group === kind.group && entry.version === kind.version);
  if (!isKnown) definition[key] = [...kinds, { group: kind.group, kind: kind.kind, version: kind.version }];
}

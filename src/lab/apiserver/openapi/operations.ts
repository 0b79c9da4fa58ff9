/** The operations of each path, in a neutral form: clients read parameters and patch types here. */
import { isCustom, type Resource } from '../resource.js';
import { kindName, listName } from './definitions.js';

export interface Parameter {
  name: string;
  type: 'string' | 'boolean' | 'integer';
  description: string;
}

export interface Operation {
  method: 'get' | 'put' | 'post' | 'delete' | 'patch';
  id: string;
  action: string;
  parameters: Parameter[];
  consumes: string[];
  /** Definition of the body; 'any' for patches. */
  body?: string;
  answer: string;
  codes: number[];
  kind: { group: string; version: string; kind: string };
}

export interface PathOperations {
  path: string;
  pathParameters: Parameter[];
  operations: Operation[];
}

const query = (name: string, description: string, type: Parameter['type'] = 'string'): Parameter => ({
  name,
  description,
  type,
});

const dryRun = query('dryRun', 'With All, everything but the writing is done.');
const fieldManager = query('fieldManager', 'The name under which changed fields are recorded.');
const fieldValidation = query(
  'fieldValidation',
  'What to do about unknown and duplicate fields: Ignore, Warn or Strict.',
);
const force = query('force', 'Whether apply takes fields from other managers.', 'boolean');
const writing = [dryRun, fieldManager, fieldValidation];
const listing = [
  query('allowWatchBookmarks', 'Ask for bookmarks in a watch.', 'boolean'),
  query('continue', 'The continue token of the last page.'),
  query('fieldSelector', 'Only objects whose fields fit.'),
  query('labelSelector', 'Only objects whose labels fit.'),
  query('limit', 'How many objects a page holds.', 'integer'),
  query('resourceVersion', 'The revision to read at, or to watch from.'),
  query('resourceVersionMatch', 'How resourceVersion is matched.'),
  query('sendInitialEvents', 'Begin a watch with what there is.', 'boolean'),
  query('timeoutSeconds', 'The time after which the request ends.', 'integer'),
  query('watch', 'Send changes as they happen.', 'boolean'),
];
const deleting = [
  dryRun,
  query('gracePeriodSeconds', 'How long the object may take to end.', 'integer'),
  query('orphanDependents', 'An old word for propagationPolicy.', 'boolean'),
  query('propagationPolicy', 'What happens to dependents: Background, Foreground or Orphan.'),
];
const pretty = query('pretty', 'If true, the answer is indented.');
const nameParameter = query('name', 'The name of the object.');
const namespaceParameter = query('namespace', 'The namespace of the object.');

const json = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
export const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];
const statusName = 'io.k8s.apimachinery.pkg.apis.meta.v1.Status';
const deleteOptionsName = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions';

export function operationsOf(resource: Resource): PathOperations[] {
  const { group, version, plural, namespaced, subresources } = resource;
  const prefix = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const collection = namespaced ? `${prefix}/namespaces/{namespace}/${plural}` : `${prefix}/${plural}`;
  const scope = namespaced ? [namespaceParameter, pretty] : [pretty];
  const paths: PathOperations[] = [
    { path: collection, pathParameters: scope, operations: collectionOperations(resource) },
    { path: `${collection}/{name}`, pathParameters: [nameParameter, ...scope], operations: itemOperations(resource) },
  ];
  for (const [name, part] of Object.entries(subresources)) {
    if (part.kind !== resource.kind) continue;
    const operations = itemOperations({ ...resource, verbs: part.verbs }, name);
    paths.push({ path: `${collection}/{name}/${name}`, pathParameters: [nameParameter, ...scope], operations });
  }
  if (namespaced && resource.verbs.includes('list')) {
    const operations = [operation(resource, 'list', 'AllNamespaces')];
    paths.push({ path: `${prefix}/${plural}`, pathParameters: [pretty, ...listing], operations });
  }
  return paths.filter(({ operations }) => operations.length > 0);
}

function collectionOperations(resource: Resource): Operation[] {
  return ['list', 'create', 'deletecollection']
    .filter((verb) => resource.verbs.includes(verb))
    .map((verb) => operation(resource, verb));
}

function itemOperations(resource: Resource, subresource = ''): Operation[] {
  return ['get', 'update', 'delete', 'patch']
    .filter((verb) => resource.verbs.includes(verb))
    .map((verb) => operation(resource, verb, subresource));
}

interface Form {
  method: Operation['method'];
  action: string;
  parameters: Parameter[];
  codes: number[];
}

const forms: Record<string, Form> = {
  list: { method: 'get', action: 'list', parameters: listing, codes: [200] },
  create: { method: 'post', action: 'post', parameters: writing, codes: [200, 201, 202] },
  deletecollection: {
    method: 'delete',
    action: 'deletecollection',
    parameters: [...listing, ...deleting],
    codes: [200],
  },
  get: { method: 'get', action: 'get', parameters: [], codes: [200] },
  update: { method: 'put', action: 'put', parameters: writing, codes: [200, 201] },
  delete: { method: 'delete', action: 'delete', parameters: deleting, codes: [200, 202] },
  patch: { method: 'patch', action: 'patch', parameters: [...writing, force], codes: [200, 201] },
};

function operation(resource: Resource, verb: string, suffix = ''): Operation {
  const { group, version, kind } = resource;
  const form = forms[verb]!;
  const name = kindName(resource);
  const answer = verb === 'list' ? listName(resource) : verb === 'deletecollection' ? statusName : name;
  return {
    ...form,
    id: operationId(resource, verb, suffix),
    consumes: verb === 'patch' ? patchTypesOf(resource) : json,
    ...(verb === 'create' || verb === 'update' ? { body: name } : {}),
    ...(verb === 'patch' ? { body: 'any' } : {}),
    ...(form.method === 'delete' ? { body: deleteOptionsName } : {}),
    answer,
    kind: { group, version, kind },
  };
}

function patchTypesOf(resource: Resource): string[] {
  return isCustom(resource) ? patchTypes.filter((type) => !type.includes('strategic')) : patchTypes;
}

const idVerbs: Record<string, string> = { update: 'replace', get: 'read', deletecollection: 'deleteCollection' };

function operationId({ group, version, kind, namespaced }: Resource, verb: string, suffix: string): string {
  const words = [
    ...(group === '' ? ['core'] : group.replace(/\.k8s\.io$/, '').split('.')),
    version,
    ...(namespaced && suffix !== 'AllNamespaces' ? ['Namespaced'] : []),
    kind,
    ...(suffix === 'AllNamespaces' ? ['For', 'AllNamespaces'] : suffix === '' ? [] : [suffix]),
  ];
  return (idVerbs[verb] ?? verb) + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}

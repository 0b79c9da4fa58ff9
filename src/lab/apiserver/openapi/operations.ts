/** The PATCH operations of each path, in a neutral form: kubectl reads there which dry runs and validations a kind supports. */
import { isCustom, type Resource } from '../../../memory-api/resource.js';
import { kindName } from './definitions.js';

export interface Parameter {
  name: string;
  type: 'string' | 'boolean';
  description: string;
}

export interface Operation {
  id: string;
  consumes: string[];
  /** The definition of the answer. */
  answer: string;
  kind: { group: string; version: string; kind: string };
}

export interface PathOperation {
  path: string;
  pathParameters: Parameter[];
  operation: Operation;
}

const query = (name: string, description: string, type: Parameter['type'] = 'string'): Parameter => ({
  name,
  description,
  type,
});

export const patchParameters = [
  query('dryRun', 'With All, everything is done but the write.'),
  query('fieldManager', 'The name under which changed fields are recorded.'),
  query('fieldValidation', 'How unknown and duplicate fields are handled: Ignore, Warn or Strict.'),
  query('force', 'Whether apply takes fields from other managers.', 'boolean'),
];
const nameParameter = query('name', 'The name of the object.');
const namespaceParameter = query('namespace', 'The namespace of the object.');

export const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

export function operationsOf(resource: Resource): PathOperation[] {
  const { group, version, kind, plural, namespaced, verbs } = resource;
  if (!verbs.includes('patch')) return [];
  const prefix = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const words = [...(group === '' ? ['core'] : group.split('.')), version, ...(namespaced ? ['Namespaced'] : []), kind];
  return [
    {
      path: `${prefix}/${namespaced ? 'namespaces/{namespace}/' : ''}${plural}/{name}`,
      pathParameters: namespaced ? [nameParameter, namespaceParameter] : [nameParameter],
      operation: {
        id: `patch${words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')}`,
        consumes: isCustom(resource) ? patchTypes.filter((type) => !type.includes('strategic')) : patchTypes,
        answer: kindName(resource),
        kind: { group, version, kind },
      },
    },
  ];
}

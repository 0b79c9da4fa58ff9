/** The attributes a review asks about, as if they came with a request. */
import type { Attributes, FieldRequirement, User } from '../../../memory-api/attributes.js';

export interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: Selector;
}

interface Selector {
  rawSelector?: string;
  requirements?: Requirement[];
}

interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

export interface NonResourceAttributes {
  path?: string;
  verb?: string;
}

export function resourceAttributes(user: User, asked: ResourceAttributes): Attributes {
  const fieldSelector = selectorOf(asked.fieldSelector);
  return {
    user,
    verb: asked.verb ?? '',
    isResource: true,
    path: '',
    apiGroup: asked.group ?? '',
    apiVersion: asked.version || '*',
    resource: asked.resource ?? '',
    subresource: asked.subresource ?? '',
    namespace: asked.namespace ?? '',
    name: asked.name ?? '',
    ...(fieldSelector.length === 0 ? {} : { fieldSelector }),
  };
}

export const nonResourceAttributes = (user: User, asked: NonResourceAttributes): Attributes => ({
  ...resourceAttributes(user, { ...(asked.verb === undefined ? {} : { verb: asked.verb }) }),
  isResource: false,
  path: asked.path ?? '',
});

/** Requirements narrow a request, so leaving out an unknown one only asks for more. */
function selectorOf(selector: ResourceAttributes['fieldSelector']): FieldRequirement[] {
  const raw = (selector?.rawSelector ?? '').split(',').flatMap((term): FieldRequirement[] => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(term);
    return match ? [{ field: match[1]!, operator: match[2] === '!=' ? '!=' : '=', value: match[3]! }] : [];
  });
  const listed = (selector?.requirements ?? []).flatMap(({ key, operator, values = [] }): FieldRequirement[] => {
    if (values.length !== 1 || (operator !== 'In' && operator !== 'NotIn')) return [];
    return [{ field: key, operator: operator === 'In' ? '=' : '!=', value: values[0]! }];
  });
  return [...raw, ...listed];
}

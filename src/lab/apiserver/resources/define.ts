/** Fills in what most built-in kinds share, so that each definition says only what is its own. */
import { nameIsDnsSubdomain } from '../../../api/names.js';
import type { KubeObject } from '../../../api/object.js';
import type { Column, Resource } from '../resource.js';
import { decodeStruct } from '../schema/decode.js';
import { linkedSchema } from '../schema/linked.js';
import { ageColumn, nameColumn } from './columns.js';

export const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const statusVerbs = ['get', 'patch', 'update'];

/** What a kind must say of itself; everything else of a Resource may be given too. */
export interface Definition extends Partial<Resource> {
  kind: string;
  plural: string;
  /** Its shape in the table of types, such as core.v1.Node. */
  shape: string;
  namespaced: boolean;
  /** The part of the object that only the status subresource writes. */
  hasStatus?: boolean;
}

export function builtIn(definition: Definition): Resource {
  const { hasStatus = false, ...own } = definition;
  const { kind, shape } = own;
  return {
    group: '',
    version: 'v1',
    listKind: `${kind}List`,
    singular: kind.toLowerCase(),
    shortNames: [],
    categories: [],
    verbs: allVerbs,
    subresources: hasStatus ? { status: { kind, verbs: statusVerbs } } : {},
    columns: nameAndAge,
    hasGeneration: false,
    get schema() {
      return linkedSchema(shape);
    },
    selectableFields: {},
    nameRule: nameIsDnsSubdomain,
    decode(value, style) {
      const { value: object, unknownFields } = decodeStruct(shape, value, style);
      return { object: object as KubeObject, unknownFields };
    },
    setDefaults() {},
    prepareForCreate() {},
    prepareForUpdate(object, old, subresource) {
      if (hasStatus) keepOtherPart(object, old, subresource);
    },
    validateCreate: () => [],
    validateUpdate: () => [],
    warnings: () => [],
    ...own,
  };
}

/** The main resource keeps status; `status` keeps everything else but metadata's free parts. */
export function keepOtherPart(object: KubeObject, old: KubeObject, subresource: string): void {
  for (const part of subresource === 'status' ? ['spec'] : ['status']) {
    if (old[part] === undefined) delete object[part];
    // Shared, not copied: nobody changes either from here on.
    else object[part] = old[part];
  }
}

const nameAndAge: Column[] = [nameColumn, ageColumn];

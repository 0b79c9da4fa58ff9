/** Builds a Resource from a definition and the defaults that most kinds share. */
import { nameIsDnsSubdomain } from '../../api/names.js';
import type { KubeObject } from '../../api/object.js';
import type { Column, Resource, ResourceNames, Strategy } from '../resource.js';
import { decodeStruct } from '../schema/decode.js';
import { linkedSchema } from '../schema/linked.js';
import { ageColumn, nameColumn } from './columns.js';

export const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const statusVerbs = ['get', 'patch', 'update'];

type Flat = Omit<Resource, 'names' | 'strategy'> & ResourceNames & Strategy;

/** The required members of a definition; all others of a Resource, its names and its strategy are optional. */
export interface Definition extends Partial<Flat> {
  kind: string;
  plural: string;
  namespaced: boolean;
  /** The part of the object that only the status subresource writes. */
  hasStatus?: boolean;
}

/** `shape` is absent only for kinds of CRDs, which have their own schema and decoder. */
export function defineResource(definition: Definition): Resource {
  const { hasStatus = false, listKind, singular, shortNames, categories, ...rest } = definition;
  const { kind, shape } = rest;
  const { given, own } = splitStrategy(rest);
  return {
    group: '',
    version: 'v1',
    names: {
      listKind: listKind ?? `${kind}List`,
      singular: singular ?? kind.toLowerCase(),
      shortNames: shortNames ?? [],
      categories: categories ?? [],
    },
    verbs: allVerbs,
    subresources: hasStatus ? { status: { kind, verbs: statusVerbs } } : {},
    columns: nameAndAge,
    get schema() {
      return shape === undefined ? {} : linkedSchema(shape);
    },
    selectableFields: {},
    decode(value, style) {
      const { value: object, unknownFields } = decodeStruct(shape!, value, style);
      return { object: object as KubeObject, unknownFields };
    },
    strategy: {
      ...commonStrategy,
      prepareForUpdate(object, old, subresource) {
        if (hasStatus) keepOtherPart(object, old, subresource);
      },
      ...given,
    },
    ...own,
  };
}

const commonStrategy: Strategy = {
  nameRule: nameIsDnsSubdomain,
  hasGeneration: false,
  setDefaults() {},
  prepareForCreate() {},
  prepareForUpdate() {},
  validateCreate: () => [],
  validateUpdate: () => [],
  warnings: () => [],
  revalidatesMeta: false,
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  statusResetFields: [],
};

function splitStrategy<T extends Partial<Strategy>>(
  flat: T,
): { given: Partial<Strategy>; own: Omit<T, keyof Strategy> } {
  const entries = Object.entries(flat);
  const isGiven = ([key]: [string, unknown]) => Object.hasOwn(commonStrategy, key);
  return {
    given: Object.fromEntries(entries.filter(isGiven)),
    own: Object.fromEntries(entries.filter((entry) => !isGiven(entry))) as Omit<T, keyof Strategy>,
  };
}

/** The main resource keeps status; `status` keeps everything else but metadata's free parts. */
export function keepOtherPart(object: KubeObject, old: KubeObject, subresource: string): void {
  for (const part of subresource === 'status' ? ['spec'] : ['status']) {
    if (old[part] === undefined) delete object[part];
    // Shared, not copied: neither is changed from here on.
    else object[part] = old[part];
  }
}

const nameAndAge: Column[] = [nameColumn, ageColumn];

/**
 * What the server must know about a kind of object. Verbs are generic; a resource is data plus a few pure hooks. CRDs
 * become such definitions at run time.
 */

import type { NameRule } from '../../api/names.js';
import type { KubeObject } from '../../api/object.js';
import type { User } from './attributes.js';
import type { FieldError } from './field-error.js';

export interface Column {
  name: string;
  type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  format?: string;
  description: string;
  /** 0 is shown always, 1 only with -o wide. */
  priority: number;
  cell(object: KubeObject, now: Date): unknown;
}

export interface Resource {
  group: string;
  version: string;
  kind: string;
  listKind: string;
  plural: string;
  singular: string;
  shortNames: string[];
  categories: string[];
  namespaced: boolean;
  verbs: string[];
  /** Subresources such as `status`: name → the kind and verbs that discovery lists. */
  subresources: Record<string, { kind: string; group?: string; version?: string; verbs: string[] }>;
  columns: Column[];
  /** Objects bump metadata.generation when spec changes. */
  hasGeneration: boolean;
  /** A built-in kind's name in the table of types, such as core.v1.Node. */
  shape?: string;
  /** An OpenAPI v3 schema of the object, for validation of CRs, pruning, explain and strategic-merge keys. */
  schema: unknown;
  /** Values of field selectors beside metadata.name and metadata.namespace. */
  selectableFields: Record<string, (object: KubeObject) => string>;
  /** How metadata.name is checked. */
  nameRule: NameRule;
  /**
   * Reads data from outside as this kind, the way the typed decoder of Kubernetes does: unknown fields are left out and named,
   * empty optional fields are left out, required ones get their zero value, quantities and times one form. Throws DecodeError.
   */
  decode(value: unknown, style: DecodeStyle): Decoded;
  /** Fills defaults in place, before validation. */
  setDefaults(object: KubeObject): void;
  /** Drops what clients may not set (status on create, disabled fields), in place. */
  prepareForCreate(object: KubeObject): void;
  /** Carries over what this update may not touch, in place. `subresource` is '' or e.g. 'status'. */
  prepareForUpdate(object: KubeObject, old: KubeObject, subresource: string): void;
  validateCreate(object: KubeObject): FieldError[];
  validateUpdate(object: KubeObject, old: KubeObject, subresource: string): FieldError[];
  /** Texts for Warning headers. */
  warnings(object: KubeObject, subresource: string): string[];

  /** Where the numbers stand that its `scale` subresource shows and changes; absent: it has none. */
  scale?: {
    /** Such as ['spec', 'replicas']. */
    wanted: string[];
    present: string[];
    /** Which Pods are counted, as a selector in text. */
    selector(object: KubeObject): string;
  };
  /** Nothing here makes what it owns: that an owner of this kind was never seen says nothing of its dependents. */
  isOnlyKept?: boolean;
  /** Older versions in which bodies may come, where they differ in name only. */
  readsAlso?: string[];
  /** Told to whoever uses this version at all. */
  deprecation?: string;
  /** A made-up kind (reviews): create answers with what this returns and stores nothing. */
  answer?(object: KubeObject, user: User): KubeObject | Promise<KubeObject>;
  /** CRs have no strategic merge patch. Default true. */
  strategicMergePatch?: boolean;
  /** An update checks metadata as a create does, too. Default false. */
  revalidatesMeta?: boolean;
  /** PUT of a missing object creates it, as for leases, events and RBAC. Default false. */
  createOnUpdate?: boolean;
  /** PUT without a resourceVersion is allowed. Default true; false for CRs. */
  unconditionalUpdate?: boolean;
  /** Items in lists repeat kind and apiVersion, as those of CRs do. Default false. */
  typedItems?: boolean;
  /** A Table without rows says null instead of [], as the generic printer of Kubernetes does. Default false. */
  rowsMayBeNull?: boolean;
  /** What a row of a Table says of its object beside the cells, as of pods that have ended. */
  rowConditions?(object: KubeObject): object[];
  /** What a write of status cannot change beside spec: paths such as metadata.ownerReferences. */
  statusResets?: string[];
  /** DELETE answers with the object that was deleted, as for pods, instead of a Status. Default false. */
  returnsDeleted?: boolean;
  /** What begins when its deletion is asked for: the server's own finalizers, a phase. Changes the marked object in place. */
  beginDeletion?(object: KubeObject): void;
  /** Whether an object is gone at once (0) or marked and left to its node, as pods are; seconds. Default 0. */
  gracePeriodSeconds?(object: KubeObject, requested: number | undefined): number;
  /** Served in this version, stored in another (or as another kind, as events.k8s.io is). */
  stored?: {
    group: string;
    version: string;
    resource: string;
    kind: string;
    fromStored(object: KubeObject): KubeObject;
    toStored(object: KubeObject): KubeObject;
  };
}

/** `json`: a body, or the outcome of a JSON or merge patch. `unstructured`: the outcome of a strategic merge patch, whose errors read differently. */
export type DecodeStyle = 'json' | 'unstructured';

export interface Decoded {
  object: KubeObject;
  /** Paths of fields that the kind does not have, in the order of the document, such as `metadata.nonsense`. */
  unknownFields: string[];
}

/** The data cannot be this kind: `json: cannot unmarshal number into Go struct field ConfigMap.data of type string`. */
export class DecodeError extends Error {}

/** Whether a CRD defines it. Its objects are typed in lists, decoded by their schema, and have no strategic merge patch. */
export function isCustom(resource: Resource): boolean {
  return resource.typedItems === true;
}

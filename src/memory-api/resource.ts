/**
 * The type of a resource (a kind that the server serves). Verbs are generic; a resource is data plus a few pure hooks. CRDs become
 * resources at run time.
 */

import type { NameRule } from '../api/names.js';
import type { KubeObject } from '../api/object.js';
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
  plural: string;
  namespaced: boolean;
  names: ResourceNames;
  verbs: string[];
  /** Subresources such as `status`: name → the kind and verbs that discovery lists. */
  subresources: Record<string, { kind: string; group?: string; version?: string; verbs: string[] }>;
  columns: Column[];
  /** How Tables of it differ from others. */
  rows?: RowFormat;
  /** A built-in kind's name in the table of types, such as core.v1.Node; absent for custom resources. */
  shape?: string;
  /** An OpenAPI v3 schema of the object, for validation of CRs, pruning, explain and strategic-merge keys. */
  schema: unknown;
  /** Values of field selectors beside metadata.name and metadata.namespace. */
  selectableFields: Record<string, (object: KubeObject) => string>;
  /**
   * Reads data from outside as this kind, the way the typed decoder of Kubernetes does: unknown fields are left out and
   * named, empty optional fields are left out, required ones get their zero value, quantities and times one form.
   * Throws DecodeError.
   */
  decode(value: unknown, style: DecodeStyle): Decoded;
  strategy: Strategy;
  /** How deletions of it differ from others. */
  deletion?: Deletion;
  /** No controller creates these here, so the garbage collector must not treat an unknown owner of this kind as deleted. */
  noController?: boolean;
  /** A Warning header for every request that uses this version. */
  deprecation?: string;
  /** A virtual resource (reviews): create answers with what this returns and stores nothing. */
  answer?(object: KubeObject, user: User): KubeObject | Promise<KubeObject>;
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

export interface ResourceNames {
  listKind: string;
  singular: string;
  shortNames: string[];
  categories: string[];
}

/** Steps of an object on its way into the store, as in the registry strategies of Kubernetes. */
export interface Strategy {
  /** How metadata.name is checked. */
  nameRule: NameRule;
  /** Objects bump metadata.generation when spec changes. */
  hasGeneration: boolean;
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
  /** An update checks metadata as a create does, too. */
  revalidatesMeta: boolean;
  /** PUT of a missing object creates it, as for leases, events and RBAC. */
  allowCreateOnUpdate: boolean;
  /** PUT without a resourceVersion is allowed. */
  allowUnconditionalUpdate: boolean;
  /** Fields beside spec that a write of status cannot change: paths such as metadata.ownerReferences. */
  statusResetFields: string[];
}

export interface RowFormat {
  /** Conditions of a row beside its cells, as for pods that have ended. */
  conditions?(object: KubeObject): object[];
  /** A Table without rows has null instead of [], as the generic printer of Kubernetes prints it. Default false. */
  mayBeNull?: boolean;
}

export interface Deletion {
  /** Begins a deletion: adds the server's own finalizers, or a phase. Changes the marked object in place. */
  begin?(object: KubeObject): void;
  /** Whether an object is gone at once (0) or marked and left to its node, as pods are; seconds. Default 0. */
  gracePeriodSeconds?(object: KubeObject, requested: number | undefined): number;
  /** DELETE answers with the object that was deleted, as for pods, instead of a Status. Default false. */
  returnsObject?: boolean;
}

/** Whether a CRD defines it. Items of its lists repeat kind and apiVersion, and it has no strategic merge patch. */
export function isCustom({ shape }: Resource): boolean {
  return shape === undefined;
}

/**
 * `json`: a body, or the outcome of a JSON or merge patch. `unstructured`: the outcome of a strategic merge patch,
 * whose errors read differently.
 */
export type DecodeStyle = 'json' | 'unstructured';

export interface Decoded {
  object: KubeObject;
  /** Paths of fields that the kind does not have, in the order of the document, such as `metadata.nonsense`. */
  unknownFields: string[];
}

/** The data cannot be this kind: `cannot unmarshal number into field data.k of type string`. */
export class DecodeError extends Error {}

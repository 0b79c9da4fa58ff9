/**
 * What the server must know about a kind of object. Verbs are generic; a resource is data plus a few pure hooks. CRDs
 * become such definitions at run time.
 */
import type { FieldError } from '../api/field-error.js';
import type { KubeObject } from '../api/object.js';

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
  /** An OpenAPI v3 schema of the object, for validation of CRs, pruning, explain and strategic-merge keys. */
  schema: unknown;
  /** Values of field selectors beside metadata.name and metadata.namespace. */
  selectableFields: Record<string, (object: KubeObject) => string>;
  /** Fills defaults in place, before validation. */
  setDefaults(object: KubeObject): void;
  /** Drops what clients may not set (status on create, disabled fields), in place. */
  prepareForCreate(object: KubeObject): void;
  /** Carries over what this update may not touch, in place. `subresource` is '' or e.g. 'status'. */
  prepareForUpdate(object: KubeObject, old: KubeObject, subresource: string): void;
  validateCreate(object: KubeObject): FieldError[];
  validateUpdate(object: KubeObject, old: KubeObject, subresource: string): FieldError[];
  /** Texts for Warning headers. */
  warnings(object: KubeObject): string[];
}

/**
 * FieldPolicy: which fields of a kubelet config may be changed. One kind for the file of a host (`--field-policy`) and for the
 * cluster; deploy/base/fieldpolicies.relet.dev.yaml has the schema, docs/field-policy.md explains the fields.
 */
import type { LabelSelectorObject } from './label-selector.js';

/** Its address in the API. */
export const fieldPolicies = { group: 'relet.dev', version: 'v1alpha1', resource: 'fieldpolicies' } as const;

export interface FieldPolicy {
  /** The nodes that it is for; all without one. On a host the file is for that host, whatever this is. */
  selector?: LabelSelectorObject;
  /** When present, only these fields (and what is below them) may differ from the local config. */
  allow?: string[];
  /** These may never differ from the local config. */
  deny?: string[];
  /** Numbers must lie within, whether changed or not. */
  bounds?: Record<string, { min?: number; max?: number }>;
  /** Whether a config may open access that the local config keeps closed. Default refuse. */
  openingAccess?: 'refuse' | 'allow';
}

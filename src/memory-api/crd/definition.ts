/** Types of the parts of a CustomResourceDefinition that this server uses. */
import type { KubeObject } from '../../api/object.js';
import type { JsonSchema } from './json-schema.js';

export interface Names {
  plural: string;
  singular?: string;
  shortNames?: string[];
  kind: string;
  listKind?: string;
  categories?: string[];
}

export interface PrinterColumn {
  name: string;
  type: string;
  format?: string;
  description?: string;
  priority?: number;
  jsonPath: string;
}

export interface Version {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: JsonSchema };
  subresources?: { status?: object };
  additionalPrinterColumns?: PrinterColumn[];
  selectableFields?: { jsonPath: string }[];
}

export interface CrdSpec {
  group: string;
  names: Names;
  scope: string;
  versions: Version[];
  conversion?: { strategy?: string };
}

export interface CrdCondition {
  type: string;
  status: string;
  lastTransitionTime: string;
  reason: string;
  message: string;
}

export interface CrdStatus {
  conditions?: CrdCondition[] | null;
  acceptedNames: Names;
  storedVersions: string[] | null;
}

export const crdSpec = (crd: KubeObject) => crd.spec as CrdSpec;
export const crdStatus = (crd: KubeObject) => (crd.status ?? {}) as Partial<CrdStatus>;

export function isEstablished(crd: KubeObject): boolean {
  return (crdStatus(crd).conditions ?? []).some(({ type, status }) => type === 'Established' && status === 'True');
}

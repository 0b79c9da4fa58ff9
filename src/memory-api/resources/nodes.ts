/** Nodes, with spec.configSource and status.config. */

import { checkLabelValue, checkQualifiedName } from '../../api/names.js';
import type { KubeObject } from '../../api/object.js';
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../field-error.js';
import { isEquivalent } from '../json-equality.js';
import type { Column, Resource } from '../resource.js';
import { age, column, nameColumn, wideColumn } from './columns.js';
import { defineResource, keepOtherPart } from './define.js';
import { configSourceOf, configSourceWarning, dropDisabled, validateNodeConfig } from './node-config.js';

interface Taint {
  key: string;
  value?: string;
  effect: string;
}

interface NodeSpec {
  podCIDR?: string;
  podCIDRs?: string[];
  providerID?: string;
  externalID?: string;
  unschedulable?: boolean;
  taints?: Taint[];
}

interface NodeStatus {
  capacity?: Record<string, string>;
  allocatable?: Record<string, string>;
  conditions?: { type: string; status: string }[];
  addresses?: { type: string; address: string }[];
  nodeInfo?: Record<string, string>;
}

const specOf = (node: KubeObject) => (node.spec ?? {}) as NodeSpec;
const statusOf = (node: KubeObject) => (node.status ?? {}) as NodeStatus;

export interface NodeOptions {
  /** The feature gate DynamicKubeletConfig: off, both fields are dropped, as Kubernetes does from 1.26 on. */
  dynamicKubeletConfig: boolean;
}

export function nodes({ dynamicKubeletConfig }: NodeOptions): Resource {
  return defineResource({
    kind: 'Node',
    plural: 'nodes',
    shape: 'core.v1.Node',
    namespaced: false,
    shortNames: ['no'],
    subresources: {
      proxy: { kind: 'NodeProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] },
      status: { kind: 'Node', verbs: ['get', 'patch', 'update'] },
    },
    columns,
    selectableFields: { 'spec.unschedulable': (node) => String(specOf(node).unschedulable ?? false) },
    setDefaults(node) {
      const status = statusOf(node);
      if (status.capacity !== undefined) status.allocatable ??= { ...status.capacity };
      alignPodCidrs(specOf(node));
    },
    prepareForCreate(node) {
      if (!dynamicKubeletConfig) dropDisabled(node, undefined, '');
    },
    prepareForUpdate(node, old, subresource) {
      keepOtherPart(node, old, subresource);
      if (!dynamicKubeletConfig) dropDisabled(node, old, subresource);
    },
    validateCreate: validate,
    validateUpdate: (node, old, subresource) => [
      ...(subresource === 'status' ? [] : validate(node)),
      ...validateUpdate(node, old),
    ],
    warnings(node, subresource) {
      if (subresource !== '') return [];
      return [
        ...(configSourceOf(node) === undefined ? [] : [configSourceWarning]),
        ...(specOf(node).externalID ? ['spec.externalID: this field is deprecated, and is unused by Kubernetes'] : []),
      ];
    },
  });
}

const rolePrefix = 'node-role.kubernetes.io/';

const columns: Column[] = [
  nameColumn,
  column('Status', 'Whether it is ready, and whether pods may be scheduled to it.', readiness),
  column('Roles', 'From labels that begin with node-role.kubernetes.io/.', roles),
  column('Age', 'The time since the node was registered.', (node, now) => age(node.metadata.creationTimestamp, now)),
  column('Version', 'The version of its kubelet.', (node) => statusOf(node).nodeInfo?.kubeletVersion ?? ''),
  wideColumn('Internal-IP', 'Its address inside the cluster.', (node) => address(node, 'InternalIP')),
  wideColumn('External-IP', 'Its address from outside.', (node) => address(node, 'ExternalIP')),
  wideColumn('OS-Image', 'Its operating system, as it names itself.', (node) => nodeInfo(node, 'osImage')),
  wideColumn('Kernel-Version', 'The kernel it runs.', (node) => nodeInfo(node, 'kernelVersion')),
  wideColumn('Container-Runtime', 'What runs its containers.', (node) => nodeInfo(node, 'containerRuntimeVersion')),
];

function readiness(node: KubeObject): string {
  const ready = statusOf(node).conditions?.find(({ type }) => type === 'Ready');
  const state = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return specOf(node).unschedulable ? `${state},SchedulingDisabled` : state;
}

function roles(node: KubeObject): string {
  const found = Object.entries(node.metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(rolePrefix)) return key.length > rolePrefix.length ? [key.slice(rolePrefix.length)] : [];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  return [...new Set(found)].sort().join(',') || '<none>';
}

function address(node: KubeObject, type: string): string {
  return statusOf(node).addresses?.find((entry) => entry.type === type)?.address ?? '<none>';
}

function nodeInfo(node: KubeObject, field: string): string {
  return statusOf(node).nodeInfo?.[field] || '<unknown>';
}

function validate(node: KubeObject): FieldError[] {
  // The wrong path is upstream's; tools match it.
  return [...validateTaints(specOf(node).taints ?? [], 'metadata.taints'), ...validateResources(node)];
}

/** The old field has the first of the new ones, and takes precedence where they differ. */
function alignPodCidrs(spec: NodeSpec): void {
  const { podCIDR, podCIDRs = [] } = spec;
  if (podCIDR && podCIDR !== podCIDRs[0]) spec.podCIDRs = [podCIDR];
  else if (podCIDRs[0] !== undefined) spec.podCIDR = podCIDRs[0];
}

function validateTaints(taints: Taint[], path: string): FieldError[] {
  const seen = new Set<string>();
  return taints.flatMap(({ key, value = '', effect }, index) => {
    const at = `${path}[${index}]`;
    const errors = checkQualifiedName(key).map((message) => invalidField(`${at}.key`, key, message));
    const wrong = checkLabelValue(value);
    if (wrong.length > 0) errors.push(invalidField(`${at}.value`, value, wrong.join(';')));
    if (effect === '') errors.push(requiredField(`${at}.effect`));
    else if (!['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect))
      errors.push(unsupportedField(`${at}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']));
    const id = `${effect}/${key}`;
    if (seen.has(id)) errors.push(duplicateField(at, id, 'taints must be unique by key and effect pair'));
    seen.add(id);
    return errors;
  });
}

function validateResources(node: KubeObject): FieldError[] {
  return (['capacity', 'allocatable'] as const).flatMap((field) =>
    Object.entries(statusOf(node)[field] ?? {}).flatMap(([name, quantity]) =>
      quantity.startsWith('-')
        ? [invalidField(`status.${field}.${name}`, quantity, 'must be greater than or equal to 0')]
        : [],
    ),
  );
}

function validateUpdate(node: KubeObject, old: KubeObject): FieldError[] {
  const [spec, before] = [specOf(node), specOf(old)];
  const errors = validateResources(node);
  const onlyOnce = (field: string) => `node updates may not change ${field} except from "" to valid`;
  if ((before.podCIDRs?.length ?? 0) > 0 && !isEquivalent(before.podCIDRs, spec.podCIDRs))
    errors.push(forbiddenField('spec.podCIDRs', onlyOnce('podCIDR')));
  if (before.providerID && before.providerID !== spec.providerID)
    errors.push(forbiddenField('spec.providerID', onlyOnce('providerID')));
  errors.push(...validateNodeConfig(node), ...validateTaints(spec.taints ?? [], 'metadata.taints'));
  if ((before.externalID ?? '') !== (spec.externalID ?? ''))
    errors.push(forbiddenField('spec.externalID', 'may not be updated'));
  return errors;
}

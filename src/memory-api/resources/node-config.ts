/**
 * Dynamic Kubelet Configuration (DKC) on the Node, as in servers 1.11 to 1.25: validation of spec.configSource and
 * status.config, and what happens to both when the feature gate DynamicKubeletConfig is off.
 *
 * The DKC alpha form (`configMapRef`) is not validated, as in servers before 1.11; its node reports errors.
 */

import type { ConfigRef, NodeConfigSource, NodeConfigStatus } from '../../api/config-ref.js';
import { checkConfigMapKey, checkDnsLabel, checkDnsSubdomain } from '../../api/names.js';
import type { KubeObject } from '../../api/object.js';
import { type FieldError, forbiddenField, invalidField, requiredField } from '../field-error.js';

/** The exact warning of 1.22 to 1.25, which clients may match. */
export const configSourceWarning = 'spec.configSource: deprecated in v1.22, support removal is planned in v1.23';

const noReference = 'exactly one reference subfield must be non-nil';
/** How Go prints a source without a reference. */
const emptySource = 'core.NodeConfigSource{ConfigMap:(*core.ConfigMapNodeConfigSource)(nil)}';

export function configSourceOf(node: KubeObject): NodeConfigSource | undefined {
  return (node.spec as { configSource?: NodeConfigSource } | undefined)?.configSource;
}

export function configStatusOf(node: KubeObject): NodeConfigStatus | undefined {
  return (node.status as { config?: NodeConfigStatus } | undefined)?.config;
}

/** With the gate off both fields are dropped from new Nodes; fields that are set stay and may be edited. */
export function dropDisabled(node: KubeObject, old: KubeObject | undefined, subresource: string): void {
  if (subresource === '' && (old === undefined || configSourceOf(old) === undefined)) drop(node.spec, 'configSource');
  const isStatusWritten = old === undefined || subresource === 'status';
  if (isStatusWritten && (old === undefined || configStatusOf(old) === undefined)) drop(node.status, 'config');
}

function drop(part: unknown, field: string): void {
  if (typeof part === 'object' && part !== null) delete (part as Record<string, unknown>)[field];
}

/** Only updates are checked: a Node may be created with an invalid source, as upstream. */
export function validateNodeConfig(node: KubeObject): FieldError[] {
  const source = configSourceOf(node);
  const status = configStatusOf(node);
  return [
    ...(source === undefined ? [] : validateSource(source, 'spec.configSource', validateInSpec)),
    ...(['assigned', 'active', 'lastKnownGood'] as const).flatMap((which) => {
      const reported = status?.[which];
      return reported === undefined ? [] : validateSource(reported, `status.config.${which}`, validateInStatus);
    }),
  ];
}

type SourceRule = (source: Partial<ConfigRef>, path: string) => FieldError[];

function validateSource(source: NodeConfigSource, path: string, rule: SourceRule): FieldError[] {
  const isAlpha = source.configMapRef !== undefined;
  if (isAlpha && source.configMap === undefined) return [];
  if (source.configMap === undefined)
    return [{ type: 'Invalid', field: path, value: emptySource, detail: noReference }];
  const errors = rule(source.configMap, `${path}.configMap`);
  return isAlpha ? [...errors, invalidField(path, source, noReference)] : errors;
}

function validateInSpec(source: Partial<ConfigRef>, path: string): FieldError[] {
  return [
    ...(source.uid ? [forbiddenField(`${path}.uid`, 'uid must not be set in spec')] : []),
    ...(source.resourceVersion
      ? [forbiddenField(`${path}.resourceVersion`, 'resourceVersion must not be set in spec')]
      : []),
    ...validateReference(source, path),
  ];
}

function validateInStatus(source: Partial<ConfigRef>, path: string): FieldError[] {
  return [
    ...(source.uid ? [] : [requiredField(`${path}.uid`, 'uid must be set in status')]),
    ...(source.resourceVersion
      ? []
      : [requiredField(`${path}.resourceVersion`, 'resourceVersion must be set in status')]),
    ...validateReference(source, path),
  ];
}

const referenceRules = [
  ['namespace', checkDnsLabel],
  ['name', checkDnsSubdomain],
  ['kubeletConfigKey', checkConfigMapKey],
] as const;

function validateReference(source: Partial<ConfigRef>, path: string): FieldError[] {
  return referenceRules.flatMap(([field, rule]) => {
    const value = source[field] ?? '';
    if (value === '') return [requiredField(`${path}.${field}`, `${field} must be set`)];
    return rule(value).map((message) => invalidField(`${path}.${field}`, value, message));
  });
}

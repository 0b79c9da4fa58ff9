/** Validation of Pods, without their containers. */

import { checkDnsLabel, checkDnsSubdomain, checkLabelValue, checkQualifiedName } from '../../../api/names.js';
import type { KubeObject } from '../../../api/object.js';
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../field-error.js';
import { duplicateFinder, validateContainers } from './container-rules.js';
import { type PodSpec, podSpec } from './pod-parts.js';

const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const restartPolicies = ['Always', 'OnFailure', 'Never'];
const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const maxSeconds = 2 ** 31 - 1;

export function validateNewPod(pod: KubeObject): FieldError[] {
  const spec = podSpec(pod);
  return [
    ...validatePod(pod),
    ...((spec.ephemeralContainers ?? []).length === 0
      ? []
      : [forbiddenField('spec.ephemeralContainers', 'cannot be set on create')]),
    ...(spec.nodeName && (spec.schedulingGates ?? []).length > 0
      ? [forbiddenField('spec.nodeName', 'cannot be set until all schedulingGates have been cleared')]
      : []),
  ];
}

export function validatePod(pod: KubeObject): FieldError[] {
  const spec = podSpec(pod);
  const { restartPolicy = '', dnsPolicy = '' } = spec;
  // A missing required list is shown as null.
  const containers = spec.containers ?? [];
  const volumes = new Set((spec.volumes ?? []).map(({ name }) => `${name}`));
  const around = { taken: new Set<string>(), volumes, hostNetwork: spec.hostNetwork === true };
  return [
    ...validateVolumes(spec.volumes ?? []),
    ...(containers.length === 0 ? [requiredField('spec.containers')] : []),
    ...validateContainers(containers, 'spec.containers', around),
    ...validateContainers(spec.initContainers ?? [], 'spec.initContainers', around),
    ...(restartPolicies.includes(restartPolicy)
      ? []
      : [unsupportedField('spec.restartPolicy', restartPolicy, restartPolicies)]),
    ...(dnsPolicies.includes(dnsPolicy) ? [] : [unsupportedField('spec.dnsPolicy', dnsPolicy, dnsPolicies)]),
    ...validatePlacement(spec),
  ];
}

function validatePlacement(spec: PodSpec): FieldError[] {
  const { nodeName, hostname, subdomain, activeDeadlineSeconds: deadline, terminationGracePeriodSeconds: grace } = spec;
  const user = (spec.securityContext as { runAsUser?: number } | undefined)?.runAsUser;
  const between = (low: number) => `must be between ${low} and ${maxSeconds}, inclusive`;
  const text = (field: string, value: string | undefined, check: (value: string) => string[]) =>
    value ? check(value).map((why) => invalidField(field, value, why)) : [];
  return [
    ...(spec.schedulingGates ?? []).flatMap(({ name }, index) =>
      checkQualifiedName(name).map((why) => invalidField(`spec.schedulingGates[${index}]`, name, why)),
    ),
    ...validateNodeSelector(spec.nodeSelector ?? {}),
    ...(user !== undefined && (user < 0 || user > maxSeconds)
      ? [invalidField('spec.securityContext.runAsUser', user, between(0))]
      : []),
    ...text('spec.nodeName', nodeName, checkDnsSubdomain),
    ...(deadline !== undefined && (deadline < 1 || deadline > maxSeconds)
      ? [invalidField('spec.activeDeadlineSeconds', deadline, between(1))]
      : []),
    ...text('spec.hostname', hostname, checkDnsLabel),
    ...text('spec.subdomain', subdomain, checkDnsLabel),
    ...validateTolerations(spec.tolerations ?? []),
    ...((grace ?? 0) < 0
      ? [invalidField('spec.terminationGracePeriodSeconds', grace, 'must be greater than or equal to 0')]
      : []),
  ];
}

function validateNodeSelector(selector: Record<string, string>): FieldError[] {
  return Object.entries(selector).flatMap(([key, value]) => [
    ...checkQualifiedName(key).map((why) => invalidField('spec.nodeSelector', key, why)),
    ...checkLabelValue(value).map((why) => invalidField('spec.nodeSelector', value, why)),
  ]);
}

function validateVolumes(volumes: Record<string, unknown>[]): FieldError[] {
  const isDuplicate = duplicateFinder<unknown>();
  return volumes.flatMap((volume, index) => {
    const at = `spec.volumes[${index}]`;
    const name = `${volume.name ?? ''}`;
    const [, ...others] = Object.keys(volume).filter((key) => key !== 'name');
    const isRepeated = isDuplicate(volume.name);
    return [
      ...others.map((source) => forbiddenField(`${at}.${source}`, 'may not specify more than 1 volume type')),
      ...validateSources(volume, at),
      ...(name === ''
        ? [requiredField(`${at}.name`)]
        : checkDnsLabel(name).map((why) => invalidField(`${at}.name`, name, why))),
      ...(isRepeated ? [duplicateField(`${at}.name`, name)] : []),
    ];
  });
}

/** What a volume is made of has a name. */
function validateSources(volume: Record<string, unknown>, at: string): FieldError[] {
  const [map, secret, path] = [volume.configMap, volume.secret, volume.hostPath] as Record<string, unknown>[];
  return [
    ...(secret !== undefined && !secret.secretName ? [requiredField(`${at}.secret.secretName`)] : []),
    ...(map !== undefined && !map.name ? [requiredField(`${at}.configMap.name`)] : []),
    ...(path !== undefined && !path.path ? [requiredField(`${at}.hostPath.path`)] : []),
  ];
}

interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

function validateTolerations(tolerations: Toleration[]): FieldError[] {
  return tolerations.flatMap(({ key = '', operator = '', value = '', effect = '', tolerationSeconds }, index) => {
    const at = `spec.tolerations[${index}]`;
    return [
      ...(key === '' ? [] : checkQualifiedName(key).map((why) => invalidField(`${at}.key`, key, why))),
      ...(key === '' && operator !== 'Exists'
        ? [
            invalidField(
              `${at}.operator`,
              operator,
              'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            ),
          ]
        : []),
      ...(tolerationSeconds !== undefined && effect !== 'NoExecute'
        ? [invalidField(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")]
        : []),
      ...validateOperator(operator, value, at),
      ...(effect !== '' && !taintEffects.includes(effect)
        ? [unsupportedField(`${at}.effect`, effect, taintEffects)]
        : []),
    ];
  });
}

function validateOperator(operator: string, value: string, at: string): FieldError[] {
  const field = `${at}.operator`;
  if (operator === '' || operator === 'Equal')
    return checkLabelValue(value).map((why) => invalidField(field, value, why));
  if (operator !== 'Exists') return [unsupportedField(field, operator, ['Equal', 'Exists'])];
  return value === '' ? [] : [invalidField(field, value, "value must be empty when `operator` is 'Exists'")];
}

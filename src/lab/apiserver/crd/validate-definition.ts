/** Validation of CustomResourceDefinitions. */

import { checkDns1035Label, checkDnsSubdomain } from '../../../api/names.js';
import type { KubeObject } from '../../../api/object.js';
import { type FieldError, forbiddenField, invalidField, requiredField, unsupportedField } from '../field-error.js';
import { isEquivalent } from '../json-equality.js';
import { type CrdSpec, crdSpec, crdStatus, isEstablished, type Names } from './definition.js';
import { validateShared, validateVersions } from './validate-versions.js';

const approvalAnnotation = 'api-approved.kubernetes.io';

export function validateDefinition(crd: KubeObject): FieldError[] {
  const spec = crdSpec(crd);
  return [...validateName(crd.metadata.name, spec), ...validateSpec(spec), ...validateRest(crd)];
}

export function validateDefinitionUpdate(crd: KubeObject, old: KubeObject): FieldError[] {
  const [spec, before] = [crdSpec(crd), crdSpec(old)];
  const same = (field: string, value: unknown, previous: unknown) =>
    isEquivalent(value, previous) ? [] : [invalidField(field, value, 'field is immutable')];
  return [
    ...validateSpec(spec),
    ...(isEstablished(old)
      ? [
          ...same('spec.scope', spec.scope, before.scope),
          ...same('spec.names.kind', spec.names.kind, before.names.kind),
        ]
      : []),
    ...same('spec.group', spec.group, before.group),
    ...same('spec.names.plural', spec.names.plural, before.names.plural),
    ...validateRest(crd),
  ];
}

/** Fields beside the names and the versions. */
function validateRest(crd: KubeObject): FieldError[] {
  const spec = crdSpec(crd);
  return [
    ...validateStored(crdStatus(crd).storedVersions ?? [], spec),
    ...validateApproval(crd, spec),
    ...(spec.preserveUnknownFields
      ? [
          invalidField(
            'spec.preserveUnknownFields',
            true,
            'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
          ),
        ]
      : []),
  ];
}

/** A version in which objects are stored cannot be removed. */
function validateStored(stored: string[], { versions }: CrdSpec): FieldError[] {
  const field = 'status.storedVersions';
  if (stored.length === 0)
    return [{ type: 'Invalid', field, value: '[]string(nil)', detail: 'must have at least one stored version' }];
  const known = (versions ?? []).map(({ name }) => name);
  return [
    ...(versions ?? [])
      .filter(({ storage, name }) => storage && !stored.includes(name))
      .map(({ name }) => invalidField(field, stored, `must have the storage version ${name}`)),
    ...stored.flatMap((name, index) =>
      known.includes(name) ? [] : [invalidField(`${field}[${index}]`, name, 'must appear in spec.versions')],
    ),
  ];
}

function validateName(name: string, { names, group }: CrdSpec): FieldError[] {
  if (name === `${names.plural}.${group}`) return [];
  return [invalidField('metadata.name', name, 'must be spec.names.plural+"."+spec.group')];
}

function validateSpec(spec: CrdSpec): FieldError[] {
  const { group, scope, names } = spec;
  return [
    ...validateGroup(group),
    ...(scope === '' ? [requiredField('spec.scope')] : []),
    ...(scope !== '' && scope !== 'Cluster' && scope !== 'Namespaced'
      ? [unsupportedField('spec.scope', scope, ['Cluster', 'Namespaced'])]
      : []),
    ...validateVersions(spec),
    ...(['plural', 'singular', 'kind', 'listKind'] as const)
      .filter((field) => !names[field])
      .map((field) => requiredField(`spec.names.${field}`)),
    ...validateNames(names),
    ...validateShared(spec),
    ...validateConversion(spec),
  ];
}

function validateGroup(group: string): FieldError[] {
  if (group === '') return [requiredField('spec.group')];
  const wrong = checkDnsSubdomain(group);
  if (wrong.length > 0) return [invalidField('spec.group', group, wrong.join(','))];
  return group.includes('.') ? [] : [invalidField('spec.group', group, 'should be a domain with at least one dot')];
}

function validateConversion({ conversion }: CrdSpec): FieldError[] {
  if (conversion === undefined) return [];
  const at = 'spec.conversion';
  const { strategy = '', webhook } = conversion;
  const strategies = ['None', 'Webhook'];
  const forbidden = 'should not be set when strategy is not set to Webhook';
  if (strategy === '') return [requiredField(`${at}.strategy`)];
  if (!strategies.includes(strategy)) return [unsupportedField(`${at}.strategy`, strategy, strategies)];
  const { clientConfig, conversionReviewVersions: versions = [] } = webhook ?? {};
  if (strategy === 'None')
    return [
      ...(clientConfig === undefined ? [] : [forbiddenField(`${at}.webhookClientConfig`, forbidden)]),
      ...(versions.length === 0 ? [] : [forbiddenField(`${at}.conversionReviewVersions`, forbidden)]),
    ];
  return [
    ...(clientConfig === undefined
      ? [requiredField(`${at}.webhookClientConfig`, 'required when strategy is set to Webhook')]
      : []),
    ...(versions.length === 0 ? [requiredField(`${at}.conversionReviewVersions`)] : []),
  ];
}

function validateNames({ plural, singular, kind, listKind, shortNames = [], categories = [] }: Names): FieldError[] {
  const check = (field: string, value: string | undefined, isMixed = false) => {
    if (!value) return [];
    const wrong = checkDns1035Label(isMixed ? value.toLowerCase() : value).join(',');
    const detail = isMixed ? `may have mixed case, but should otherwise match: ${wrong}` : wrong;
    return wrong === '' ? [] : [invalidField(`spec.names.${field}`, value, detail)];
  };
  return [
    ...check('plural', plural),
    ...check('singular', singular),
    ...check('kind', kind, true),
    ...check('listKind', listKind, true),
    ...shortNames.flatMap((name, index) => check(`shortNames[${index}]`, name)),
    ...(kind !== '' && kind === listKind
      ? [invalidField('spec.names.listKind', listKind, 'kind and listKind may not be the same')]
      : []),
    ...categories.flatMap((name, index) => check(`categories[${index}]`, name)),
  ];
}

/** Groups of Kubernetes need an approval annotation. */
function validateApproval(crd: KubeObject, { group }: CrdSpec): FieldError[] {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group) || crd.metadata.annotations?.[approvalAnnotation]) return [];
  const detail = `protected groups must have approval annotation "${approvalAnnotation}", see https://github.com/kubernetes/enhancements/pull/1111`;
  return [requiredField(`metadata.annotations[${approvalAnnotation}]`, detail)];
}

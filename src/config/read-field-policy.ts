/**
 * Parses a field policy: the file of a host, or an object of the cluster. Every mistake is an error with its position: a policy that is
 * only partly understood would not protect the node.
 */

import type { FieldPolicy } from '../api/field-policy.js';
import type { LabelSelectorObject } from '../api/label-selector.js';
import { isObject } from '../json.js';
import { fieldAt } from './fields.js';
import { readPlain } from './plain-document.js';

const apiVersion = 'relet.dev/v1alpha1';
const kind = 'FieldPolicy';

export function readFieldPolicy(text: string, file: string): FieldPolicy {
  return fieldPolicyFrom(parseYaml(text, file), `field policy ${file}`);
}

/** `name` is how messages call it. */
export function fieldPolicyFrom(document: unknown, name: string): FieldPolicy {
  const fail = (place: string, reason: string): never => {
    throw new Error(`${name}: ${place}: ${reason} (docs/field-policy.md shows the format)`);
  };
  if (!isObject(document)) return fail('document', 'must be a mapping');
  if (document.apiVersion !== apiVersion) fail('apiVersion', `must be ${apiVersion}`);
  if (document.kind !== kind) fail('kind', `must be ${kind}`);
  const policy: FieldPolicy = {};
  for (const [key, value] of Object.entries(document)) {
    switch (key) {
      case 'apiVersion':
      case 'kind':
      case 'metadata':
        break;
      case 'selector':
        policy.selector = selectorOf(value, fail);
        break;
      case 'allow':
      case 'deny':
        policy[key] = fieldList(key, value, fail);
        break;
      case 'bounds':
        policy.bounds = boundsOf(value, fail);
        break;
      case 'openingAccess':
        if (value !== 'refuse' && value !== 'allow') fail(key, 'must be refuse or allow');
        policy.openingAccess = value as 'refuse' | 'allow';
        break;
      default:
        fail(key, 'is not known; known are selector, allow, deny, bounds and openingAccess');
    }
  }
  return policy;
}

type Fail = (place: string, reason: string) => never;

function parseYaml(text: string, file: string): unknown {
  try {
    return readPlain(text);
  } catch (cause) {
    throw new Error(`field policy ${file}: not YAML: ${(cause as Error).message}`, { cause });
  }
}

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

function selectorOf(value: unknown, fail: Fail): LabelSelectorObject {
  if (!isObject(value) || Object.keys(value).some((key) => key !== 'matchLabels' && key !== 'matchExpressions'))
    return fail('selector', 'must be {matchLabels, matchExpressions}');
  const { matchLabels = {}, matchExpressions = [] } = value;
  if (!isObject(matchLabels) || Object.values(matchLabels).some((label) => typeof label !== 'string'))
    fail('selector.matchLabels', 'must map labels to texts');
  if (!Array.isArray(matchExpressions)) return fail('selector.matchExpressions', 'must be a list');
  for (const [index, one] of matchExpressions.entries())
    if (!isObject(one) || typeof one.key !== 'string' || !operators.includes(one.operator as string))
      fail(
        `selector.matchExpressions[${index}]`,
        `must be {key, operator, values}; operators are ${operators.join(', ')}`,
      );
  return value as LabelSelectorObject;
}

function fieldList(place: string, value: unknown, fail: Fail): string[] {
  if (!Array.isArray(value)) return fail(place, 'must be a list of field names');
  return value.map((field, index) => {
    if (typeof field !== 'string' || !isField(field))
      fail(
        `${place}[${index}]`,
        `${JSON.stringify(field)} is not a field of KubeletConfiguration; 'relet config explain' lists them`,
      );
    return field as string;
  });
}

function boundsOf(value: unknown, fail: Fail): NonNullable<FieldPolicy['bounds']> {
  if (!isObject(value)) return fail('bounds', 'must map field names to {min, max}');
  for (const [field, bound] of Object.entries(value)) {
    const place = `bounds.${field}`;
    if (!isField(field)) fail(place, 'is not a field of KubeletConfiguration');
    if (!/^u?int|^float/.test(fieldAt(field)?.goType ?? '')) fail(place, 'is not a number; only numbers have bounds');
    if (!isObject(bound) || Object.keys(bound).some((key) => key !== 'min' && key !== 'max'))
      fail(place, 'must be {min, max}');
    for (const [key, limit] of Object.entries(bound as object))
      if (typeof limit !== 'number') fail(`${place}.${key}`, 'must be a number');
  }
  return value as NonNullable<FieldPolicy['bounds']>;
}

/** `kubeReserved[cpu]` names a key of a map field. */
function isField(name: string): boolean {
  return fieldAt(name.replace(/\[.*$/, '')) !== undefined;
}

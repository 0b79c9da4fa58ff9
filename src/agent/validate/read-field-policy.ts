/** Reads a field policy file. Every mistake is an error with its place: a policy that is only partly read would not protect the node. */

import { fieldAt } from '../../config/fields.js';
import { readPlain } from '../../config/plain-document.js';
import { isObject } from '../../json.js';
import type { FieldPolicy } from './field-policy.js';

const apiVersion = 'relet.dev/v1alpha1';
const kind = 'FieldPolicy';

export function readFieldPolicy(text: string, file: string): FieldPolicy {
  const document = parseYaml(text, file);
  const fail = (place: string, reason: string): never => {
    throw new Error(`field policy ${file}: ${place}: ${reason} (docs/field-policy.md shows the format)`);
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
        fail(key, 'is not known; known are allow, deny, bounds and openingAccess');
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

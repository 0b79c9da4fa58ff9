/** Secrets: bytes under keys. `stringData` is a convenience for writers; it is merged into `data` and never returned. */

import { checkConfigMapKey } from '../../../api/names.js';
import type { KubeObject } from '../../../api/object.js';
import { type FieldError, invalidField, requiredField, tooLongField } from '../field-error.js';
import { ageColumn, column, keyCount, nameColumn } from './columns.js';
import { checkImmutable, maxDataBytes } from './configmaps.js';
import { defineResource } from './define.js';

/** Required keys of a type: all of them, or (for basic-auth) at least one. */
const demands: Record<string, { keys: string[]; anyOf?: boolean; json?: boolean; notEmpty?: boolean }> = {
  'kubernetes.io/dockercfg': { keys: ['.dockercfg'], json: true },
  'kubernetes.io/dockerconfigjson': { keys: ['.dockerconfigjson'], json: true },
  'kubernetes.io/basic-auth': { keys: ['username', 'password'], anyOf: true },
  'kubernetes.io/ssh-auth': { keys: ['ssh-privatekey'], notEmpty: true },
  'kubernetes.io/tls': { keys: ['tls.crt', 'tls.key'] },
};
const serviceAccountName = 'kubernetes.io/service-account.name';

export const secrets = defineResource({
  kind: 'Secret',
  plural: 'secrets',
  revalidatesMeta: true,
  shape: 'core.v1.Secret',
  namespaced: true,
  columns: [
    nameColumn,
    column('Type', 'What the data is for; programs rely on it.', (object) => object.type),
    column('Data', 'How many keys it holds.', (object) => keyCount(object, 'data')),
    ageColumn,
  ],
  selectableFields: { type: (object) => String(object.type ?? '') },
  setDefaults(object) {
    object.type ||= 'Opaque';
    const text = object.stringData as Record<string, string> | undefined;
    if (text === undefined) return;
    const folded = Object.entries(text).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
    object.data = { ...(object.data as object | undefined), ...Object.fromEntries(folded) };
    delete object.stringData;
  },
  validateCreate: validate,
  validateUpdate: (object, old) => [
    ...(object.type === old.type ? [] : [invalidField('type', object.type, 'field is immutable')]),
    ...checkImmutable(object, old, ['data']),
    ...validate(object),
  ],
});

function validate(object: KubeObject): FieldError[] {
  const data = (object.data ?? {}) as Record<string, string>;
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    errors.push(...checkConfigMapKey(key).map((message) => invalidField(`data[${key}]`, key, message)));
    bytes += Buffer.byteLength(value, 'base64');
  }
  if (bytes > maxDataBytes) errors.push(tooLongField('data', maxDataBytes));
  return [...errors, ...validateType(object, data)];
}

function validateType(object: KubeObject, data: Record<string, string>): FieldError[] {
  if (object.type === 'kubernetes.io/service-account-token') {
    const isNamed = (object.metadata.annotations?.[serviceAccountName] ?? '') !== '';
    return isNamed ? [] : [requiredField(`metadata.annotations[${serviceAccountName}]`)];
  }
  const demand = demands[String(object.type)];
  if (demand === undefined) return [];
  const missing = demand.keys.filter((key) => !Object.hasOwn(data, key) || (demand.notEmpty && data[key] === ''));
  if (demand.anyOf && missing.length < demand.keys.length) return [];
  if (missing.length > 0 || !demand.json) return missing.map((key) => requiredField(`data[${key}]`));
  return demand.keys.flatMap((key) => checkJson(key, data[key]!));
}

function checkJson(key: string, base64: string): FieldError[] {
  try {
    JSON.parse(Buffer.from(base64, 'base64').toString());
    return [];
  } catch {
    return [invalidField(`data[${key}]`, '<secret contents redacted>', 'unexpected end of JSON input')];
  }
}

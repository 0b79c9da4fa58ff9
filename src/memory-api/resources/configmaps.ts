/** ConfigMaps: text and bytes under keys, at most 1 MiB; once marked immutable, only metadata may change. */

import { checkConfigMapKey } from '../../api/names.js';
import type { KubeObject } from '../../api/object.js';
import { type FieldError, forbiddenField, invalidField, tooLongField } from '../field-error.js';
import { isEquivalent } from '../json-equality.js';
import { ageColumn, column, keyCount, nameColumn } from './columns.js';
import { defineResource } from './define.js';

export const maxDataBytes = 1024 * 1024;
export const immutableText = 'field is immutable when `immutable` is set';

export const configMaps = defineResource({
  kind: 'ConfigMap',
  plural: 'configmaps',
  revalidatesMeta: true,
  shape: 'core.v1.ConfigMap',
  namespaced: true,
  shortNames: ['cm'],
  columns: [
    nameColumn,
    column('Data', 'How many keys it holds, of text and of bytes.', (object) => keyCount(object, 'data', 'binaryData')),
    ageColumn,
  ],
  validateCreate: validate,
  validateUpdate: (object, old) => [...checkImmutable(object, old, ['data', 'binaryData']), ...validate(object)],
});

/** An immutable object stays immutable and keeps its data. */
export function checkImmutable(object: KubeObject, old: KubeObject, fields: string[]): FieldError[] {
  if (old.immutable !== true) return [];
  return [
    ...(object.immutable === true ? [] : [forbiddenField('immutable', immutableText)]),
    ...fields
      .filter((field) => !isEquivalent(object[field], old[field]))
      .map((field) => forbiddenField(field, immutableText)),
  ];
}

function validate(object: KubeObject): FieldError[] {
  const data = (object.data ?? {}) as Record<string, string>;
  const binaryData = (object.binaryData ?? {}) as Record<string, string>;
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    errors.push(...checkConfigMapKey(key).map((message) => invalidField(`data[${key}]`, key, message)));
    if (Object.hasOwn(binaryData, key))
      errors.push(invalidField(`data[${key}]`, key, 'duplicate of key present in binaryData'));
    bytes += Buffer.byteLength(value);
  }
  for (const [key, value] of Object.entries(binaryData)) {
    errors.push(...checkConfigMapKey(key).map((message) => invalidField(`binaryData[${key}]`, key, message)));
    bytes += Buffer.byteLength(value, 'base64');
  }
  // The error is about the whole object, hence no path.
  if (bytes > maxDataBytes) errors.push(tooLongField('[]', maxDataBytes));
  return errors;
}

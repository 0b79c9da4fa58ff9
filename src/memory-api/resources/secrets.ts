/** Secrets: bytes under keys. `stringData` is a convenience for writers; it is merged into `data` and never returned. */

import { checkConfigMapKey } from '../../api/names.js';
import type { KubeObject } from '../../api/object.js';
import { type FieldError, invalidField, tooLongField } from '../field-error.js';
import { ageColumn, column, keyCount, nameColumn } from './columns.js';
import { checkImmutable, maxDataBytes } from './configmaps.js';
import { defineResource } from './define.js';

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
  return errors;
}

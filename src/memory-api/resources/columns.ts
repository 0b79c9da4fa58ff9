/** Columns of `kubectl get` that many kinds share, and ages as kubectl prints them. */
import type { KubeObject } from '../../api/object.js';
import { shortDuration } from '../../go/short-duration.js';
import type { Column } from '../resource.js';

export function column(name: string, description: string, cell: Column['cell']): Column {
  return { name, type: 'string', description, priority: 0, cell };
}

export function numberColumn(name: string, description: string, cell: Column['cell']): Column {
  return { ...column(name, description, cell), type: 'integer' };
}

/** Shown only with -o wide. */
export function wideColumn(name: string, description: string, cell: Column['cell']): Column {
  return { ...column(name, description, cell), priority: 1 };
}

export const nameColumn: Column = {
  ...column(
    'Name',
    'The name, unique among objects of this kind in their namespace.',
    (object) => object.metadata.name,
  ),
  format: 'name',
};

export const ageColumn: Column = column('Age', 'The time since the object was created.', (object, now) =>
  age(object.metadata.creationTimestamp, now),
);

/** For kinds without columns of their own in Kubernetes. */
export const createdAtColumn: Column = {
  ...column('Created At', 'When the object was created.', (object) => object.metadata.creationTimestamp),
  type: 'date',
};

export function age(time: string | null | undefined, now: Date): string {
  return time === undefined || time === null ? '<unknown>' : shortDuration(now.getTime() - Date.parse(time));
}

/** The number of keys in the maps of an object. */
export function keyCount(object: KubeObject, ...fields: string[]): number {
  return fields.reduce((sum, field) => sum + Object.keys((object[field] as object | undefined) ?? {}).length, 0);
}

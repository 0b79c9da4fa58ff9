/** Columns of `kubectl get` that many kinds share, and ages as kubectl prints them. */
import type { KubeObject } from '../../api/object.js';
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

/** For kinds that Kubernetes gives no columns of their own. */
export const createdAtColumn: Column = {
  ...column('Created At', 'When the object was created.', (object) => object.metadata.creationTimestamp),
  type: 'date',
};

export function age(time: string | null | undefined, now: Date): string {
  return time === undefined || time === null ? '<unknown>' : duration(now.getTime() - Date.parse(time));
}

/** The two largest units that matter: 45s, 3m20s, 5h, 2d3h, 400d. */
export function duration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 120) return `${Math.max(seconds, 0)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return withRest(days, 'd', hours % 24, 'h');
  if (days < 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? withRest(years, 'y', days % 365, 'd') : `${years}y`;
}

function withRest(value: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${value}${unit}` : `${value}${unit}${rest}${restUnit}`;
}

/** The number of keys in the maps of an object. */
export function keyCount(object: KubeObject, ...fields: string[]): number {
  return fields.reduce((sum, field) => sum + Object.keys((object[field] as object | undefined) ?? {}).length, 0);
}

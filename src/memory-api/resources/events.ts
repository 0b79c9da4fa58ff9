/** Events of the core group: what happened to an object, how often, and the reporter. */

import type { KubeObject } from '../../api/object.js';
import { type FieldError, invalidField } from '../field-error.js';
import type { Column } from '../resource.js';
import { age, column, nameColumn, wideColumn } from './columns.js';
import { defineResource } from './define.js';

interface EventFields {
  involvedObject: Record<string, string>;
  reason?: string;
  message?: string;
  source?: { component?: string; host?: string };
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  count?: number;
  series?: { count?: number; lastObservedTime?: string | null };
  type?: string;
  action?: string;
  reportingComponent?: string;
  reportingInstance?: string;
}

const fields = (event: KubeObject) => event as unknown as EventFields & KubeObject;
const involved = (field: string) => (event: KubeObject) => fields(event).involvedObject?.[field] ?? '';

export const events = defineResource({
  kind: 'Event',
  plural: 'events',
  shape: 'core.v1.Event',
  namespaced: true,
  shortNames: ['ev'],
  allowCreateOnUpdate: true,
  columns: eventColumns(),
  // Any path segment: components name their events freely.
  nameRule: () => [],
  selectableFields: {
    ...Object.fromEntries(
      ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((field) => [
        `involvedObject.${field}`,
        involved(field),
      ]),
    ),
    reason: (event) => fields(event).reason ?? '',
    reportingComponent: (event) => fields(event).reportingComponent ?? '',
    source: (event) => fields(event).source?.component || fields(event).reportingComponent || '',
    type: (event) => fields(event).type ?? '',
  },
  validateCreate: validateEvent,
  validateUpdate: (event) => validateEvent(event),
});

function eventColumns(): Column[] {
  return [
    column('Last Seen', 'The time since it was last seen.', (event, now) => lastSeen(fields(event), now)),
    column('Type', 'Normal or Warning.', (event) => fields(event).type ?? ''),
    column('Reason', 'One word for programs.', (event) => fields(event).reason ?? ''),
    column('Object', 'What it happened to.', (event) => target(fields(event))),
    wideColumn('Subobject', 'The part of the object it happened to.', involved('fieldPath')),
    wideColumn('Source', 'Who says so.', (event) => source(fields(event))),
    column('Message', 'A sentence for people.', (event) => (fields(event).message ?? '').trim()),
    wideColumn('First Seen', 'The time since it was first seen.', (event, now) => firstSeen(fields(event), now)),
    wideColumn('Count', 'How often it was seen.', (event) => fields(event).series?.count ?? (fields(event).count || 1)),
    { ...nameColumn, priority: 1 },
  ];
}

function firstSeen(event: EventFields, now: Date): string {
  return age(event.firstTimestamp ?? event.eventTime, now);
}

function lastSeen(event: EventFields, now: Date): string {
  if (event.series !== undefined) return age(event.series.lastObservedTime, now);
  return event.lastTimestamp ? age(event.lastTimestamp, now) : firstSeen(event, now);
}

function target({ involvedObject: { kind = '', name = '' } }: EventFields): string {
  return name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
}

function source(event: EventFields): string {
  const component = event.source?.component || event.reportingComponent || '';
  const host = event.source?.host || event.reportingInstance || '';
  return host === '' ? component : `${component}, ${host}`;
}

function validateEvent(object: KubeObject): FieldError[] {
  const { namespace = '' } = object.metadata;
  const { eventTime, involvedObject } = fields(object);
  const about = involvedObject?.namespace ?? '';
  const isNewForm = eventTime !== null && eventTime !== undefined;
  const homeless = isNewForm ? ['default', 'kube-system'] : ['', 'default'];
  const fits = about === '' ? homeless.includes(namespace) : isNewForm || about === namespace;
  return fits ? [] : [invalidField('involvedObject.namespace', about, 'does not match event.namespace')];
}

/** events.k8s.io/v1: the same events with the newer group's field names. Stored once, as events of the core group. */

import { nameIsDnsSubdomain } from '../../../api/names.js';
import type { KubeObject } from '../../../api/object.js';
import { type FieldError, invalidField, requiredField } from '../field-error.js';
import { isEquivalent } from '../json-equality.js';
import { defineResource } from './define.js';
import { type EventFields, eventColumns, validateEvent } from './events.js';

/** New name → name in the core group. */
const names: Record<string, string> = {
  regarding: 'involvedObject',
  note: 'message',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
};
const back = Object.fromEntries(Object.entries(names).map(([view, core]) => [core, view]));

function rename(object: KubeObject, table: Record<string, string>, apiVersion: string): KubeObject {
  const entries = Object.entries(object).map(([key, value]) => [Object.hasOwn(table, key) ? table[key]! : key, value]);
  return { ...(Object.fromEntries(entries) as KubeObject), apiVersion };
}

/** When empty, these two are shown by the core group only. */
const shownIfSet = ['reportingController', 'reportingInstance'];

function fromStored(event: KubeObject): KubeObject {
  const view = rename(event, back, 'events.k8s.io/v1');
  for (const field of shownIfSet) if (view[field] === '') delete view[field];
  return view;
}

const toStored = (event: KubeObject) => ({
  reportingComponent: '',
  reportingInstance: '',
  ...rename(event, names, 'v1'),
});
const regarding = (field: string) => (event: KubeObject) =>
  (event.regarding as Record<string, string> | undefined)?.[field] ?? '';
const text = (field: string) => (event: KubeObject) => String(event[field] ?? '');

export const eventsView = defineResource({
  group: 'events.k8s.io',
  kind: 'Event',
  plural: 'events',
  shape: 'events.v1.Event',
  namespaced: true,
  shortNames: ['ev'],
  allowCreateOnUpdate: true,
  columns: eventColumns().map((column) => ({ ...column, cell: (event, now) => column.cell(toStored(event), now) })),
  nameRule: nameIsDnsSubdomain,
  selectableFields: {
    ...Object.fromEntries(
      ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((field) => [
        `regarding.${field}`,
        regarding(field),
      ]),
    ),
    reason: text('reason'),
    reportingController: text('reportingController'),
    type: text('type'),
  },
  stored: { group: '', version: 'v1', resource: 'events', kind: 'Event', fromStored, toStored },
  validateCreate: (event) => [...validateEvent(toStored(event), reporter), ...validateNew(toStored(event))],
  validateUpdate: (event, old) => [
    ...validateEvent(toStored(event), reporter),
    ...validateSeries(event as unknown as EventFields),
    ...validateUnchanged(toStored(event), toStored(old)),
  ],
});

const reporter = 'reportingController';

/** An event that occurred once has no series. */
function validateSeries({ series }: EventFields): FieldError[] {
  if (series === undefined) return [];
  return [
    ...((series.count ?? 0) < 2 ? [invalidField('series.count', '', 'should be at least 2')] : []),
    ...(series.lastObservedTime ? [] : [requiredField('series.lastObservedTime')]),
  ];
}

/** Additional rules of the newer API: its own fields are required, deprecated ones are not allowed. */
function validateNew(object: KubeObject): FieldError[] {
  const event = object as unknown as EventFields;
  const unset = (field: string, isSet: unknown) => (isSet ? [invalidField(field, '', 'needs to be unset')] : []);
  const { type = '' } = event;
  return [
    ...validateSeries(event),
    ...(event.eventTime ? [] : [requiredField('eventTime')]),
    ...(type === 'Normal' || type === 'Warning' ? [] : [invalidField('type', '', `has invalid value: ${type}`)]),
    ...unset('firstTimestamp', event.firstTimestamp),
    ...unset('lastTimestamp', event.lastTimestamp),
    ...unset('count', event.count),
    ...unset('source', event.source?.component || event.source?.host),
  ];
}

const fixed = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingInstance',
];

/** Only the series of an event may change. */
function validateUnchanged(event: KubeObject, old: KubeObject): FieldError[] {
  return fixed
    .filter((field) => !isEquivalent(event[field] || undefined, old[field] || undefined))
    .map((field) => invalidField(field, event[field], 'field is immutable'));
}

/** Events in both groups: the same event with two sets of field names. */
import { expect, test } from 'vitest';
import { fieldErrorText } from '../field-error.js';
import { eventsView } from './events-view.js';

const stored = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'e', namespace: 'default' },
  involvedObject: { kind: 'Node', name: 'n1' },
  reason: 'KubeletConfigChanged',
  message: 'switched',
  source: { component: 'kubelet', host: 'n1' },
  firstTimestamp: '2024-01-01T00:00:00Z',
  lastTimestamp: '2024-01-01T00:00:00Z',
  count: 2,
  type: 'Normal',
  eventTime: null,
  reportingComponent: 'kubelet',
  reportingInstance: 'n1',
};

test('an event of the core group converts to events.k8s.io and back', () => {
  const view = eventsView.stored!.fromStored(stored);
  expect(view).toMatchObject({
    apiVersion: 'events.k8s.io/v1',
    regarding: { name: 'n1' },
    note: 'switched',
    deprecatedCount: 2,
    reportingController: 'kubelet',
  });
  expect(eventsView.stored!.toStored(view)).toEqual(stored);
});

test('an empty reporter is left out, and is in the core form again', () => {
  const unsigned = { ...stored, reportingComponent: '', reportingInstance: '' };
  const view = eventsView.stored!.fromStored(unsigned);
  expect(Object.keys(view)).not.toContain('reportingController');
  expect(Object.keys(view)).not.toContain('reportingInstance');
  expect(eventsView.stored!.toStored(view)).toEqual(unsigned);
});

test('events of both groups have the same columns', () => {
  const cells = eventsView.columns.map((column) =>
    column.cell(eventsView.stored!.fromStored(stored), new Date('2024-01-01T00:01:00Z')),
  );
  expect(cells).toEqual([
    '60s',
    'Normal',
    'KubeletConfigChanged',
    'node/n1',
    '',
    'kubelet, n1',
    'switched',
    '60s',
    2,
    'e',
  ]);
});

test('an event created in events.k8s.io must have its required fields', () => {
  const view = eventsView.stored!.fromStored(stored);
  expect(eventsView.strategy.validateCreate(view).map(fieldErrorText)).toEqual([
    'eventTime: Required value',
    'firstTimestamp: Invalid value: "": needs to be unset',
    'lastTimestamp: Invalid value: "": needs to be unset',
    'count: Invalid value: "": needs to be unset',
    'source: Invalid value: "": needs to be unset',
  ]);
});

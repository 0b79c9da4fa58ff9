/** Events in two groups: one event, two sets of names. */
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

test('an event of the core group shows under the new names, and comes back the same', () => {
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

test('who reported is left out where nobody is named, and is back in the old form', () => {
  const unsigned = { ...stored, reportingComponent: '', reportingInstance: '' };
  const view = eventsView.stored!.fromStored(unsigned);
  expect(Object.keys(view)).not.toContain('reportingController');
  expect(Object.keys(view)).not.toContain('reportingInstance');
  expect(eventsView.stored!.toStored(view)).toEqual(unsigned);
});

test('its columns are those of any event', () => {
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

test('what is made in the new form must be of the new form', () => {
  const view = eventsView.stored!.fromStored(stored);
  expect(eventsView.strategy.validateCreate(view).map(fieldErrorText)).toEqual([
    'eventTime: Required value',
    'firstTimestamp: Invalid value: "": needs to be unset',
    'lastTimestamp: Invalid value: "": needs to be unset',
    'count: Invalid value: "": needs to be unset',
    'source: Invalid value: "": needs to be unset',
  ]);
});

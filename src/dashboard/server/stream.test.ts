/** The stream of a tab, with a reader that is slow, on a clock that the test moves. */
import { expect, test } from 'vitest';
import { configuredNode } from '../../../test/configured-node.js';
import { ManualClock } from '../../../test/manual-clock.js';
import { packRows, type Row, type StreamEvents, unpackRows } from '../wire.js';
import type { FleetListener, FleetView } from './fleet-view.js';
import { rowOf } from './row.js';
import { FleetStream } from './stream.js';

function openTab(names: string[]) {
  const clock = new ManualClock();
  const rows = new Map<string, Row>(names.map((name) => [name, rowOf(configuredNode(name), { nowMs: 0 })]));
  const tab = { text: '', takes: true, destroyed: false, drain: () => {} };
  let listener: FleetListener | undefined;
  const view = {
    rows,
    sets: new Map(),
    stale: undefined as { since: number; why: string } | undefined,
    isListed: true,
    attach: (one: FleetListener) => {
      listener = one;
      return () => {
        listener = undefined;
      };
    },
  };
  const stream = new FleetStream({
    view: view as unknown as FleetView,
    clock,
    signal: new AbortController().signal,
    out: {
      write: (text) => {
        tab.text += text;
        return tab.takes;
      },
      onDrain: (drained) => {
        tab.drain = drained;
      },
      end: () => {},
      destroy: () => {
        tab.destroyed = true;
      },
    },
  });
  stream.open();
  const events = <Name extends keyof StreamEvents>(name: Name): StreamEvents[Name][] =>
    [...tab.text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].flatMap(([, one, data]) =>
      one === name ? [JSON.parse(data!)] : [],
    );
  return {
    clock,
    rows,
    view,
    tab,
    events,
    stream,
    change: (name: string) => listener?.onRow(name),
    listener: () => listener,
  };
}

test('rows survive the way over the wire', () => {
  const rows = ['a', 'b'].map((name) => ({
    ...rowOf(configuredNode(name), { nowMs: 0 }),
    wave: 3,
    held: true,
    error: 'x',
  }));
  expect(unpackRows(JSON.parse(JSON.stringify(packRows(rows))))).toEqual(rows);
});

test('a snapshot comes in parts of 2,000 rows', async () => {
  const { clock, events } = openTab(Array.from({ length: 4001 }, (_, i) => `node-${i}`));
  await clock.advance(1);
  expect(events('fleet').map(({ part, parts, rows }) => [part, parts, rows.name.length])).toEqual([
    [0, 3, 2000],
    [1, 3, 2000],
    [2, 3, 1],
  ]);
});

test('many changes of one row in a moment are one, and a row that is gone is removed', async () => {
  const { clock, events, change, rows } = openTab(['a', 'b']);
  await clock.advance(1);
  for (let i = 0; i < 100; i++) change('a');
  rows.delete('b');
  change('b');
  await clock.advance(200);
  expect(events('rows').map(({ upsert, remove }) => [upsert.map(({ name }) => name), remove])).toEqual([
    [['a'], ['b']],
  ]);
});

test('a slow reader is sent nothing until it has read, then the newest; after a minute it is disconnected', async () => {
  const { clock, events, change, tab, listener } = openTab(['a']);
  await clock.advance(1);
  tab.takes = false;
  change('a');
  await clock.advance(200);
  const sent = tab.text.length;
  for (let i = 0; i < 50; i++) {
    change('a');
    await clock.advance(200);
  }
  expect(tab.text.length).toBe(sent);
  tab.takes = true;
  tab.drain();
  expect(events('rows')).toHaveLength(2);
  tab.takes = false;
  change('a');
  await clock.advance(200);
  await clock.advance(80_000);
  expect([tab.destroyed, listener()]).toEqual([true, undefined]);
});

test('after the end nothing is written, also when a change was due', async () => {
  const { clock, change, tab, stream } = openTab(['a']);
  await clock.advance(1);
  change('a');
  stream.login({ reason: 'LoginNeeded', message: 'expired' });
  const sent = tab.text.length;
  await clock.advance(80_000);
  expect(tab.text.length).toBe(sent);
});

test('stale is sent with its time and reason, and fresh once it is over', async () => {
  const { clock, events, view, listener } = openTab([]);
  await clock.advance(1);
  view.stale = { since: 5, why: 'connection lost' };
  listener()!.onFreshness();
  await clock.advance(1);
  view.stale = undefined;
  listener()!.onFreshness();
  await clock.advance(1);
  expect([events('stale'), events('fresh').length]).toEqual([[{ since: 5, why: 'connection lost' }], 1]);
});

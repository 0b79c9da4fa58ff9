/** The progress of a rehearsal is drawn in place: never more than the screen, not all the time, and it clears nothing but what it drew. */
import { expect, test } from 'vitest';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { clearUp } from '../terminal/terminal.js';
import { livePage } from './rehearsal-progress.js';

const set: NodeConfigSet = {
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name: 'gpu', generation: 1 },
  spec: { selector: {}, config: {} },
};

function screen(rows = 30) {
  const written: string[] = [];
  const clock = { ms: 0 };
  const parts = {
    columns: 80,
    rows,
    isColoured: false,
    now: () => clock.ms,
    write: (text: string) => written.push(text),
  };
  return { written, clock, page: livePage(0, parts) };
}

test('the page is drawn over the one before, at most ten times a second, and no higher than the screen', () => {
  const { written, clock, page } = screen(5);
  page.onStatus(set, 5000);
  clock.ms = 50;
  page.onStatus(set, 6000);
  clock.ms = 100;
  page.onStatus(set, 65_000);
  expect(written).toHaveLength(2);
  expect(written[0]).toContain('Rehearsal, 00:00:05 after the start');
  expect(written[1]!.startsWith(clearUp(3))).toBe(true);
  expect(written[1]).toContain('00:01:05');
});

test('a result that is printed after the end is not cleared', () => {
  const { written, page } = screen();
  page.onStatus(set, 0);
  page.close();
  const closed = written.length;
  page.close();
  expect(closed).toBe(2);
  expect(written).toHaveLength(closed);
});

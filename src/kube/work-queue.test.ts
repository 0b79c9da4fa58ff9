/** The work queue: deduplication, one worker per key, requeue, retry and shutdown. */

import { describe, expect, test } from 'vitest';
import { fixedRandom } from '../../test/fixed-random.js';
import { ManualClock } from '../../test/manual-clock.js';
import { type ReconcileResult, WorkQueue, type WorkQueueOptions } from './work-queue.js';

function setUp(options: Partial<WorkQueueOptions<string>> & { results?: ReconcileResult[] } = {}) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const started: { key: string; atMs: number }[] = [];
  const finish: (() => void)[] = [];
  const { results = [], ...rest } = options;
  const queue = new WorkQueue({
    clock,
    signal: stop.signal,
    random: fixedRandom(0),
    reconcile: async (key) => {
      started.push({ key, atMs: clock.monotonic() });
      await new Promise<void>((resolve) => finish.push(resolve));
      const result = results.shift() ?? { kind: 'done' };
      if (result.kind === 'retry' && result.error === 'throw') throw new Error('thrown');
      return result;
    },
    ...rest,
  });
  const finishOne = async () => {
    finish.shift()!();
    await clock.advance(0);
  };
  return { clock, stop, started, queue, finishOne, finish };
}

describe('work queue', () => {
  test('a retry waits with waitBeforeRetry, a requeue by the clock', async () => {
    const waits: number[] = [];
    let proceed: () => void = () => {};
    const { queue, clock, started, finishOne } = setUp({
      results: [
        { kind: 'retry', error: new Error('away') },
        { kind: 'requeue', afterMs: 500 },
      ],
      waitBeforeRetry: (ms) => {
        waits.push(ms);
        return new Promise((resolve) => {
          proceed = resolve;
        });
      },
    });
    queue.add('a');
    await finishOne();
    await clock.advance(60_000);
    expect(started).toHaveLength(1);
    proceed();
    await clock.advance(0);
    expect(started).toHaveLength(2);
    await finishOne();
    await clock.advance(500);
    expect([started.length, waits]).toEqual([3, [100]]);
  });

  test('a key added many times while it is queued is reconciled once', async () => {
    const { queue, started, finishOne } = setUp();
    queue.add('busy');
    for (let i = 0; i < 10; i++) queue.add('a');
    await finishOne();
    await finishOne();
    expect(started.map(({ key }) => key)).toEqual(['busy', 'a']);
    expect(queue.size).toBe(0);
  });

  test('a key added while it is reconciled is reconciled once more, never concurrently', async () => {
    const { queue, started, finishOne } = setUp({ workers: 4 });
    queue.add('a');
    queue.add('a');
    queue.add('a');
    expect(started).toHaveLength(1);
    await finishOne();
    expect(started).toHaveLength(2);
    await finishOne();
    expect(started).toHaveLength(2);
  });

  test('keys with equal ids are one key', async () => {
    const clock = new ManualClock();
    const reconciled: string[] = [];
    const queue = new WorkQueue<{ kind: string; name: string }>({
      clock,
      random: fixedRandom(0),
      signal: new AbortController().signal,
      idOf: ({ kind, name }) => `${kind}/${name}`,
      reconcile: async ({ kind, name }) => {
        reconciled.push(`${kind} ${name}`);
        return { kind: 'done' };
      },
    });
    for (const kind of ['node', 'node', 'grants']) queue.add({ kind, name: 'a' });
    await clock.advance(0);

    expect(reconciled).toEqual(['node a', 'grants a', 'node a']);
  });

  test('as many keys are reconciled concurrently as there are workers', async () => {
    const { queue, started, finishOne } = setUp({ workers: 2 });
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect(started.map(({ key }) => key)).toEqual(['a', 'b']);
    await finishOne();
    expect(started.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  });

  test('failures back off, and a success resets the backoff', async () => {
    const retry: ReconcileResult = { kind: 'retry', error: 'throw' };
    const waits: number[] = [];
    const { clock, queue, finishOne } = setUp({
      results: [retry, retry, retry, { kind: 'done' }, retry],
      backoff: { initialMs: 100, maxMs: 350 },
      onRetry: (_key, _error, _failures, waitMs) => waits.push(waitMs),
    });
    queue.add('a');
    for (const waitMs of [100, 200, 350]) {
      await finishOne();
      await clock.advance(waitMs);
    }
    await finishOne();
    queue.add('a');
    await finishOne();
    expect(waits).toEqual([100, 200, 350, 100]);
  });

  test('a requeued key is reconciled once after its delay', async () => {
    const { clock, queue, started, finishOne } = setUp({ results: [{ kind: 'requeue', afterMs: 5000 }] });
    queue.add('a');
    await finishOne();
    await clock.advance(4999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started).toHaveLength(2);
  });

  test('of two delays the shorter one counts, and an add cancels both', async () => {
    const { clock, queue, started, finishOne } = setUp();
    queue.addAfter('a', 1000);
    queue.addAfter('a', 500);
    queue.addAfter('a', 2000);
    expect(clock.sleeping).toEqual([500]);
    queue.add('a');
    expect(clock.sleeping).toEqual([]);
    await finishOne();
    await clock.advance(5000);
    expect(started).toHaveLength(1);
  });

  test('stopping drops queued keys, lets the running reconcile end, and leaves no timer', async () => {
    const { clock, stop, queue, started, finishOne } = setUp();
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 1000);
    stop.abort();
    let stopped = false;
    void queue.stopped.then(() => {
      stopped = true;
    });
    await clock.advance(0);
    expect(stopped).toBe(false);
    await finishOne();
    expect(stopped).toBe(true);
    queue.add('d');
    expect(started.map(({ key }) => key)).toEqual(['a']);
    expect(clock.sleeping).toEqual([]);
  });
});

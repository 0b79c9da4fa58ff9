/** Waiting: what ends it, and what a failed wait reports. */
import { expect, test, vi } from 'vitest';
import { eventually } from './eventually.js';

test('asks again until the answer is not false, and returns it', async () => {
  const answers = [false as const, false as const, 'ready'];
  expect(await eventually('ready', () => answers.shift()!)).toBe('ready');
  expect(answers).toEqual([]);
});

test('an expect that fails is tried again', async () => {
  let count = 0;
  await eventually('three', () => expect(++count).toBe(3));
  expect(count).toBe(3);
});

test('what is hopeless fails at once, with the last error and what was seen', async () => {
  const asked = eventually('the node is ready', () => Promise.reject(new Error('connection refused')), {
    hopeless: () => 'the kubelet exited',
    seen: () => 'unknown flag: --x',
  });
  await expect(asked).rejects.toThrow(
    'will never come true: the node is ready: the kubelet exited\nlast error: Error: connection refused\nunknown flag: --x',
  );
});

test('what never comes true fails at the limit', async () => {
  vi.useFakeTimers();
  try {
    const asked = expect(eventually('war is over', () => false, { seen: () => ({ war: true }) })).rejects.toThrow(
      /^never came true: war is over\n\{\n "war": true/,
    );
    await vi.advanceTimersByTimeAsync(100_000);
    await asked;
  } finally {
    vi.useRealTimers();
  }
});

test('a state that lasts for an instant is seen where changes are reported', async () => {
  let state = 'before';
  let changed = () => {};
  const asked = eventually('between', () => state === 'between', {
    changes: (listener) => {
      changed = listener;
      return () => {};
    },
  });
  const seen = asked.then(() => state);
  await Promise.resolve();
  changed();
  state = 'between';
  changed();
  // The waiting code continues before the next timer.
  setImmediate(() => {
    state = 'after';
  });
  expect(await seen).toBe('between');
});

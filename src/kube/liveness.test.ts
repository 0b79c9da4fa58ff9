/** A server that stops answering is noticed in time, and said once; watches and reads do not wait on connections that nobody answers. */
import { expect, test } from 'vitest';
import { ManualClock } from '../../test/manual-clock.js';
import { ApiError } from '../api/status.js';
import { followLiveness, noticedMs, type Silence } from './liveness.js';
import { TimeoutError } from './requester.js';
import { ConnectionError } from './transport.js';

type Answer = 'answers' | 'hangs' | 'refuses' | 'forbids';

function setUp() {
  const clock = new ManualClock();
  const stop = new AbortController();
  const seen: string[] = [];
  const server: { now: Answer; answeredMs: number } = { now: 'answers', answeredMs: clock.monotonic() };
  const startMs = clock.now();
  const note = (what: string) => seen.push(`${Math.round((clock.now() - startMs) / 1000)} s: ${what}`);
  const text = ({ sinceMs, why }: Silence) => `since ${Math.round((sinceMs - startMs) / 1000)} s${why && `, ${why}`}`;
  const done = followLiveness(
    {
      clock,
      answeredMs: () => server.answeredMs,
      async probe(timeoutMs, signal) {
        if (server.now === 'hangs') {
          await clock.sleep(timeoutMs, signal);
          throw new TimeoutError('GET /version: no answer in 8000 ms');
        }
        if (server.now === 'refuses')
          throw new ConnectionError('GET /version', Object.assign(new Error(), { code: 'ECONNREFUSED' }));
        server.answeredMs = clock.monotonic();
        if (server.now === 'forbids') throw new ApiError(403, 'Forbidden', 'no');
      },
      lost: ({ message }) => note(`lost: ${message}`),
    },
    {
      signal: stop.signal,
      onSilent: (silence) => note(`silent ${text(silence)}`),
      onAnswer: (silence) => note(`answers, was silent ${text(silence)}`),
    },
  );
  return { clock, stop, done, seen, server };
}

test('a server that hangs is reported within 15 s, with the time of its last answer, and once', async () => {
  const { clock, seen, server } = setUp();
  await clock.advance(60_000);
  server.now = 'hangs';
  await clock.advance(120_000);
  expect(seen).toEqual(['72 s: lost: the API server does not answer', '72 s: silent since 60 s']);
  expect(noticedMs).toBeLessThan(15_000);
});

test('a server that answers again is reported with how long it was silent, and watches are not broken again', async () => {
  const { clock, seen, server } = setUp();
  server.now = 'hangs';
  await clock.advance(40_000);
  server.now = 'answers';
  await clock.advance(60_000);
  expect(seen.slice(2)).toEqual(['49 s: answers, was silent since 0 s']);
});

test('a refused connection is reported at the next probe, with the reason', async () => {
  const { clock, seen, server } = setUp();
  await clock.advance(8000);
  server.now = 'refuses';
  await clock.advance(4000);
  expect(seen.at(-1)).toBe(
    '12 s: silent since 8 s, GET /version: connection refused: nothing listens there, or it is still starting',
  );
});

test('a server that refuses the probe has answered', async () => {
  const { clock, seen, server } = setUp();
  server.now = 'forbids';
  await clock.advance(60_000);
  expect(seen).toEqual([]);
});

test('a server that answers other requests is not silent although the probe is late', async () => {
  const { clock, seen, server } = setUp();
  server.now = 'hangs';
  for (let second = 0; second < 60; second++) {
    await clock.advance(1000);
    server.answeredMs = clock.monotonic();
  }
  expect(seen).toEqual([]);
});

test('after the machine slept, watches are opened again although the server answers', async () => {
  const { clock, seen } = setUp();
  await clock.advance(9000);
  clock.jump(3_600_000);
  await clock.advance(4000);
  expect(seen.map((line) => line.replace(/^\d+ s: /, ''))).toEqual(['lost: this machine was suspended']);
});

test('it ends with its signal, and leaves no timer', async () => {
  const { clock, stop, done, server } = setUp();
  server.now = 'hangs';
  await clock.advance(6000);
  stop.abort();
  await done;
  expect(clock.sleeping).toEqual([]);
});

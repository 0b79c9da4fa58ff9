/** Access to a path by reviews of the API server. test/node-metrics.test.ts uses a real one. */
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../test/manual-clock.js';
import { PathAccess } from './access-review.js';

type Review = { spec: { token?: string; nonResourceAttributes?: object; groups?: string[] } };

/** Knows the tokens `reader` and `stranger`; only one of them may read. */
function reviewing(answer: (review: Review) => object) {
  const clock = new ManualClock();
  const asked: Review[] = [];
  const client = {
    create: async (_type: unknown, _place: unknown, review: object) => {
      asked.push(review as Review);
      return answer(review as Review) as never;
    },
  };
  return { clock, asked, access: new PathAccess({ client: () => client, clock }) };
}

const known = ({ spec }: Review) =>
  spec.token === undefined
    ? { status: { allowed: spec.groups?.includes('readers') } }
    : { status: { authenticated: spec.token !== 'wrong', user: { username: 'u', groups: [`${spec.token}s`] } } };

describe('access to a path', () => {
  test.each([
    [undefined, 401, 0],
    ['wrong', 401, 1],
    ['stranger', 403, 2],
    ['reader', 200, 2],
  ])('the token %s is answered %i, after %i reviews', async (token, answer, reviews) => {
    const { access, asked } = reviewing(known);
    expect(await access.check(token, '/metrics')).toBe(answer);
    expect(asked).toHaveLength(reviews);
    if (reviews === 2) expect(asked[1]!.spec.nonResourceAttributes).toEqual({ path: '/metrics', verb: 'get' });
  });

  test('an answer is cached, a denial for a shorter time, and by path', async () => {
    const { access, asked, clock } = reviewing(known);
    const ask = async () => [await access.check('reader', '/metrics'), await access.check('stranger', '/metrics')];
    expect([await ask(), await ask()]).toEqual([
      [200, 403],
      [200, 403],
    ]);
    expect(asked).toHaveLength(4);
    await clock.advance(11_000);
    await ask();
    expect(asked).toHaveLength(6);
    await clock.advance(50_000);
    await access.check('reader', '/metrics');
    expect(asked).toHaveLength(8);
    await access.check('reader', '/other');
    expect(asked).toHaveLength(10);
  });

  test('tokens without end do not fill the memory: the oldest denial is dropped, never the token that was allowed', async () => {
    const { access, asked, clock } = reviewing(known);
    await access.check('reader', '/metrics');
    for (let n = 0; n < 110; n++) {
      await access.check(`stranger-${n}`, '/metrics');
      await clock.advance(50);
    }
    asked.length = 0;
    expect(await access.check('reader', '/metrics')).toBe(200);
    expect(asked).toHaveLength(0);
  });

  test('a thousand unknown tokens are 20 reviews and then one a second; a scraper that was allowed is served meanwhile', async () => {
    const { access, asked, clock } = reviewing(known);
    await access.check('reader', '/metrics');
    asked.length = 0;
    const flood = async (count: number) => {
      const answers = new Map<number, number>();
      for (let n = 0; n < count; n++) {
        const answer = await access.check(`wrong`.padEnd(6 + n, '!'), '/metrics');
        answers.set(answer, (answers.get(answer) ?? 0) + 1);
      }
      return Object.fromEntries(answers);
    };
    expect(await flood(1000)).toEqual({ 403: 19, 429: 981 });
    expect(asked).toHaveLength(19 * 2);
    await clock.advance(3000);
    expect(await flood(1000)).toEqual({ 403: 22, 429: 978 });
    await clock.advance(58_000);
    await flood(1000);
    asked.length = 0;
    expect(await access.check('reader', '/metrics')).toBe(200);
    expect(asked).toHaveLength(2);
  });

  test('while the API server cannot be asked nobody is let in, and it is asked again at the next request', async () => {
    let isDown = true;
    const { access } = reviewing((review) => {
      if (isDown) throw new Error('connection refused');
      return known(review);
    });
    expect(await access.check('reader', '/metrics')).toBe(503);
    isDown = false;
    expect(await access.check('reader', '/metrics')).toBe(200);
    expect(await new PathAccess({ client: () => undefined, clock: new ManualClock() }).check('reader', '/')).toBe(503);
  });
});

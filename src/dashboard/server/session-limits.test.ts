/** Which sessions end when another begins. */
import { expect, test } from 'vitest';
import { sessionsToEnd } from './session-limits.js';

const nothing = {
  seeFleet: false,
  seeSets: false,
  seeConfigs: false,
  steerSets: false,
  changeSets: false,
  createSets: false,
  changeNodes: false,
};
const session = (owner: string, usedMs: number, { tabs = 0, rights = true } = {}) => ({
  owner,
  usedMs,
  may: { ...nothing, seeFleet: rights },
  streams: { size: tabs },
});

test('a full server ends logins without rights first, then what nobody looks at, then the oldest', () => {
  const people = Array.from({ length: 97 }, (_, at) => session(`person-${at}`, 1000 + at, { tabs: 1 }));
  const idle = session('idle', 5000);
  const powerless = session('pod', 9000, { rights: false, tabs: 1 });
  const present = [...people, idle, powerless];
  const ended = (others: typeof present) =>
    sessionsToEnd(others, session('new', 9999)).map(({ session: { owner }, why }) => [owner, why.reason]);
  expect(ended(present)).toEqual([]);
  expect(ended([...present, session('one-more', 1)])).toEqual([['pod', 'SessionReplaced']]);
  const full = [...people, idle, ...people.slice(0, 2).map((one) => ({ ...one, owner: 'x' }))];
  expect(ended(full)).toEqual([['idle', 'SessionReplaced']]);
  const busy = Array.from({ length: 100 }, (_, at) => session(`person-${at}`, 1000 + at, { tabs: 1 }));
  expect(ended(busy)).toEqual([['person-0', 'SessionReplaced']]);
});

test('a person keeps the five newest sessions', () => {
  const own = [5, 3, 4, 1, 2].map((usedMs) => session('ann', usedMs));
  const [ended, ...others] = sessionsToEnd([...own, session('bob', 0)], session('ann', 9));
  expect(ended).toMatchObject({ session: { owner: 'ann', usedMs: 1 }, why: { reason: 'SessionReplaced' } });
  expect(others).toEqual([]);
});

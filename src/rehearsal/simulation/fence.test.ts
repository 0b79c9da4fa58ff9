/** A process that is down has no effect any more. */
import { describe, expect, test } from 'vitest';
import { SimulatedDisk } from './disk.js';
import { Crashed, Fence, fencedClock, fencedFiles } from './fence.js';
import { VirtualClock } from './virtual-clock.js';

describe('a fence', () => {
  test('lets nothing of a crashed process take effect', async () => {
    const fence = new Fence();
    const clock = new VirtualClock();
    const disk = new SimulatedDisk();
    const files = fencedFiles(disk, fence);
    let isDone = false;
    void fencedClock(clock, fence)
      .sleep(10)
      .then(() => (isDone = true));
    fence.down();
    await clock.advance(100);
    expect(isDone).toBe(false);
    expect(() => files.makeDir('/dir', 0o700)).toThrow(Crashed);
    expect(disk.list('/')).toEqual([]);
  });

  test.each([
    [0, []],
    [1, ['a']],
    [2, ['a']],
    [3, ['a', 'b']],
  ])('crashes before or after an effect: after %i half steps there is %j', (halfSteps, expected) => {
    const fence = new Fence();
    const disk = new SimulatedDisk();
    const files = fencedFiles(disk, fence);
    fence.crashIn(halfSteps);
    expect(() => {
      files.makeDir('/a', 0o700);
      files.makeDir('/b', 0o700);
    }).toThrow(Crashed);
    expect(disk.list('/')).toEqual(expected);
    expect(fence.isDown).toBe(true);
  });
});

describe('a process that is stopped', () => {
  test('gets nothing until it continues, and then does what it was about to do', async () => {
    const fence = new Fence();
    const clock = new VirtualClock();
    const events: string[] = [];
    fence.pauseIn(2, () => fence.pause(), 'PATCH');
    const send = (what: string) => fence.stepLater(async () => void events.push(what), what);
    void fencedClock(clock, fence)
      .sleep(1000)
      .then(() => events.push('woken'));
    await send('GET a');
    await send('PATCH a');
    void send('PATCH b');
    await clock.advance(5000);
    expect(events).toEqual(['GET a', 'PATCH a']);
    fence.resume();
    await clock.settle();
    expect(events).toEqual(['GET a', 'PATCH a', 'PATCH b', 'woken']);
  });

  test('can be killed', async () => {
    const fence = new Fence();
    const clock = new VirtualClock();
    let isWoken = false;
    fence.pause();
    void fencedClock(clock, fence)
      .sleep(1000)
      .then(() => (isWoken = true));
    await clock.advance(2000);
    fence.down();
    fence.resume();
    await clock.settle();
    expect(isWoken).toBe(false);
  });
});

describe('virtual time', () => {
  test('wakes sleepers in the order of their time, and lets everything happen in between', async () => {
    const clock = new VirtualClock();
    const woken: string[] = [];
    const sleeper = async (name: string, ...times: number[]) => {
      for (const ms of times) {
        await clock.sleep(ms);
        woken.push(`${name} ${clock.monotonic()}`);
      }
    };
    void sleeper('a', 10, 10, 10);
    void sleeper('b', 15, 10);
    await clock.advance(30);
    expect(woken).toEqual(['a 10', 'b 15', 'a 20', 'b 25', 'a 30']);
  });

  test('forgets thousands of time limits that were not needed', async () => {
    const clock = new VirtualClock();
    for (let count = 0; count < 2000; count++) {
      const over = new AbortController();
      clock.sleep(1000, over.signal).catch(() => {});
      over.abort();
    }
    const late = clock.sleep(2000);
    await clock.advance(2000);
    await late;
    expect(clock.sleeping).toEqual([]);
  });
});

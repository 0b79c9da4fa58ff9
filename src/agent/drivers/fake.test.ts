/** The fake driver passes the contract, and behaves as it is scripted. */
import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/eventually.js';
import { ManualClock } from '../../../test/manual-clock.js';
import { type Conduct, type DriverRig, testDriver } from '../../../test/rig/driver-contract.js';
import { type Behaviour, FakeDriver, FakeMachine } from './fake.js';

const behaviours: Record<Conduct, Behaviour> = {
  runs: {},
  'exits with 3': { exits: { afterMs: 0, code: 3 }, log: ['Error: it exits with 3'] },
  'ignores a stop': { ignoresStop: true },
};

async function createRig(): Promise<DriverRig> {
  const clock = new ManualClock();
  const machine = new FakeMachine({ clock });
  machine.behaviour = ({ file }) => ({ ...behaviours[(file ?? 'runs') as Conduct] });
  const stopGraceMs = 1000;
  // Sleeps of 0 ms end without a test that moves the clock.
  clock.sleep = (
    (sleep) => (ms, signal) =>
      ms === 0 ? Promise.resolve() : sleep(ms, signal)
  )(clock.sleep.bind(clock));
  return {
    driver: new FakeDriver({ machine, stopGraceMs }),
    restartedDriver: async () => new FakeDriver({ machine, stopGraceMs }),
    config: (conduct) => ({ source: undefined, file: conduct }),
    running: () => (machine.running ? [machine.running.config.file] : []),
    until: (satisfied) => eventually('as expected', satisfied),
    kill: (signal) => machine.kill(signal),
    port: { host: '127.0.0.1', port: 10248 },
    replaceBinary: (version) => machine.replaceBinary(version),
    removeBinary: () => machine.removeBinary(),
    passGracePeriod: () => clock.advance(stopGraceMs),
  };
}

testDriver('fake', createRig);

describe('a kubelet that an earlier agent left running, as in a unit of its own', () => {
  const config = (file: string) => ({ source: undefined, file });

  test.each([
    ['is adopted if it has the config', 'one', ['one']],
    ['is restarted if it has another', 'two', ['one', 'two']],
  ])('%s', async (_name, next, starts) => {
    const machine = new FakeMachine({ clock: new ManualClock() });
    void new FakeDriver({ machine, adopts: true }).start(config('one'));
    const driver = new FakeDriver({ machine, adopts: true });
    await driver.recover();
    void driver.start(config(next));
    expect(machine.started.map(({ file }) => file)).toEqual(starts);
    expect(machine.running?.config.file).toBe(next);
    expect(() => driver.start(config('three'))).toThrow('one is running');
  });
});

describe('a scripted kubelet', () => {
  const setUp = (behaviour: Behaviour) => {
    const clock = new ManualClock();
    const machine = new FakeMachine({ clock, behaviour: () => behaviour });
    return { clock, machine, driver: new FakeDriver({ machine }) };
  };
  const local = { source: undefined, file: undefined };

  test('becomes healthy after its time', async () => {
    const { clock, machine, driver } = setUp({ healthyAfterMs: 500 });
    void driver.start(local);
    await clock.advance(499);
    expect(machine.isHealthy).toBe(false);
    await clock.advance(1);
    expect(machine.isHealthy).toBe(true);
  });

  test('exits after its time', async () => {
    const { clock, machine, driver } = setUp({ exits: { afterMs: 500, signal: 'SIGSEGV' } });
    const exit = driver.start(local);
    await clock.advance(499);
    expect(machine.running).toBeDefined();
    await clock.advance(1);
    expect(await exit).toEqual({ code: null, signal: 'SIGSEGV', requested: false });
  });

  test('does not have a port that is taken', async () => {
    const { driver } = setUp({ portsTakenBy: 'pid 9' });
    void driver.start(local);
    expect(await driver.portOwners([{ host: '0.0.0.0', port: 10250 }])).toEqual([{ other: 'pid 9' }]);
  });

  test('ends with its machine', async () => {
    const { machine, driver } = setUp({});
    const exit = driver.start(local);
    const before = driver.bootId();
    machine.reboot();
    expect(await exit).toEqual({ code: null, signal: 'SIGKILL', requested: false });
    expect(driver.bootId()).not.toBe(before);
  });
});

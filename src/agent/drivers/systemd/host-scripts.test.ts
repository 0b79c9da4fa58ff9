/** The script on the host, run by the shell, with a systemctl that only writes down what it is asked to do. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { hostLayout } from './host-layout.js';
import { hostScript, unitText } from './host-scripts.js';
import { type ExitRecord, OwnFiles } from './own-files.js';
import type { DropInKind } from './unit-text.js';

const layout = hostLayout({ unit: 'kubelet.service', dir: '/var/lib/relet' });
const second = 1_000_000;

function setUp() {
  const root = temporaryDir();
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), 0o755);
  };
  put('script', hostScript(layout));
  mkdirSync(join(root, 'run/systemd/system'), { recursive: true });
  put('bin/journalctl', '#!/bin/sh\ncase "$*" in *--sync*) ;; *) echo "Error: no such runtime" ;; esac\n');
  put(
    'bin/systemctl',
    `#!/bin/sh\ncase $1 in show) eval "echo \\"\\$$4\\"" ;; *) echo "$*" >>'${root}/calls'; : >'${root}/run/relet/reloaded' ;; esac\n`,
  );
  const own = new OwnFiles(layout, root);
  const properties = { ActiveState: 'active', InvocationID: 'now', ExecMainStartTimestampMonotonic: '0' };
  const run = (words: string[], env: Record<string, string> = {}) => {
    rmSync(join(root, 'calls'), { force: true });
    const PATH = `${join(root, 'bin')}:${process.env.PATH}`;
    const result = spawnSync('sh', [join(root, 'script'), ...words], {
      env: { ...properties, ...env, PATH, RELET_ROOT: root },
      encoding: 'utf8',
    });
    expect({ status: result.status, stderr: result.stderr }).toEqual({ status: 0, stderr: '' });
    return calls();
  };
  const calls = () => {
    try {
      return readFileSync(join(root, 'calls'), 'utf8').trim().split('\n');
    } catch {
      return [];
    }
  };
  let invocations = 0;
  /** The kubelet exits after so many seconds. */
  const exit = (kind: DropInKind, how: string, { seconds = 1, id = '' } = {}) => {
    const [SERVICE_RESULT = '', EXIT_CODE = '', EXIT_STATUS = ''] = how.split(' ');
    const INVOCATION_ID = id || (++invocations).toString(16).padStart(32, '0');
    const ended = { ExecMainExitTimestampMonotonic: String(seconds * second + invocations) };
    return run(['exited', kind, 'c0ffee', '3', '60'], {
      SERVICE_RESULT,
      EXIT_CODE,
      EXIT_STATUS,
      INVOCATION_ID,
      ...ended,
    });
  };
  const dropIn = (kind: DropInKind) => own.writeDropIn(kind, '# relet: config=c0ffee base=b\n[Service]\n');
  return { own, run, exit, dropIn, put, root };
}

const rollback = 'start --no-block relet-rollback@trial.service';
const crash = 'exit-code exited 1';

describe('exits of a kubelet', () => {
  test('the third crash on trial starts the rollback, and each is recorded with its log', () => {
    const { own, exit, dropIn } = setUp();
    dropIn('trial');
    expect([exit('trial', crash), exit('trial', crash)]).toEqual([[], []]);
    expect(exit('trial', 'core-dump dumped SEGV')).toEqual([rollback]);
    const records = own.exits();
    expect(records.map(({ code, status, rolledBack }) => [code, status, rolledBack])).toEqual([
      ['exited', '1', false],
      ['exited', '1', false],
      ['dumped', 'SEGV', true],
    ]);
    expect(own.logOf(records[0]!.invocation)).toBe('Error: no such runtime\n');
  });

  test('systemd does not start the kubelet again before the rollback has made it read the other command', () => {
    const { exit, dropIn, put, root } = setUp();
    dropIn('trial');
    const slowly = `(sleep 0.3; : >'${root}/run/relet/reloaded') >/dev/null 2>&1 &`;
    put('bin/systemctl', `#!/bin/sh\ncase $1 in show) echo 0 ;; start) ${slowly} ;; esac\n`);
    for (let at = 0; at < 3; at++) exit('trial', crash);
    expect(existsSync(join(root, 'run/relet/reloaded'))).toBe(true);
  });

  test.each([
    ['an operator’s stop or restart', 'success exited 0'],
    ['a stop that the kubelet did not handle', 'success killed TERM'],
    ['a kill from outside', 'signal killed KILL'],
  ])('%s does not count', (_name, how) => {
    const { exit, dropIn } = setUp();
    dropIn('trial');
    for (let at = 0; at < 3; at++) expect(exit('trial', how)).toEqual([]);
  });

  test.each(['timeout killed KILL', 'watchdog killed ABRT', 'oom-kill killed KILL', 'signal killed SEGV'])(
    '%s counts',
    (how) => {
      const { exit, dropIn } = setUp();
      dropIn('trial');
      exit('trial', how);
      exit('trial', how);
      expect(exit('trial', how)).toEqual([rollback]);
    },
  );

  test('a run that lasted starts the count again', () => {
    const { exit, dropIn } = setUp();
    dropIn('trial');
    exit('trial', crash);
    exit('trial', crash);
    expect(exit('trial', crash, { seconds: 61 })).toEqual([]);
    expect(exit('trial', crash)).toEqual([]);
    expect(exit('trial', crash)).toEqual([rollback]);
  });

  test('the kubelet that ran before the trial was staged does not count against it', () => {
    const { own, exit, dropIn } = setUp();
    dropIn('trial');
    own.setMark('before', 'a'.repeat(32));
    for (let at = 0; at < 4; at++) expect(exit('trial', crash, { id: 'a'.repeat(32) })).toEqual([]);
    expect(own.exits()).toEqual([]);
  });

  test('under a trial, what was kept is not counted', () => {
    const { exit, dropIn } = setUp();
    dropIn('good');
    dropIn('trial');
    for (let at = 0; at < 4; at++) expect(exit('good', crash)).toEqual([]);
  });

  test('a kept config that keeps crashing falls back to local, which returns to it; then nothing more happens', () => {
    const { own, run, exit, dropIn, put } = setUp();
    dropIn('good');
    put(layout.fallbackText, '# relet: config=local base=b\n');
    const crashThrice = (kind: DropInKind) => [exit(kind, crash), exit(kind, crash), exit(kind, crash)].flat();
    expect(crashThrice('good')).toEqual(['start --no-block relet-fallback-to-local.service']);
    const restarts = ['daemon-reload', 'reset-failed kubelet.service', 'restart --no-block kubelet.service'];
    expect(run(['fallback'])).toEqual(restarts);
    expect(own.dropIn('fallback')).toBeUndefined();
    expect(own.mark('fell-back')).toBe('c0ffee');
    expect(crashThrice('fallback')).toEqual(['start --no-block relet-return-to-good.service']);
    expect(run(['return-to-good'])).toEqual(restarts);
    expect(crashThrice('good')).toEqual([]);
    expect(run(['fallback'])).toEqual([]);
    // Nothing for an agent to blame.
    expect(own.exits()).toEqual([]);
  });

  test('only the newest records are kept', () => {
    const { own, exit, dropIn, put } = setUp();
    dropIn('trial');
    const earlier = Array.from({ length: 50 }, (_none, at) => (at + 100).toString(16).padStart(32, '0'));
    for (const id of earlier) put(`${layout.exitsDir}/${id}`, 'kind=trial\nconfig=x\nrolledBack=no\n');
    exit('trial', crash);
    // 40 files, and each exit has two.
    expect(own.exits()).toHaveLength(39);
    expect(own.exits().some(({ config }) => config === 'c0ffee')).toBe(true);
  });
});

describe('a rollback', () => {
  const restarts = ['daemon-reload', 'reset-failed kubelet.service', 'restart --no-block kubelet.service'];
  const stopTimer = 'stop --no-block relet-deadline.timer';

  test.each([
    ['crash', 'crash'],
    ['agent', 'agent'],
    [undefined, 'deadline'],
  ])('removes the trial and shows why: %s', (why, expected) => {
    const { own, run, dropIn } = setUp();
    dropIn('trial');
    own.setMark('why', why);
    expect(run(['rollback'])).toEqual([stopTimer, ...restarts]);
    expect(own.mark('rolled-back')).toBe(`c0ffee ${expected}`);
    expect(run(['rollback'])).toEqual([]);
  });

  test('does not start a unit that an operator has stopped', () => {
    const { run, dropIn } = setUp();
    dropIn('trial');
    expect(run(['rollback'], { ActiveState: 'inactive' })).toEqual([stopTimer, 'daemon-reload']);
  });

  test('does not restart a kubelet that still runs what it ran before the trial', () => {
    const { own, run, dropIn } = setUp();
    dropIn('trial');
    own.setMark('before', 'now');
    expect(run(['rollback'])).toEqual([stopTimer, 'daemon-reload']);
  });
});

describe('limits of cgroups', () => {
  const memory = 'sys/fs/cgroup/system.slice/memory.max';
  const property = 'run/systemd/system.control/system.slice.d/50-MemoryMax.conf';
  const weight = 'run/systemd/system.control/user.slice.d/50-CPUWeight.conf';

  function strangled() {
    const rig = setUp();
    const { put, run, dropIn, root } = rig;
    dropIn('trial');
    put(memory, 'max\n');
    put('sys/fs/cgroup/kubepods.slice/memory.max', 'max\n');
    put(weight, '[Slice]\nCPUWeight=100\n');
    expect(run(['begin'])).toEqual([]);
    put(memory, '100663296\n');
    put('sys/fs/cgroup/kubepods.slice/memory.max', '1\n');
    put(property, '[Slice]\nMemoryMax=100663296\n');
    put(weight, '[Slice]\nCPUWeight=1\n');
    return { ...rig, text: (path: string) => readFileSync(join(root, path), 'utf8') };
  }

  test('that the kubelet of a failed config set are put back, in cgroups and in systemd, and those of pods are left to the next kubelet', () => {
    const { run, own, text } = strangled();
    run(['rollback']);
    expect(text(memory)).toBe('max\n');
    expect(text(weight)).toBe('[Slice]\nCPUWeight=100\n');
    expect(() => text(property)).toThrow('ENOENT');
    expect(text('sys/fs/cgroup/kubepods.slice/memory.max')).toBe('1\n');
    expect(own.mark('limits-after')).toBe('put-back system.slice/memory.max 100663296 max');
  });

  test('are noted once for a trial, however often its kubelet crashes', () => {
    const { run, text } = strangled();
    run(['begin']);
    run(['rollback']);
    expect(text(memory)).toBe('max\n');
  });

  test('of a cgroup that is gone are not an error', () => {
    const { run, root, own } = strangled();
    rmSync(join(root, 'sys/fs/cgroup/system.slice'), { recursive: true });
    run(['rollback']);
    expect(own.mark('limits-after')).toBe('');
  });
});

describe('the deadline of a staged trial', () => {
  const times = {
    InactiveExitTimestampMonotonic: String(70 * second),
    UserspaceTimestampMonotonic: String(10 * second),
  };

  test('is armed when the trial starts, counted from the start of systemd', () => {
    const { run, root } = setUp();
    expect(run(['arm', '90'], times)).toEqual(['start --no-block relet-deadline.timer']);
    const timer = readFileSync(join(root, layout.units.deadline), 'utf8');
    expect(timer).toContain('\nOnStartupSec=150000ms\nAccuracySec=100ms\nUnit=relet-rollback@trial.service\n');
  });

  test('is not armed again, nor after the kubelet was healthy once', () => {
    const { own, run } = setUp();
    run(['arm', '90'], times);
    expect(run(['arm', '90'], times)).toEqual([]);
    own.removeUnit('deadline');
    own.setMark('confirmed', 'c0ffee');
    expect(run(['arm', '90'], times)).toEqual([]);
  });
});

test('units run the script with its verb, outside of slices that a kubelet may limit', () => {
  const text = unitText(layout, 'rollback');
  expect(text).toContain('\nExecStart=/bin/sh /var/lib/relet/host.sh rollback\n');
  expect(text).toContain('\nSlice=-.slice\nOOMScoreAdjust=-999\n');
});

test.each<[string, string]>([
  ['kubelet.service', '/var/lib/re let'],
  ['kubelet.service', '/var/lib/$(reboot)'],
  ['kubelet', '/var/lib/relet'],
  ['a b.service', '/var/lib/relet'],
  ['$(reboot).service', '/var/lib/relet'],
])('a unit %j or directory %j that a shell would read otherwise is an error', (unit, dir) => {
  expect(() => hostLayout({ unit, dir })).toThrow();
});

test('a record of an exit that is not complete is none', () => {
  const { own, put } = setUp();
  put(`${layout.exitsDir}/${'a'.repeat(32)}`, 'kind=trial\n');
  put(`${layout.exitsDir}/${'b'.repeat(32)}.123`, 'kind=trial\nconfig=x\nrolledBack=no\n');
  expect(own.exits()).toEqual([] satisfies ExitRecord[]);
});

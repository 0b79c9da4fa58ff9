/** The script on the host of an embedded kubelet, run by the shell, with a systemctl that only writes down what it is asked to do. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { configFile, type Embedding, hostLayout } from './host-layout.js';
import { hostScript } from './host-scripts.js';

const configDir = '/var/lib/rancher/k3s/agent/etc/kubelet.conf.d';
const config = 'c0ffee'.padEnd(64, '0');
const header = `# relet: config=${config} base=0000000000000000\n# relet: deadline=90\n`;
const rollback = 'start --no-block relet-rollback@trial.service';

function setUp(program: Embedding['program'] = 'k3s') {
  const root = temporaryDir();
  const layout = hostLayout({ unit: `${program}.service`, dir: '/var/lib/relet', embedding: { program, configDir } });
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), 0o755);
  };
  const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined);
  const remove = (path: string) => rmSync(join(root, path), { recursive: true });
  put('script', hostScript(layout));
  put(configFile(layout, config), 'maxPods: 50\n');
  put(`${configDir}/00-k3s-defaults.conf`, '');
  put('journal', '"Kubelet version" kubeletVersion="v1.36.4+k3s1"\n');
  put('bin/journalctl', `#!/bin/sh\ncase "$*" in *--sync*) ;; *) cat '${root}/journal' ;; esac\n`);
  put(
    'bin/systemctl',
    `#!/bin/sh\ncase $1 in show) eval "echo \\"\\$$4\\"" ;; list-jobs) cat '${root}/jobs' 2>/dev/null ;; *) echo "$*" >>'${root}/calls'; : >'${root}/run/relet/reloaded' ;; esac\n`,
  );
  const uptime = (seconds: number) => put('proc/uptime', `${seconds}.42 1.00\n`);
  uptime(1000);
  const run = (words: string[], env: Record<string, string> = {}, complaint = /^$/) => {
    rmSync(join(root, 'calls'), { force: true });
    const PATH = `${join(root, 'bin')}:${process.env.PATH}`;
    const properties = { ActiveState: 'active', InvocationID: 'now', ExecMainStartTimestampMonotonic: '0' };
    const all = { ...properties, ...env, PATH, RELET_ROOT: root };
    const { status, stderr } = spawnSync('sh', [join(root, 'script'), ...words], { env: all, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringMatching(complaint) });
    return read('calls')?.trim().split('\n') ?? [];
  };
  let invocations = 0;
  const begin = (complaint = /^$/) => run(['begin'], { INVOCATION_ID: String(++invocations) }, complaint);
  const exit = (how = 'success exited 0') => {
    const [SERVICE_RESULT = '', EXIT_CODE = '', EXIT_STATUS = ''] = how.split(' ');
    const env = { SERVICE_RESULT, EXIT_CODE, EXIT_STATUS, INVOCATION_ID: String(invocations) };
    return run(['exited', '3', '60'], { ...env, ExecMainExitTimestampMonotonic: '1000000' });
  };
  const crash = (times: number, how?: string) =>
    Array.from({ length: times }, () => {
      begin();
      return exit(how);
    });
  return {
    layout,
    put,
    read,
    remove,
    run,
    begin,
    exit,
    crash,
    uptime,
    installed: () => read(`${configDir}/zz-relet.conf`),
  };
}

describe('before a start of an embedded kubelet', () => {
  test('what is on trial is installed, else what is kept, else nothing; the deadline begins with a trial', () => {
    const { layout, put, read, begin, installed } = setUp();
    begin();
    expect([installed(), read('run/relet/started')]).toEqual([undefined, 'local local 1 1000\n']);
    put(layout.dropIn.good, header.replaceAll('c0ffee', 'f00d00'));
    put(configFile(layout, config.replace('c0ffee', 'f00d00')), 'maxPods: 40\n');
    expect(begin()).toEqual([]);
    expect(installed()).toContain('maxPods: 40');
    put(layout.dropIn.trial, header);
    expect(begin()).toEqual(['start --no-block relet-deadline.timer']);
    expect(installed()).toBe(`${header.split('\n')[0]}\nmaxPods: 50\n`);
    expect(read('run/relet/started')).toBe(`trial ${config} 3 1000\n`);
  });

  test('a config that cannot be installed leaves the local one, and that is recorded', () => {
    const { layout, put, read, remove, begin, installed } = setUp();
    put(layout.dropIn.trial, header);
    remove(dirname(configDir));
    begin(/zz-relet/);
    expect(installed()).toBeUndefined();
    expect(read('run/relet/started')).toBe(`failed ${config} 1 1000\n`);
  });
});

describe('exits of k3s', () => {
  test('the third exit by itself starts the rollback, also with exit code 0', () => {
    const { layout, put, crash } = setUp();
    put(layout.dropIn.trial, header);
    expect(crash(3)).toEqual([[], [], [rollback]]);
    expect(crash(1, 'exit-code exited 1')).toEqual([[]]);
  });

  test.each(['restart', 'stop'])('a %s that somebody ordered does not count', (job) => {
    const { layout, put, crash } = setUp();
    put(layout.dropIn.trial, header);
    put('jobs', `4711 k3s.service ${job} running\n`);
    expect(crash(3)).toEqual([[], [], []]);
  });

  test('an exit before the kubelet was started is not one of the kubelet', () => {
    const { layout, put, crash } = setUp();
    put(layout.dropIn.trial, header);
    put('journal', 'level=info msg="Waiting to retrieve agent configuration"\n');
    expect(crash(4, 'exit-code exited 1')).toEqual([[], [], [], []]);
  });

  test('with the local config nothing is counted', () => {
    expect(setUp().crash(4)).toEqual([[], [], [], []]);
  });

  test('after the trial was passed, exits are those of the kept config', () => {
    const { layout, put, remove, read, begin, exit } = setUp();
    put(layout.dropIn.trial, header);
    begin();
    remove(layout.dropIn.trial);
    put(layout.dropIn.good, header);
    exit();
    expect(read('run/relet/count')).toBe(`good ${config} 1\n`);
  });
});

describe('the deadline of a trial', () => {
  test('passes only for a kubelet that was started, and not once it was healthy', () => {
    const { layout, put, read, remove, run, begin, uptime } = setUp('rke2');
    put(layout.dropIn.trial, header);
    put('journal', '');
    begin();
    uptime(1090);
    expect(run(['rollback'])).toEqual([]);
    expect(read('run/relet/started')).toBe(`trial ${config} 1 1090\n`);
    put('journal', 'msg="Running kubelet --config-dir=/a"\n');
    uptime(1179);
    expect(run(['rollback'])).toEqual([]);
    uptime(1180);
    put('run/relet/confirmed', config);
    expect(run(['rollback'])).toEqual([]);
    remove('run/relet/confirmed');
    expect(run(['rollback'])).toContain('restart --no-block rke2.service');
    expect(read(layout.dropIn.trial)).toBeUndefined();
    expect(read('run/relet/rolled-back')).toBe(`${config} deadline\n`);
  });
});

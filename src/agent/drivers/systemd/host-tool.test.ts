/** The script for people on the host, run by the shell, with programs that only write down what they are asked to do. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { silentLog } from '../../../log.js';
import { acceptsUnsigned } from '../../signing-record.js';
import { NodeState } from '../../state/node-state.js';
import { hostLayout, lockPath } from './host-layout.js';
import { OwnFiles } from './own-files.js';

const layout = hostLayout({ unit: 'kubelet.service', dir: '/var/lib/relet' });
const good = '# relet: config=c0ffee base=b\n[Service]\n';

function setUp() {
  const root = temporaryDir();
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), 0o755);
  };
  const note = `echo "\${0##*/} $*" >>'${root}/calls'`;
  put('bin/systemctl', `#!/bin/sh\ncase $1 in show) eval "echo \\"\\$$4\\"" ;; *) ${note} ;; esac\n`);
  put('bin/nsenter', `#!/bin/sh\n${note}\n`);
  const own = new OwnFiles(layout, root);
  own.writeTool();
  own.writeScript();
  const run = (...words: string[]) => {
    const env = {
      PATH: `${join(root, 'bin')}:${process.env.PATH}`,
      RELET_ROOT: root,
      ActiveState: 'active',
      SubState: 'running',
      InvocationID: 'now',
    };
    const { status, stdout, stderr } = spawnSync('sh', [join(root, layout.tool), ...words], { env, encoding: 'utf8' });
    return { status, stdout, stderr, calls: read('calls').split('\n').slice(0, -1) };
  };
  const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '');
  return { root, own, put, run, read };
}

describe('the relet of a host', () => {
  test('is that of the agent, wherever it runs', () => {
    const { put, root, run } = setUp();
    put(
      'proc/net/unix',
      `Num RefCount Protocol Flags Type St Inode Path\n0: 00000002 00000000 00010000 0001 01 4710 ${lockPath}\n0: 00000002 00000000 00010000 0001 01 4711 ${lockPath}\n`,
    );
    mkdirSync(join(root, `proc/${process.pid}/fd`), { recursive: true });
    symlinkSync('socket:[4711]', join(root, `proc/${process.pid}/fd/20`));
    const { status, calls } = run('node', 'hold', '--why', 'a b');
    expect(status).toBe(0);
    expect(calls[0]).toMatch(
      new RegExp(`^nsenter -t ${process.pid} -m -p -r -w -- ${process.execPath} .*node hold --why a b$`),
    );
  });

  test('shows without an agent what the next start runs', () => {
    const { own, run } = setUp();
    own.writeDropIn('good', good);
    const { stdout } = run('node', 'status');
    expect(stdout).toContain('kubelet:         kubelet.service is active (running)\n');
    expect(stdout).toMatch(/^next start: +.*\/var\/lib\/relet\/configs\/c0ffee\/kubelet.yaml$/m);
  });

  test('restarts the kubelet with its local config without an agent, and asks the next one to leave it there', () => {
    const { own, run, read } = setUp();
    own.writeDropIn('good', good);
    own.writeDropIn('trial', good);
    own.writeFallback('[Service]\n');
    const { status, calls } = run('node', 'use-local');
    expect(status).toBe(0);
    expect(calls).toContain('systemctl restart --no-block kubelet.service');
    expect(own.dropIn('trial')).toBeUndefined();
    expect(read(layout.dropIn.fallback)).toBe('[Service]\n');
    expect(JSON.parse(read('var/lib/relet/meta/request'))).toEqual({ verb: 'use-local' });
  });

  test.each([
    ['--for', '1h', '--reason', 'the "safe" is C:\\closed,\nincident 4711'],
    ['--reason=the "safe" is C:\\closed,incident 4711', '--for=60m'],
  ])('accepts unsigned configs from the moment of the request on: %s', (...flags) => {
    const { root, run } = setUp();
    const before = Math.floor(Date.now() / 1000);
    expect(run('node', 'accept-unsigned', ...flags)).toMatchObject({ status: 0, calls: [] });
    const state = new NodeState(join(root, layout.dir), silentLog);
    const record = acceptsUnsigned(state, Math.floor(Date.now() / 1000))!;
    expect(record).toMatchObject({ until: record.since + 3600, why: 'the "safe" is C:\\closed,incident 4711' });
    expect(record.since).toBeGreaterThanOrEqual(before);
    expect(acceptsUnsigned(state, record.until)).toBeUndefined();
    expect(run('node', 'accept-unsigned', '--for', '0s', '--reason', 'over').status).toBe(0);
    expect(acceptsUnsigned(new NodeState(join(root, layout.dir), silentLog), record.since + 1)).toBeUndefined();
  });

  test.each([
    [['--for', '25h', '--reason', 'x']],
    [['--for', '1d', '--reason', 'x']],
    [['--for', '-1h', '--reason', 'x']],
    [['--for', '1h']],
    [['--for', '1h', '--reason']],
    [['--reason', 'x']],
    [['--for', '1h', '--reason', 'x', '--always']],
  ])('does not accept unsigned configs with %j', (flags) => {
    const { run, read } = setUp();
    const { status, stderr } = run('node', 'accept-unsigned', ...flags);
    expect([status, stderr]).toEqual([2, expect.stringContaining('of at most 24h such as 30m or 1h')]);
    expect(read('var/lib/relet/meta/accept-unsigned')).toBe('');
  });

  test.each(['hold', 'retry', 'release'])('leaves %s for the next agent', (verb) => {
    const { run, read } = setUp();
    expect(run('node', verb)).toMatchObject({ status: 0, calls: [] });
    expect(JSON.parse(read('var/lib/relet/meta/request'))).toMatchObject({ verb });
  });

  test('removes everything from a host without an agent', () => {
    const { own, run, root } = setUp();
    own.writeDropIn('good', good);
    own.writeUnit('fallback');
    const { status, calls } = run('detach', '--host');
    expect(status).toBe(0);
    expect(calls.slice(-2)).toEqual(['systemctl daemon-reload', 'systemctl restart kubelet.service']);
    for (const path of [layout.dir, layout.dropIn.good, dirname(layout.dropIn.good), layout.units.fallback])
      expect(existsSync(join(root, path)), path).toBe(false);
  });

  test('does not restart a kubelet that runs with its local config, nor one that was stopped', () => {
    const { run } = setUp();
    expect(run('detach', '--host').calls).not.toContain('systemctl restart kubelet.service');
  });

  test('says how it is used', () => {
    const { run } = setUp();
    expect(run('get')).toMatchObject({ status: 2, stderr: expect.stringContaining('usage: relet node status') });
  });
});

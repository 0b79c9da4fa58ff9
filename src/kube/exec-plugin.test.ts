/** Exec credential plugins, as real scripts: their input, when they run, and errors. */
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../test/manual-clock.js';
import { temporaryDir } from '../../test/temporary-dir.js';
import { createExecPlugin, type ExecPluginOptions } from './exec-plugin.js';
import type { ExecEntry } from './kubeconfig.js';

const dir = temporaryDir();
// A new one for each test: a plugin that is killed may still be writing.
let runs = '';
beforeEach(() => {
  runs = join(mkdtempSync(join(dir, 'test-')), 'runs');
  writeFileSync(runs, '');
});
const timesRun = () => readFileSync(runs, 'utf8').split('\n').length - 1;

/** In the script `$n` is the number of this run. */
function setUp(script: string, entry: Partial<ExecEntry> = {}, options: Partial<ExecPluginOptions> = {}) {
  const command = join(dir, 'plugin');
  writeFileSync(command, `#!/bin/sh\necho run >> ${runs}; n=$(wc -l < ${runs})\n${script}\n`);
  chmodSync(command, 0o755);
  const clock = new ManualClock('2026-01-01T00:00:00Z');
  const plugin = createExecPlugin({
    exec: { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never', command, ...entry },
    cluster: { server: 'https://k:6443' },
    userName: 'u',
    env: { PATH: '/usr/bin:/bin', OURS: 'inherited' },
    clock,
    ...options,
  });
  return { plugin, clock };
}
const credential = (status: string, version = 'v1') =>
  `echo "{\\"kind\\":\\"ExecCredential\\",\\"apiVersion\\":\\"client.authentication.k8s.io/${version}\\",\\"status\\":{${status}}}"`;
const token = credential('\\"token\\":\\"t$n\\"');

describe('a credential', () => {
  test('without an expiry is cached for ever', async () => {
    const { plugin, clock } = setUp(token);
    expect(await plugin.credential()).toEqual({ token: 't1' });
    await clock.advance(10 * 365 * 86_400_000);
    expect(await plugin.credential()).toEqual({ token: 't1' });
    expect(timesRun()).toBe(1);
  });

  test('is replaced a minute before it expires', async () => {
    const { plugin, clock } = setUp(
      credential('\\"token\\":\\"t$n\\",\\"expirationTimestamp\\":\\"2026-01-01T00:10:00Z\\"'),
    );
    await plugin.credential();
    await clock.advance(539_000);
    expect(await plugin.credential()).toEqual({ token: 't1' });
    await clock.advance(2000);
    expect(await plugin.credential()).toEqual({ token: 't2' });
  });

  test('is cached until the server rejects it; a late rejection of an older one has no effect', async () => {
    const { plugin } = setUp(token);
    const first = await plugin.credential();
    plugin.rejected(first);
    const second = await plugin.credential();
    plugin.rejected(first);
    expect(await plugin.credential()).toBe(second);
    expect(timesRun()).toBe(2);
  });

  test('is shared by concurrent callers', async () => {
    const { plugin } = setUp(token);
    const answers = await Promise.all([plugin.credential(), plugin.credential(), plugin.credential()]);
    expect(new Set(answers).size).toBe(1);
    expect(timesRun()).toBe(1);
  });

  test('is requested again after a failure', async () => {
    const { plugin } = setUp(`[ $n = 1 ] && exit 3; ${token}`);
    await expect(plugin.credential()).rejects.toThrow('failed with exit code 3');
    expect(await plugin.credential()).toEqual({ token: 't2' });
  });
});

describe('a plugin', () => {
  const script = `${credential('\\"token\\":\\"$OURS $ADDED $1\\"')}; echo "$KUBERNETES_EXEC_INFO" > ${join(dir, 'info')}`;
  const info = () => JSON.parse(readFileSync(join(dir, 'info'), 'utf8'));

  test('gets our environment, the variables and arguments of its entry, and the request', async () => {
    const { plugin } = setUp(script, { args: ['arg'], env: [{ name: 'ADDED', value: 'added' }] });
    expect(await plugin.credential()).toEqual({ token: 'inherited added arg' });
    expect(info()).toEqual({
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      spec: { interactive: false },
    });
  });

  test('gets the cluster with provideClusterInfo', async () => {
    const cluster = {
      server: 'https://k:6443',
      'tls-server-name': 'name',
      extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'x' } }],
    };
    const { plugin } = setUp(script, { provideClusterInfo: true }, { cluster, certificateAuthority: 'PEM' });
    await plugin.credential();
    expect(info().spec.cluster).toEqual({
      server: 'https://k:6443',
      'tls-server-name': 'name',
      'certificate-authority-data': Buffer.from('PEM').toString('base64'),
      config: { audience: 'x' },
    });
  });

  test('of v1beta1 gets the request in that version, and whether it is interactive', async () => {
    const older = 'client.authentication.k8s.io/v1beta1';
    const { plugin } = setUp(
      `${credential('\\"token\\":\\"x\\"', 'v1beta1')}; echo "$KUBERNETES_EXEC_INFO" > ${join(dir, 'info')}`,
      { apiVersion: older, interactiveMode: 'IfAvailable' },
      { interactive: true },
    );
    await plugin.credential();
    expect(info()).toMatchObject({ apiVersion: older, spec: { interactive: true } });
  });
});

describe('a plugin that fails', () => {
  const at = (why: string) => `user "u": exec plugin "${join(dir, 'plugin')}" ${why}`;
  test.each<[string, string, Partial<ExecEntry>, string]>([
    ['prints no JSON', 'echo hello', {}, at('printed no JSON')],
    ['prints something else', 'echo "{}"', {}, at('printed no ExecCredential')],
    [
      'answers in another version',
      credential('\\"token\\":\\"x\\"', 'v1beta1'),
      {},
      at('is configured for client.authentication.k8s.io/v1 and answered in client.authentication.k8s.io/v1beta1'),
    ],
    ['gives nothing', credential(''), {}, at('gave neither a token nor a certificate')],
    [
      'gives half a pair',
      credential('\\"clientKeyData\\":\\"x\\"'),
      {},
      at('gave a certificate without its key, or a key alone'),
    ],
    [
      'gives an invalid time',
      credential('\\"token\\":\\"x\\",\\"expirationTimestamp\\":\\"soon\\"'),
      {},
      at('gave expirationTimestamp "soon", which is not a valid time'),
    ],
    ['is killed', 'kill -9 $$', {}, at('was killed by SIGKILL')],
    ['prints too much', 'yes', {}, at('printed more than 1048576 bytes')],
    [
      'needs a terminal',
      token,
      { interactiveMode: 'Always' },
      at('is interactive, but standard input is not a terminal'),
    ],
  ])('%s: the error has its name and the reason', async (_name, script, entry, message) => {
    await expect(setUp(script, entry).plugin.credential()).rejects.toThrow(message);
  });

  test('because it is not installed: the error has its install hint, without control characters', async () => {
    const { plugin } = setUp('', { command: 'relet-no-such-plugin', installHint: 'get it\nat \u001b[1mexample.org' });
    await expect(plugin.credential()).rejects.toThrow(
      'user "u": exec plugin "relet-no-such-plugin" is not installed\nget it\nat \\u001b[1mexample.org',
    );
  });

  test('to end is killed after a minute, or when the caller aborts', async () => {
    const { plugin, clock } = setUp('exec sleep 1000');
    const answer = expect(plugin.credential()).rejects.toThrow(at('gave no answer in 60000 ms'));
    await clock.untilSleeping();
    await clock.advance(60_000);
    await answer;
    const stop = new AbortController();
    // No script: a shell that outlives its caller for a moment would read the next test's.
    const waiting = setUp('', { command: '/bin/sleep', args: ['1000'] }).plugin.credential(stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  test('for one caller that aborts does not fail for the others', async () => {
    const gate = join(dir, 'gate');
    const { plugin } = setUp(`until [ -e ${gate} ]; do sleep 0.01; done; ${token}`);
    const stop = new AbortController();
    const impatient = plugin.credential(stop.signal);
    const patient = plugin.credential(new AbortController().signal);
    stop.abort(new Error('enough'));
    await expect(impatient).rejects.toThrow('enough');
    writeFileSync(gate, '');
    expect(await patient).toEqual({ token: 't1' });
  });

  test.each<[Partial<ExecEntry>, string]>([
    [{ command: '' }, 'user "u": exec plugin has no command'],
    [{ apiVersion: '' }, 'has no apiVersion; use one of client.authentication.k8s.io/v1,'],
    [{ apiVersion: 'v9' }, 'has apiVersion "v9"; use one of'],
    [{ interactiveMode: 'Sometimes' }, 'has interactiveMode "Sometimes"; use one of Never, IfAvailable, Always'],
  ])('an invalid entry is an error before the plugin runs: %j', (entry, message) => {
    expect(() => setUp(token, entry)).toThrow(message);
  });
});

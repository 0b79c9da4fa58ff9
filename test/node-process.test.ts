/** `relet kubelet` as a user runs it: whole processes, a short trial, signals, kill -9. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createClusterRig } from './cluster-rig.js';
import {
  config,
  fakeKubelet as fake,
  isAlive,
  newPlace,
  start,
  startOnCluster,
  status,
  until,
  withDir,
} from './process-rig.js';
import { testKey } from './rig/signing.js';
import { relet } from './run-relet.js';

describe('relet kubelet', () => {
  test('follows the Node, makes its config last known good after the trial, and exits with its kubelet on SIGTERM', async () => {
    const { rig, place, running: node } = await startOnCluster();
    const { metadata } = await rig.createConfigMap('good', { kubelet: config(place.port, 'eventRecordQPS: 7') });
    await rig.point('good');
    await rig.until('last known good', () => status(rig).lastKnownGood?.configMap?.uid === metadata.uid);
    expect(status(rig).active).toEqual(status(rig).lastKnownGood);
    const { pid } = node.starts().at(-1)!;
    node.process.kill('SIGTERM');
    expect(await node.exit).toEqual({ code: 0, signal: null });
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(join(place.dir, 'meta', 'lock'))).toBe(false);
  });

  test('a config that the kubelet itself rejects is not started', async () => {
    const { rig, place, running: node } = await startOnCluster();
    await rig.createConfigMap('bad', { kubelet: config(place.port, '# refuse invalid configuration: no such thing') });
    await rig.point('bad');
    await rig.until('error', () => status(rig).error !== undefined);
    expect(status(rig).error).toBe('failed to validate config, see Kubelet log for details');
    expect(node.output()).toContain('invalid configuration: no such thing');
    expect(node.starts()).toHaveLength(1);
  });

  test('after kill -9 of relet its kubelet keeps running, and the next relet replaces it', async () => {
    const rig = await createClusterRig({ boot: false });
    const place = await newPlace();
    const first = withDir(place, rig);
    await until('started', () => first.starts().length === 1, first.output);
    first.process.kill('SIGKILL');
    await first.exit;
    const [orphan] = first.starts();
    expect(isAlive(orphan!.pid)).toBe(true);
    const second = withDir(place, rig);
    await until('started', () => second.starts().length === 2, second.output);
    expect(isAlive(orphan!.pid)).toBe(false);
    expect(isAlive(second.starts()[1]!.pid)).toBe(true);
    expect(second.output()).toContain('stopped kubelet of an earlier relet');
  });

  test('a kubelet that starves the service manager’s watchdog again and again is rolled back', async () => {
    const { rig, place, running: first } = await startOnCluster('--trial-duration=10m');
    await rig.createConfigMap('silent', { kubelet: config(place.port, 'eventRecordQPS: 7') });
    await rig.point('silent');
    await rig.until('active', () => status(rig).active !== undefined);
    let node = first;
    for (let crashes = 1; crashes <= 3; crashes++) {
      const { pid } = node.starts().at(-1)!;
      // systemd sends this to the main process alone when its watchdog expires.
      node.process.kill('SIGABRT');
      expect(await node.exit).toEqual({ code: 134, signal: null });
      expect(isAlive(pid)).toBe(false);
      const startsBefore = node.starts().length;
      node = withDir(place, rig, '--trial-duration=10m');
      await until('started', () => node.starts().length > startsBefore, node.output);
    }
    await rig.until('rolled back', () => status(rig).error !== undefined);
    expect(status(rig).active).toBeUndefined();
    expect(node.starts().at(-1)!.args.join(' ')).not.toContain('checkpoints');
  });

  test('a second relet on the same directory is refused', async () => {
    const rig = await createClusterRig({ boot: false });
    const place = await newPlace();
    const first = withDir(place, rig);
    await until('started', () => first.starts().length === 1, first.output);
    const second = withDir(place, rig);
    expect((await second.exit).code).toBe(1);
    expect(second.output()).toContain(`another relet (pid ${first.process.pid}) runs on this directory`);
    expect(isAlive(first.starts()[0]!.pid)).toBe(true);
  });

  test('X11 with --on-change=exit a change exits 0, and the next start runs the new config', async () => {
    const { rig, place, running: first } = await startOnCluster('--on-change=exit');
    await rig.createConfigMap('good', { kubelet: config(place.port) });
    await rig.point('good');
    expect(await first.exit).toEqual({ code: 0, signal: null });
    expect(isAlive(first.starts()[0]!.pid)).toBe(false);
    const second = withDir(place, rig, '--on-change=exit');
    await rig.until('active', () => status(rig).active !== undefined);
    expect(second.starts().at(-1)?.args.join(' ')).toContain('checkpoints');
  });

  test('X10 a dynamic config replaces --config and --config-dir as a whole: nothing of the local files leaks', async () => {
    const rig = await createClusterRig({ boot: false });
    const place = await newPlace();
    const local = join(place.dir, '..', 'local.yaml');
    writeFileSync(local, config(place.port, 'featureGates: {CPUManager: true}'));
    const node = withDir(place, rig, `--config=${local}`, '--feature-gates=DynamicKubeletConfig=true');
    await until('local', () => node.starts().length === 1, node.output);
    expect(node.starts()[0]!.args).toContain(`--config=${local}`);
    await rig.until('first status', () => rig.config !== undefined);
    await rig.createConfigMap('good', { kubelet: config(place.port) });
    await rig.point('good');
    await rig.until('active', () => status(rig).active !== undefined);
    const words = node.starts().at(-1)!.args;
    expect(words.filter((word) => word.startsWith('--config'))).toHaveLength(1);
    expect(words).not.toContain(`--config=${local}`);
    expect(words.join(' ')).not.toContain('DynamicKubeletConfig');
  });

  test('without --dynamic-config-dir it is the kubelet: arguments, signals and exit code', async () => {
    const place = await newPlace();
    const plain = start(place);
    await until('started', () => plain.starts().length === 1, plain.output);
    expect(plain.starts()[0]!.args).toEqual([`--healthz-port=${place.port}`, '--enable-server=false']);
    plain.process.kill('SIGTERM');
    expect(await plain.exit).toEqual({ code: 0, signal: null });
    const local = join(place.dir, '..', 'local.yaml');
    writeFileSync(local, config(place.port, '# exit 3'));
    expect((await start(place, `--config=${local}`).exit).code).toBe(3);
    const turnedOff = start(
      place,
      `--config=${local}`,
      '--dynamic-config-dir=x',
      '--feature-gates=DynamicKubeletConfig=false',
    );
    expect((await turnedOff.exit).code).toBe(3);
    expect(turnedOff.output()).toContain('this is the plain kubelet, relet steps aside');
  });

  test('--check says what would run and changes nothing', async () => {
    const place = await newPlace();
    const checked = relet(['kubelet', '--check', `--kubelet-binary=${fake}`, `--dynamic-config-dir=${place.dir}`]);
    expect(checked.stdout).toContain('config:   local config');
    expect(checked.stdout).toContain(`would run: ${fake}`);
    expect(checked.status).toBe(0);
    expect(existsSync(place.dir)).toBe(false);
  });

  test('--check prints what the trust file of the host requires, or the line that is wrong', async () => {
    const place = await newPlace();
    const path = join(place.dir, '../trust.yaml');
    const check = (...signers: string[]) => {
      writeFileSync(path, JSON.stringify({ ...trust, signers }, null, 1), { mode: 0o600 });
      const flags = [`--kubelet-binary=${fake}`, `--dynamic-config-dir=${place.dir}`, `--trust-file=${path}`];
      return relet(['kubelet', '--check', ...flags]).stdout;
    };
    const trust = { apiVersion: 'relet.dev/v1alpha1', kind: 'Trust', pool: 'gpu' };
    const { line } = testKey();
    expect(check(`ann ${line}`)).toContain(`trust:    ${path}: pool gpu, 1 of ann\n`);
    const wrong = check(`ann ${line}`, 'bob');
    expect(wrong).toContain(`trust:    trust file ${path}, line 7: must be a principal`);
    expect(wrong).toContain(': no other config is accepted');
  });
});

/** `relet node` on the host, as a user runs it: with relet running, without it, and without the API. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nodeName } from './cluster-rig.js';
import { config, type Place, startOnCluster, status, until, withDir } from './process-rig.js';
import { relet } from './run-relet.js';

describe('relet node', () => {
  const node = (place: Place, ...args: string[]) => relet(['node', ...args, `--dynamic-config-dir=${place.dir}`]);

  test('shows, holds, releases and goes back to local, with relet running', async () => {
    const { rig, place, running } = await startOnCluster();
    await rig.createConfigMap('good', { kubelet: config(place.port, 'eventRecordQPS: 7') });
    await rig.point('good');
    await rig.until('last known good', () => status(rig).lastKnownGood !== undefined);
    expect(node(place, 'view').stdout).toContain('eventRecordQPS: 7');
    const shown = JSON.parse(node(place, 'status', '-o', 'json').stdout);
    expect(shown).toMatchObject({
      node: nodeName,
      relet: { pid: running.process.pid },
      kubelet: { version: 'v1.32.1' },
    });
    expect(shown.lastKnownGood).toContain('kube-system/good/kubelet (version ');
    expect(node(place, 'use-local').stdout).toContain('use-local: done by relet');
    await rig.until('local', () => status(rig).active === undefined);
    expect(node(place, 'status').stdout).toMatch(/^held: +since .*: use-local/m);
    expect(node(place, 'release').status).toBe(0);
    await rig.until('followed again', () => status(rig).active !== undefined);
  });

  test('views an overlay as the kubelet gets it: merged into the local config', async () => {
    const { rig, place } = await startOnCluster();
    await rig.createConfigMap('overlay', {
      kubelet:
        'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig:\n  eventRecordQPS: 9\n  maxPods: 77\n',
    });
    await rig.point('overlay');
    await rig.until('last known good', () => status(rig).lastKnownGood !== undefined);
    for (const which of ['active', 'assigned', 'last-known-good']) {
      const { stdout, stderr } = node(place, 'view', which);
      expect(stdout, which).toContain('kind: KubeletConfiguration\n');
      expect(stdout, which).toMatch(/^maxPods: 77$/m);
      expect(stderr).toBe('');
    }
  });

  test('works where no relet runs and no API is', async () => {
    const { rig, place, running } = await startOnCluster();
    await rig.createConfigMap('good', { kubelet: config(place.port) });
    await rig.point('good');
    await rig.until('active', () => status(rig).active !== undefined);
    running.process.kill('SIGTERM');
    await running.exit;
    expect(node(place, 'use-local').stdout).toContain('it takes effect at its next start');
    expect(readFileSync(join(place.dir, 'meta', 'assigned'), 'utf8')).toBe('');
    expect(node(place, 'status').stdout).toContain('relet:           not running');
    const nowhere = relet(['node', 'status', '--dynamic-config-dir=/nowhere']);
    expect(nowhere).toMatchObject({ status: 2, stderr: expect.stringContaining('name the node') });
  });

  test('hold lets assignments pass by, and release follows the last of them', async () => {
    const { rig, place, running } = await startOnCluster();
    expect(node(place, 'hold', '--why', 'we look into it').stdout).toBe(
      `hold: done by relet (pid ${running.process.pid})\n`,
    );
    expect(node(place, 'status').stdout).toMatch(/^held: +since .*: we look into it$/m);
    for (const name of ['a', 'b']) {
      await rig.createConfigMap(name, { kubelet: config(place.port, `# config ${name}`) });
      await rig.point(name);
    }
    expect(node(place, 'release').stdout).toContain('release: done by relet');
    await rig.until('followed', () => status(rig).active?.configMap?.name === 'b');
    expect(running.starts().map((start) => /# config (.)/.exec(start.config)?.[1])).toEqual([undefined, 'b']);
  });

  test('retry gives a config that failed its trial another one, also under its old name', async () => {
    const { rig, place, running } = await startOnCluster('--trial-failed-starts=1');
    const disk = join(place.dir, '..', 'disk');
    await rig.createConfigMap('picky', { kubelet: config(place.port, `# needs ${disk}`) });
    await rig.point('picky');
    await rig.until('rolled back', () => status(rig).error?.includes('kept crashing') === true);
    expect(node(place, 'status').stdout).toMatch(/^failed: .*the kubelet crashed once: exit code 1$/m);
    // The cause was outside of the config, and is gone.
    writeFileSync(disk, '');
    expect(node(place, 'clear-verdict').stdout).toContain('retry: done by relet');
    await rig.until('tried again', () => status(rig).active?.configMap?.name === 'picky');
    expect(status(rig).error).toBeUndefined();
    expect(running.starts()).toHaveLength(4);
  });

  test('what is asked while no relet runs counts from its next start on', async () => {
    const { rig, place, running: first } = await startOnCluster('--trial-failed-starts=1');
    await rig.createConfigMap('bad', { kubelet: config(place.port, '# exit 1') });
    await rig.point('bad');
    await rig.until('rolled back', () => status(rig).error !== undefined);
    first.process.kill('SIGTERM');
    await first.exit;
    for (const verb of ['hold', 'retry', 'release', 'hold'])
      expect(node(place, verb).stdout).toBe(
        `${verb}: done; relet is not running here, so it takes effect at its next start\n`,
      );
    expect(existsSync(join(place.dir, 'meta', 'lock'))).toBe(false);
    const starts = first.starts().length;
    await rig.assign(null);
    const second = withDir(place, rig, '--trial-failed-starts=1');
    // Cleared: it is tried once more. Held: that it is no longer wanted is not followed.
    await until('rolled back again', () => second.output().includes('config rolled back'), second.output);
    expect(second.starts().slice(starts)[0]?.config).toContain('# exit 1');
    expect(node(place, 'status').stdout).toMatch(/^assigned: +\S+\/bad\/kubelet \(version \d+\)$/m);
    expect(node(place, 'release').stdout).toContain('release: done by relet');
    await rig.until('local', () => rig.config !== undefined && Object.keys(rig.config).length === 0);
  });
});

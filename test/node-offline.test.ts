/** Promises that need whole processes: the API gone for a whole run, a service manager around relet, state running out. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDirectory } from '../src/agent/state/directory.js';
import { nodes } from '../src/kube/resource-type.js';
import { startApiServer } from '../src/lab/apiserver/apiserver.js';
import { silentLog } from '../src/log.js';
import { systemProcesses } from '../src/proc.js';
import { clientFor, createClusterRig, type NodeObject, nodeName } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { config, newPlace, type Place, start, status, until, withDir } from './process-rig.js';
import { relet } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const rolledBack = 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details';

describe('the API is gone for a whole run', () => {
  test('X14 relet starts, rolls back and starts again from disk, and the status is right when the API returns', async () => {
    const dataDir = temporaryDir();
    const rig = await createClusterRig({ boot: false, server: { dataDir } });
    const place = await newPlace();
    const online = withDir(place, rig);
    await rig.until('first status', () => rig.config !== undefined);
    const good = await rig.createConfigMap('good', { kubelet: config(place.port) });
    await rig.point('good');
    await rig.until('last known good', () => status(rig).lastKnownGood?.configMap?.uid === good.metadata.uid);
    online.process.kill('SIGTERM');
    await online.exit;
    const killer = await assignBehindItsBack(rig, place);
    await rig.server.close();

    const trial = withDir(place, rig);
    const ran = (name: string) => (line: { config: string }) => line.config.includes(name);
    await until('rolled back', () => trial.output().includes(rolledBack), trial.output);
    await until('the good one runs', () => !ran('# exit 1')(trial.starts().at(-1)!), trial.output);
    expect(trial.starts().filter(ran('# exit 1'))).toHaveLength(3);
    trial.process.kill('SIGTERM');
    expect((await trial.exit).code).toBe(0);

    const again = withDir(place, rig);
    const starts = trial.starts().length;
    await until('started', () => again.starts().length === starts + 1, again.output);
    // The failure is recorded: it is not tried a fourth time.
    expect(again.starts().at(-1)?.config).not.toContain('# exit 1');
    // Once the kubelet of the good one answers: until then nothing was rolled back.
    await eventually('the host shows the error', () => {
      const shown = JSON.parse(relet(['node', 'status', '-o', 'json', `--dynamic-config-dir=${place.dir}`]).stdout);
      expect(shown).toMatchObject({ error: rolledBack, cause: expect.stringContaining('exit code 1') });
    });

    const server = await startApiServer({ dataDir, port: rig.server.port });
    onTestFinished(() => server.close());
    const admin = clientFor(server.kubeconfig);
    await eventually('the status reaches the API server', async () => {
      const { status } = await admin.get<NodeObject>(nodes, { name: nodeName });
      expect(status.config).toMatchObject({
        error: rolledBack,
        assigned: { configMap: { uid: killer.uid } },
        active: { configMap: { uid: good.metadata.uid } },
        lastKnownGood: { configMap: { uid: good.metadata.uid } },
      });
    });
    expect(again.starts()).toHaveLength(starts + 1);
  });

  /** Assigned and downloaded, but never run: what a power cut in the middle of a change leaves. */
  async function assignBehindItsBack(rig: Awaited<ReturnType<typeof createClusterRig>>, place: Place) {
    const text = config(place.port, '# exit 1');
    const { metadata } = await rig.createConfigMap('killer', { kubelet: text });
    await rig.point('killer');
    const source = {
      namespace: 'kube-system',
      name: 'killer',
      uid: metadata.uid!,
      resourceVersion: metadata.resourceVersion!,
      kubeletConfigKey: 'kubelet',
    };
    const { state, lock } = openDirectory({ dir: place.dir, host: systemProcesses, log: silentLog });
    const files = new Map([['kubelet', Buffer.from(text)]]);
    state.checkpoints.save(source, { files, annotations: {}, binaryKeys: [] });
    state.assign(source);
    lock.release();
    return source;
  }
});

describe('under a service manager', () => {
  const env = { NOTIFY_SOCKET: '/run/nowhere/notify', WATCHDOG_USEC: '30000000', WATCHDOG_PID: '4242' };

  test('the kubelet gets the variables for notification and watchdog; one that only validates does not', async () => {
    const place = { ...(await newPlace()), env };
    const node = start(place, `--dynamic-config-dir=${place.dir}`);
    await until('started', () => node.starts().length === 1, node.output);
    const { RELET_CHILD: token, ...passed } = node.starts()[0]!.env;
    const { WATCHDOG_PID: _relet, ...expected } = env;
    expect(passed).toEqual(expected);
    expect(JSON.parse(readFileSync(join(place.dir, 'meta', 'child'), 'utf8')).token).toBe(token);
    expect(node.questions().length).toBeGreaterThan(0);
    for (const question of node.questions()) expect(question.env).toEqual({});
    expect(readFileSync(`/proc/${node.process.pid}/environ`, 'utf8')).not.toContain('RELET_CHILD');
  });

  test('without --dynamic-config-dir the kubelet gets the whole environment', async () => {
    const place = { ...(await newPlace()), env };
    const plain = start(place);
    await until('started', () => plain.starts().length === 1, plain.output);
    const { WATCHDOG_PID, ...passed } = plain.starts()[0]!.env;
    const { WATCHDOG_PID: _relet, ...expected } = env;
    expect(passed).toEqual(expected);
    // relet becomes the kubelet if Node.js can do that, and then the pid needs no change.
    const isSameProcess = plain.starts()[0]!.pid === plain.process.pid;
    expect(WATCHDOG_PID).toBe(isSameProcess ? env.WATCHDOG_PID : undefined);
  });
});

/** Only root may, and in a container not even root. */
const mayProtect = spawnSync('sh', ['-c', 'echo -999 > /proc/self/oom_score_adj']).status === 0;

test.skipIf(!mayProtect)(
  'relet is as safe from the OOM killer as the kubelet is (skipped where root may not lower oom_score_adj)',
  async () => {
    const place = await newPlace();
    const node = start(place, `--dynamic-config-dir=${place.dir}`);
    await until('started', () => node.starts().length === 1, node.output);
    expect(readFileSync(`/proc/${node.process.pid}/oom_score_adj`, 'utf8').trim()).toBe('-999');
  },
);

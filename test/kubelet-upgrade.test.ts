/** The kubelet's binary is replaced while a dynamic config runs: the config is validated for the new one before anything is started. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openDirectory } from '../src/agent/state/directory.js';
import { silentLog } from '../src/log.js';
import { systemProcesses } from '../src/proc.js';
import { sourceOf } from './rig/node.js';
import { relet } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
let root: string;

beforeEach(() => {
  root = temporaryDir();
  writeFileSync(join(root, 'kubelet.yaml'), header);
});

function remember(assigned: string, lastKnownGood?: string): void {
  const { state, lock } = openDirectory({ dir: join(root, 'dynamic'), host: systemProcesses, log: silentLog });
  const save = (version: string, text: string) => {
    const files = new Map([['kubelet', Buffer.from(text)]]);
    state.checkpoints.save(sourceOf(version), { files, annotations: {}, binaryKeys: [] });
    return sourceOf(version);
  };
  if (lastKnownGood !== undefined) state.setLastKnownGood(save('1', lastKnownGood));
  state.assign(save('2', assigned));
  lock.release();
}

const check = (version: string) =>
  relet([
    'kubelet',
    ...['--check', `--dynamic-config-dir=${join(root, 'dynamic')}`, '--kubelet-binary=hollow'],
    ...[`--hollow-version=${version}`, `--config=${join(root, 'kubelet.yaml')}`],
    // This machine may have a kubelet, whose certificate is not for everybody.
    `--cert-dir=${join(root, 'pki')}`,
  ]);

test('a config that the new kubelet accepts as well keeps running', () => {
  remember(`${header}maxPods: 60\n`);
  for (const version of ['1.23.17', '1.32.1'])
    expect(check(version)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/checkpoints\/uid-2\/2\/kubelet/),
    });
});

test('what the new kubelet refuses gives way to the last known good', () => {
  // A gate that 1.23 knows and 1.32 does not.
  remember(`${header}featureGates: {DynamicKubeletConfig: true}\n`, `${header}maxPods: 50\n`);
  expect(check('1.23.17')).toMatchObject({ status: 0, stdout: expect.stringMatching(/uid-2/) });
  const { status, stdout } = check('1.32.1');
  expect(status).toBe(1);
  expect(stdout).toContain('error:    The kubelet of this node rejects a value of the assigned config.');
  expect(stdout).toMatch(/would run: .*checkpoints\/uid-1\/1\/kubelet/);
  // And back: nothing of the refusal is remembered against the old one.
  expect(check('1.23.17').stdout).toMatch(/would run: .*uid-2/);
});

test('without one, the local config is what is left', () => {
  remember(`${header}featureGates: {DynamicKubeletConfig: true}\n`);
  const { status, stdout } = check('1.32.1');
  expect(status).toBe(1);
  expect(stdout).toMatch(/would run: .*--config=.*kubelet\.yaml/);
});

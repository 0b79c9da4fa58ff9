/** relet push, in a pipe. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configMaps } from '../src/kube/resource-type.js';
import { header, OperatorCluster, overlayHeader } from './operator-rig.js';

/** kubectl 1.30 or later is there. Older ones write \b and \f as \u0008 and \u000c. */
const hasKubectl = (() => {
  const { stdout } = spawnSync('kubectl', ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
  return Number(/"minor": "(\d+)/.exec(stdout ?? '')?.[1] ?? 0) >= 30;
})();

let cluster: OperatorCluster;

beforeAll(async () => {
  cluster = await OperatorCluster.start();
  // A push is validated for the versions of the cluster.
  await cluster.node('new');
  await cluster.node('old', { version: 'v1.17.17' });
});
afterAll(() => cluster?.close());

describe('relet push', () => {
  test('push stores the bytes of the file under the name that kubectl gives them', async () => {
    const text = `${header}# a <comment> & more\r\nmaxPods: 77\n`;
    const { status, stdout } = await cluster.relet(['push', cluster.file('push.yaml', text), '--name', 'mine']);
    expect(status).toBe(0);
    const name = /^configmap\/(mine-\w{10}) created in namespace relet-system\n$/.exec(stdout)![1]!;
    const stored = await cluster.admin.get<{ data: object; immutable: boolean }>(configMaps, {
      namespace: 'relet-system',
      name,
    });
    expect(stored).toMatchObject({ data: { kubelet: text }, immutable: true });
    expect((await cluster.relet('push push.yaml --name mine')).stdout).toContain(`${name} unchanged`);
    expect((await cluster.relet('push - --name mine -o name', { stdin: text })).stdout).toBe(`configmap/${name}\n`);
  });

  test.skipIf(!hasKubectl)(
    `the name is kubectl's, whatever is in the file${hasKubectl ? '' : ' (skipped: kubectl 1.30 or later not found)'}`,
    async () => {
      const payloads = fc.sample(
        fc.oneof(
          fc.string({ unit: 'grapheme' }),
          fc.constantFrom('<a> & <b>', 'a\u2028b\u2029c', '\b\f\n\r\t\\"', '\u0000\u001f\u007f', '\ud83d\ude00'),
          fc.uint8Array({ maxLength: 64 }),
        ),
        12,
      );
      for (const [index, payload] of payloads.entries()) {
        writeFileSync(join(cluster.dir, 'random'), payload);
        const name = `any-${index}`;
        const ours = await cluster.relet(`push random --name ${name} --no-validate --dry-run -o name`);
        const args = `create configmap ${name} --from-file=kubelet=random --append-hash --dry-run=client -o name`;
        const theirs = spawnSync('kubectl', args.split(' '), {
          cwd: cluster.dir,
          env: cluster.environment(),
          encoding: 'utf8',
        });
        expect({ payload, name: ours.stdout }).toEqual({ payload, name: theirs.stdout });
      }
    },
  );

  test.each([
    ['a config that is wrong', `${header}maxPods: -1\n`, /would not run with bad.yaml, so nothing was pushed/],
    ['no config at all', 'hello\n', /nothing was pushed/],
  ])('%s is not pushed', async (_name, text, message) => {
    const before = await cluster.configMapNames();
    const { status, stderr } = await cluster.relet(['push', cluster.file('bad.yaml', text)]);
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
    expect(await cluster.configMapNames()).toEqual(before);
  });

  describe('a push is validated for the kubelets of the cluster', () => {
    const text = `${header}maxPods: "1"\nmemorySwap: {swapBehavior: NoSwap}\n`;
    const swap = text.replace('"1"', '1');
    const dryRun = (words: string[], stdin = text) =>
      cluster.relet(['push', '-', '--dry-run=client', '-o', 'name', ...words], { stdin });

    test('what none of them takes is rejected, and an error that not all have names its version', async () => {
      const { status, stderr } = await dryRun([]);
      expect(status).toBe(2);
      expect(stderr.trim().split('\n')).toEqual([
        'relet: kubelet 1.17 and 1.32 would not run with -, so nothing was pushed:',
        '  maxPods: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32',
        '    write 1 without quotes',
        '  memorySwap: unknown field "memorySwap": it came with 1.22 (kubelet 1.17)',
        'Use --kubelet-version to check against another version, or --no-validate to push it anyway',
      ]);
    });

    test('what only some of them take is pushed with a warning', async () => {
      const { status, stdout, stderr } = await dryRun([], swap);
      expect(status).toBe(0);
      expect(stdout).toMatch(/^configmap\/kubelet-config-\w{10}\n$/);
      expect(stderr).toBe(
        'relet: kubelet 1.17 would not run with -; do not assign it to nodes of that version:\n  memorySwap: unknown field "memorySwap": it came with 1.22 (kubelet 1.17)\n',
      );
      expect((await dryRun(['--kubelet-version', '1.32'], swap)).stderr).toBe('');
    });

    test('who may not list nodes gets the rules of the newest, and a note', async () => {
      const { status, stderr } = await dryRun(['--as', 'ann'], swap);
      expect(status).toBe(0);
      expect(stderr).toMatch(
        /^relet: you may not list nodes, so it is validated for kubelet 1\.\d+; --kubelet-version/,
      );
    });

    test('an overlay is checked as one', async () => {
      expect((await dryRun([], `${overlayHeader}config: {maxPods: 50}\n`)).stderr).toBe('');
      expect((await dryRun([], `${overlayHeader}config: {maxPods: -1}\n`)).stderr).toMatch(
        /-1 must not be a negative number/,
      );
    });
  });
});

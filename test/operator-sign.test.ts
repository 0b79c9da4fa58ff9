/** relet push, set, rollout sign and plan with signatures, in a pipe, with the ssh-keygen of this machine. The test plays hosts and controller. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import { type NodeConfigSet, nodeConfigSets } from '../src/api/node-config-set.js';
import type { ConfigMap } from '../src/api/object.js';
import { type SigningStatus, signaturesAnnotation, statementAnnotation } from '../src/api/signing.js';
import { parseStatement } from '../src/config/signing/statement.js';
import { configMaps } from '../src/kube/resource-type.js';
import { setConfigMap } from '../src/rollout/revision.js';
import { OperatorCluster, overlayHeader } from './operator-rig.js';

const hasKeygen = spawnSync('ssh-keygen', ['-?']).error === undefined;
const payload = `${overlayHeader}# agreed\nconfig: {maxPods: 130}\n`;
const manifest = `# gpu nodes
apiVersion: relet.dev/v1alpha1
kind: NodeConfigSet
metadata: {name: gpu}
spec:
  selector: {matchLabels: {pool: gpu}}
  config:
    overlay: {maxPods: 200}
  paused: true # for now
`;

let cluster: OperatorCluster;
const relet = (line: string) => cluster.relet(line);

beforeAll(async () => {
  cluster = await OperatorCluster.startWithDeploy();
  for (const name of ['node-1', 'node-2']) {
    await cluster.nodeWithConfig(name, { pool: 'gpu' });
    await requires(name, { required: true, pool: 'gpu', threshold: 1, floor: 100 });
  }
  for (const name of ['ann', 'bob'])
    spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', join(cluster.dir, name)]);
});
afterAll(() => cluster?.close());

/** As the agent of a host with a trust file reports. */
const requires = (name: string, signing: SigningStatus) =>
  cluster.admin.patch<NodeConfig>(
    nodeConfigs,
    { name, subresource: 'status' },
    { status: { signing } },
    { as: 'merge' },
  );

const stored = (name: string) => cluster.admin.get<ConfigMap>(configMaps, { namespace: 'relet-system', name });
const setOf = (name: string) => cluster.admin.get<NodeConfigSet>(nodeConfigSets, { name });
const signaturesOf = ({ metadata: { annotations = {} } }: ConfigMap) =>
  annotations[signaturesAnnotation]?.match(/BEGIN SSH SIGNATURE/g)?.length ?? 0;

describe.runIf(hasKeygen)('relet push --sign', () => {
  test('stores the signature, and the next person adds one to the same ConfigMap', async () => {
    cluster.file('signed.yaml', payload);
    const first = await relet('push signed.yaml --sign ann --pools gpu --serial 150 -o name');
    expect(first).toMatchObject({ status: 0, stderr: '' });
    const name = first.stdout.trim().replace('configmap/', '');
    const before = await stored(name);
    expect(parseStatement(before.metadata.annotations![statementAnnotation]!)).toMatchObject({
      pools: ['gpu'],
      serial: 150,
      floor: 0,
    });
    const second = await relet('push signed.yaml --sign bob');
    expect(second.stdout).toMatch(
      new RegExp(`^configmap/${name} signed in namespace relet-system, signed by SHA256:.*, SHA`),
    );
    const after = await stored(name);
    expect(after.metadata.annotations![statementAnnotation]).toBe(before.metadata.annotations![statementAnnotation]);
    expect([signaturesOf(before), signaturesOf(after)]).toEqual([1, 2]);
    expect(after.data).toEqual({ kubelet: payload });
  });

  test('takes along what was signed beside the file, and pushes nothing that was changed since', async () => {
    cluster.file('beside.yaml', `${payload}# more\n`);
    expect((await relet('config sign beside.yaml -f ann --pools gpu')).status).toBe(0);
    const { stdout } = await relet('push beside.yaml -o name');
    expect(signaturesOf(await stored(stdout.trim().replace('configmap/', '')))).toBe(1);
    cluster.file('beside.yaml', `${payload}# changed\n`);
    const refused = await relet('push beside.yaml');
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toContain("so nothing was pushed: 'relet config sign beside.yaml -f KEY' signs it");
  });

  test('options of the statement without --sign are an error', async () => {
    expect(await relet('push signed.yaml --pools gpu')).toMatchObject({ status: 2, stdout: '' });
  });
});

describe.runIf(hasKeygen)('a preview', () => {
  test('names the reason for which a host would reject a config without a signature', async () => {
    const { stdout } = await relet('set node-1 maxPods=140 --dry-run');
    expect(stdout.replace(/\s+/g, ' ')).toContain('Warning: its host would reject this config (SignatureMissing)');
  });

  test('with --sign has no such warning, and nothing is written that the host would still reject', async () => {
    expect((await relet('set node-1 maxPods=140 --sign ann --dry-run')).stdout).not.toContain('Warning');
    await requires('node-2', { required: true, pool: 'gpu', threshold: 2, floor: 100 });
    const refused = await relet('set node-2 maxPods=140 --sign ann --yes');
    await requires('node-2', { required: true, pool: 'gpu', threshold: 1, floor: 100 });
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('would reject the config all the same (TooFewSignatures)');
    expect(await cluster.sourceOf('node-2')).toBeUndefined();
  });

  test('of a rollout names the hosts, and exits with 1', async () => {
    cluster.file('unsigned.yaml', manifest);
    const { status, stdout } = await relet('rollout plan unsigned.yaml -o json');
    expect(status).toBe(1);
    expect(JSON.parse(stdout).rejections).toMatchObject([{ nodes: ['node-1', 'node-2'], reason: 'SignatureMissing' }]);
  });

  test('of a signed rollout shows the keys, and says that an undo to what is not signed would be rejected', async () => {
    const source = {
      namespace: 'relet-system',
      name: await cluster.push(`${overlayHeader}config: {maxPods: 90}\n`),
      kubeletConfigKey: 'kubelet',
    };
    for (const name of ['node-1', 'node-2'])
      await cluster.admin.patch(
        nodeConfigs,
        { name },
        { spec: { configSource: { configMap: source } }, metadata: { annotations: { 'relet.dev/adopt': 'gpu' } } },
        { as: 'merge' },
      );
    cluster.file('set.yaml', manifest);
    expect((await relet('rollout sign set.yaml -f ann --pools gpu')).status).toBe(0);
    const { status, stdout } = await relet('rollout plan set.yaml -o json');
    const plan = JSON.parse(stdout);
    expect(plan).toMatchObject({ signed: { keys: [expect.stringMatching(/^SHA256:/)] } });
    expect(plan.warnings).toContainEqual(
      expect.stringMatching(/^an undo would be rejected by 2 nodes \(SignatureMissing\)/),
    );
    expect(plan).not.toHaveProperty('rejections');
    expect(status).toBe(0);
  });
});

describe.runIf(hasKeygen)('relet rollout sign', () => {
  test('writes the payload as text into a manifest, keeps its comments, and adds the next signature', async () => {
    const file = cluster.file('two.yaml', manifest);
    await relet(`rollout sign ${file} -f ann --pools gpu`);
    const { stdout } = await relet(`rollout sign ${file} -f bob -o json`);
    expect(JSON.parse(stdout).signed).toHaveLength(2);
    const verified = await relet(`config verify ${file}`);
    expect(verified.status).toBe(0);
    const text = spawnSync('cat', [join(cluster.dir, file)], { encoding: 'utf8' }).stdout;
    expect(text).toMatch(/^# gpu nodes\n/);
    expect(text).toContain('paused: true # for now');
    expect(text).toContain('        config:\n          maxPods: 200\n');
  });

  test('in the cluster keeps the bytes, renews the statement, and a set that is signed takes no fields without a key', async () => {
    const written = await relet('set -l pool=gpu --as-set web maxPods=150 --sign ann --yes');
    expect(written.status).toBe(0);
    const { signed } = (await setOf('web')).spec.config;
    expect(parseStatement(signed!.statement)).toMatchObject({ pools: ['gpu'], floor: 0 });
    expect((await relet('rollout sign web -f ann --not-after 720h')).stdout).toContain('nodeconfigset/web signed:');
    const renewed = (await setOf('web')).spec.config.signed!;
    expect(renewed.payload).toBe(signed!.payload);
    expect(parseStatement(renewed.statement).serial).toBeGreaterThan(parseStatement(signed!.statement).serial);
    expect(parseStatement(renewed.statement).floor).toBe(0);
    const refused = await relet('set --as-set web maxPods=160 --yes');
    expect(refused.stderr).toContain('the config of the set is signed');
    expect((await setOf('web')).spec.config).toEqual({ signed: renewed });
  });

  test('has the serial of the current revision as floor, so that nodes can return to it', async () => {
    const before = (await setOf('web')).spec.config.signed!;
    const configMap = setConfigMap('web', before.payload, 1, before);
    await cluster.admin.create(configMaps, { namespace: 'relet-system' }, configMap);
    const source = `relet-system/${configMap.metadata.name}/kubelet`;
    const revisions = [{ revision: 'old', source, startedAt: '2026-01-01T00:00:00Z', outcome: 'Complete' }];
    const status = { currentRevision: 'old', updateRevision: 'old', revisions };
    await cluster.admin.patch(nodeConfigSets, { name: 'web', subresource: 'status' }, { status }, { as: 'merge' });
    expect((await relet('set --as-set web maxPods=170 --sign ann --yes')).status).toBe(0);
    const { signed } = (await setOf('web')).spec.config;
    expect(signed!.payload).toContain('maxPods: 170');
    expect(parseStatement(signed!.statement).floor).toBe(parseStatement(before.statement).serial);
  });
});

test.runIf(hasKeygen)('relet get -o wide, describe and doctor show who signed and what hosts require', async () => {
  await requires('node-1', { required: true, pool: 'gpu', signers: ['ann@example.com'], serial: 150, floor: 100 });
  expect((await relet('get -o wide')).stdout).toMatch(/SIGNED.*\n.*node-1.*ann@example\.com/);
  expect((await relet('describe node-1')).stdout.replace(/\s+/g, ' ')).toContain(
    'Signed: by ann@example.com, serial 150; the host requires a signature, pool gpu, serials from 100 on',
  );
  expect((await relet('doctor')).stdout).toContain('2 nodes that report require signatures');
});

/**
 * FieldPolicies in the cluster: the admission policy of deploy/guards/field-policy-admission.yaml, and the commands. On the embedded
 * server or, with KUBEBUILDER_ASSETS, on a real one (1.30 and later).
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fieldPolicies } from '../src/api/field-policy.js';
import { nodeConfigSets } from '../src/api/node-config-set.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { type Cluster, embeddedCluster, realCluster } from './cluster/cluster.js';
import { eventually } from './eventually.js';
import { needs } from './programs.js';
import { executable } from './run-relet.js';

const deploy = join(import.meta.dirname, '../deploy');
const kubectl = needs('kubectl');
const assets = process.env.KUBEBUILDER_ASSETS;

describe.skipIf(kubectl.isMissing)(`field policies at admission${kubectl.note}`, () => {
  let cluster: Cluster;
  const admin = () => cluster.client('admin');
  const admission = join(deploy, 'guards/field-policy-admission.yaml');

  beforeAll(async () => {
    cluster = assets === undefined ? await embeddedCluster() : await realCluster(assets);
    const kinds = ['nodeconfigs', 'nodeconfigsets', 'fieldpolicies'];
    for (const kind of kinds) await cluster.kubectl('apply', '-f', join(deploy, `base/${kind}.relet.dev.yaml`));
    const crds = kinds.map((kind) => `crd/${kind}.relet.dev`);
    await cluster.kubectl('wait', '--for=condition=Established', ...crds);
    await cluster.kubectl('apply', '-f', admission);
  });
  afterAll(() => cluster?.close());
  afterEach(async () => {
    for (const type of [fieldPolicies, nodeConfigSets])
      for (const { metadata } of (await admin().list(type)).items) await admin().delete(type, { name: metadata.name });
  });

  const policy = (name: string, fields: object) =>
    admin().create(
      fieldPolicies,
      {},
      {
        apiVersion: 'relet.dev/v1alpha1',
        kind: 'FieldPolicy',
        metadata: { name },
        ...fields,
      },
    );
  const set = (config: object, matchLabels: Record<string, string> = { pool: 'gpu' }) => ({
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu' },
    spec: { selector: { matchLabels }, config },
  });
  const create = (config: object, matchLabels?: Record<string, string>) =>
    admin().create(nodeConfigSets, {}, set(config, matchLabels));
  /** A real server takes a while to see a new policy. */
  const rejected = (message: string, ask: (options: { dryRun: true }) => Promise<unknown>) =>
    eventually(message, () => expect(ask({ dryRun: true })).rejects.toThrow(message));

  test('a second apply changes nothing', async () => {
    const lines = (await cluster.kubectl('apply', '-f', admission)).trim().split('\n');
    expect(lines.filter((line) => !line.endsWith(' unchanged'))).toEqual([]);
  });

  test('without a policy any set is admitted', async () => {
    await create({ overlay: { maxPods: 1000 }, unset: ['clusterDomain'] });
  });

  const anonymous = { authentication: { anonymous: { enabled: false } } };
  test.each<[string, object, object, string]>([
    [
      'a field that is not allowed',
      { allow: ['maxPods'] },
      { overlay: { podPidsLimit: 1 } },
      'limits does not list under allow: podPidsLimit',
    ],
    [
      'a field below one that is partly allowed',
      { allow: ['authentication.webhook'] },
      { overlay: anonymous },
      'does not list under allow: authentication.anonymous',
    ],
    [
      'a key of a map',
      { allow: ['evictionHard[memory.available]'] },
      { overlay: { evictionHard: { 'nodefs.available': '1%' } } },
      'under allow: evictionHard.nodefs.available',
    ],
    [
      'a field that is unset and not allowed',
      { allow: ['maxPods'] },
      { overlay: {}, unset: ['clusterDomain'] },
      'under allow: clusterDomain',
    ],
    [
      'a field below one that is denied',
      { deny: ['authentication'] },
      { overlay: anonymous },
      'limits denies changing authentication',
    ],
    [
      'a field that is denied four names deep',
      { deny: ['logging.options.json.infoBufferSize'] },
      { overlay: { logging: { options: { json: { infoBufferSize: 1 } } } } },
      'denies changing logging.options',
    ],
    [
      'a map that is unset and has a key that is denied',
      { deny: ['evictionHard[memory.available]'] },
      { overlay: {}, unset: ['evictionHard'] },
      'denies changing evictionHard',
    ],
    [
      'a number above its bound',
      { bounds: { maxPods: { min: 10, max: 250 } } },
      { overlay: { maxPods: 400 } },
      'limits has bounds: maxPods at least 10 and at most 250',
    ],
    [
      'a number below its bound, in a whole config',
      { bounds: { 'logging.verbosity': { min: 2 } } },
      { whole: { logging: { verbosity: 1 } } },
      'has bounds: logging.verbosity at least 2',
    ],
  ])('rejects %s', async (_name, fields, config, message) => {
    await policy('limits', fields);
    await rejected(message, (options) => admin().create(nodeConfigSets, {}, set(config), options));
  });

  test.each<[string, object, object]>([
    [
      'fields that are allowed, and what is below them',
      { allow: ['maxPods', 'authentication', 'evictionHard[memory.available]'] },
      { overlay: { maxPods: 1, ...anonymous, evictionHard: { 'memory.available': '1Gi' } } },
    ],
    [
      'fields beside those that are denied',
      { deny: ['authentication.x509', 'evictionHard[memory.available]'] },
      { overlay: { ...anonymous, evictionHard: { 'nodefs.available': '1%' } } },
    ],
    ['numbers within their bounds', { bounds: { maxPods: { min: 10, max: 250 } } }, { overlay: { maxPods: 250 } }],
    // The controller and the hosts compare these with the local config.
    ['a whole config, whatever it names', { allow: ['maxPods'] }, { whole: { clusterDomain: 'a' } }],
    [
      'a ConfigMap, whose content is a string',
      { allow: [] },
      { configMap: { namespace: 'relet-system', name: 'a', kubeletConfigKey: 'kubelet' } },
    ],
  ])('admits %s', async (_name, fields, config) => {
    await policy('limits', fields);
    await create(config);
  });

  test('a policy is for the sets that select only nodes with its labels', async () => {
    await policy('gpus', { selector: { matchLabels: { pool: 'gpu' } }, deny: ['maxPods'] });
    const both = set({ overlay: { maxPods: 1 } }, { pool: 'gpu', zone: 'a' });
    await rejected('denies changing maxPods', (options) => admin().create(nodeConfigSets, {}, both, options));
    // Some of these nodes may be in the pool: only the controller knows.
    await create({ overlay: { maxPods: 1 } }, { zone: 'a' });
  });

  test('a set that was there before the policy can be paused, and not changed for the worse', async () => {
    await create({ overlay: { maxPods: 400 } });
    await policy('limits', { bounds: { maxPods: { max: 250 } } });
    const patch = (spec: object, options: { dryRun?: true } = {}) =>
      admin().patch(nodeConfigSets, { name: 'gpu' }, { spec }, { as: 'merge', ...options });
    await rejected('maxPods at most 250', (options) => patch({ config: { overlay: { maxPods: 500 } } }, options));
    await patch({ paused: true });
    await patch({ config: { overlay: { maxPods: 200 } } });
  });

  test('the schema takes the file of a host, and rejects what relet would not understand', async () => {
    await policy('limits', {
      allow: ['maxPods', 'evictionHard[nodefs.inodesFree]'],
      deny: ['authentication'],
      bounds: { maxPods: { min: 10, max: 250 } },
      openingAccess: 'refuse',
    });
    await expect(policy('a', { deny: ['Max Pods'] })).rejects.toThrow('deny[0]');
    await expect(policy('b', { bounds: { maxPods: { min: 9, max: 1 } } })).rejects.toThrow(
      'min must not be greater than max',
    );
    await expect(policy('c', { openingAccess: 'maybe' })).rejects.toThrow('openingAccess');
  });

  describe('commands that change nodes', () => {
    const overlay = `apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {maxPods: 400}\n`;

    beforeAll(async () => {
      const metadata = { name: 'node-a', labels: { pool: 'gpu' } };
      await admin().create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata });
      const nodeConfig = {
        apiVersion: 'relet.dev/v1alpha1',
        kind: 'NodeConfig',
        metadata: { name: 'node-a' },
        spec: {},
      };
      await admin().create({ ...nodeConfigSets, resource: 'nodeconfigs' }, {}, nodeConfig);
      const place = { namespace: 'default' };
      const stored = { name: 'too-many', labels: { 'relet.dev/kubelet-config': 'true' } };
      const data = { kubelet: overlay };
      await admin().create(configMaps, place, { apiVersion: 'v1', kind: 'ConfigMap', metadata: stored, data });
    });

    const relet = (args: string[], user = 'admin') =>
      new Promise<{ status: number; stderr: string; stdout: string }>((resolve) => {
        const env = { ...process.env, EDITOR: 'sed -i "s/{}/{maxPods: 400}/"', KUBECONFIG: cluster.kubeconfig(user) };
        execFile(process.execPath, [executable, ...args, '-n', 'default'], { env }, (error, stdout, stderr) =>
          resolve({ status: Number(error?.code ?? 0), stdout, stderr }),
        );
      });

    test.each([
      ['set', ['set', 'node-a', 'maxPods=400', '--yes']],
      ['edit', ['edit', 'node-a', '--yes']],
      ['assign', ['assign', 'too-many', 'node-a', '--yes']],
      ['a dry run', ['set', 'node-a', 'maxPods=400', '--dry-run=client']],
    ])('%s is refused with policy, field and bound, and writes nothing', async (_name, args) => {
      await policy('limits', { selector: { matchLabels: { pool: 'gpu' } }, bounds: { maxPods: { max: 250 } } });
      const { status, stderr } = await relet(args);
      expect(stderr).toContain("FieldPolicy limits: maxPods is 400, above the field policy's maximum 250 (node-a)");
      expect(status).toBe(2);
      expect(
        (await admin().list(configMaps, { namespace: 'default', labelSelector: 'relet.dev/kubelet-config' })).items,
      ).toHaveLength(1);
    });

    test('a policy for other nodes refuses nothing', async () => {
      await policy('limits', { selector: { matchLabels: { pool: 'web' } }, bounds: { maxPods: { max: 250 } } });
      const { status, stdout } = await relet(['set', 'node-a', 'maxPods=400', '--dry-run=client']);
      expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('400') });
    });
  });
});

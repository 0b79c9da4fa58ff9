/**
 * Nodes that the first edition (commit e8a3436) left behind start under this edition, keep what they ran, and start under the
 * first edition again. test/fixtures/first-edition/README.md says how their directories were made.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { configLabel, type NodeConfig, type NodeConfigObjectStatus, nodeConfigs } from '../src/api/node-config.js';
import type { KubeObject } from '../src/api/object.js';
import type { KubeClient } from '../src/kube/client.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { type ClusterRig, createClusterRig, nodeName } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { fakeKubelet, type Place, type Started, start } from './process-rig.js';
import { isInHistory, unpackEdition } from './rig/edition.js';
import { executable } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const commit = 'e8a3436';
const root = join(import.meta.dirname, '..');
const fixtures = join(import.meta.dirname, 'fixtures/first-edition');
/** Records of the first edition are found by a hash that contains these flags, so the port cannot be another one. */
const port = 21848;
const flags = ['--kubeconfig=kubeconfig', `--healthz-port=${port}`, '--enable-server=false'];

interface State {
  name: string;
  assigned: string;
  active: string;
  lastKnownGood?: string;
  error?: true;
  /** Healthy time of its trial so far. */
  trialSeconds?: number;
  held?: true;
  through?: 'Node';
}

const states: State[] = [
  { name: 'mid-trial', assigned: 'one', active: 'one', trialSeconds: 20 },
  { name: 'rolled-back', assigned: 'two', active: 'one', lastKnownGood: 'one', error: true },
  { name: 'held', assigned: 'one', active: 'one', lastKnownGood: 'one', held: true },
  { name: 'alpha', assigned: 'one', active: 'one', lastKnownGood: 'one' },
  { name: 'alpha-reference', assigned: 'one', active: 'one', lastKnownGood: 'one', through: 'Node' },
  { name: 'another-assigned', assigned: 'two', active: 'two', lastKnownGood: 'one', trialSeconds: 10 },
  { name: 'rejected', assigned: 'two', active: 'one', lastKnownGood: 'one', error: true },
];
type Crd = 'with the old' | 'with the new' | 'without';
const crds = ({ through }: State): Crd[] => (through === 'Node' ? ['without'] : ['with the old', 'with the new']);
const cases = states.flatMap((state) => crds(state).map((crd) => [state.name, crd, state] as const));

const hasFirst = isInHistory(commit);
const note = hasFirst
  ? ', and starts again under the first edition'
  : ` (skipped: start again under the first edition, since commit ${commit} is not in this clone)`;

let first: string | undefined;
const building = hasFirst ? temporaryDir() : undefined;
const turn = createServer();

beforeAll(async () => {
  // Only one of several runs of this file on one machine gets the port.
  await eventually('no other run of this file', async () => {
    turn.listen(port + 1, '127.0.0.1');
    return once(turn, 'listening');
  });
  if (building !== undefined) first = await buildFirstEdition(building);
});
afterAll(() => void turn.close());

test.each(cases)(`a node left %s keeps what it ran, %s CRD${note}`, async (_name, crd, state) => {
  const node = await leftBehind(state, crd);
  const editions = [executable, ...(first === undefined ? [] : [first])];
  const before = editions.map((relet) => onHost(relet, node.place.dir));

  const now = node.start(executable);
  await node.keeps(now);
  if (state.held && crd === 'with the new') expect((await node.status())?.held).toMatchObject({ why: held });
  const granted = state.through === 'Node' ? undefined : await node.grant();
  await end(now);
  if (granted !== undefined) expect((await node.status())?.conditions).toContainEqual(granted);
  expect(now.starts().map(configOf)).toEqual([node.runs]);
  expect(editions.map((relet) => onHost(relet, node.place.dir))).toEqual(before);
  expect(node.statusWrites()).toBeLessThanOrEqual(mostWrites);

  if (first === undefined) return;
  await node.forgetStatus();
  const again = node.start(first);
  await node.keeps(again);
  await end(again);
  expect(again.starts().map(configOf)).toEqual([node.runs, node.runs]);
  expect(onHost(first, node.place.dir)).toEqual(before[1]);
});

const back = (name: string) => (hasFirst ? `${name}, also under the first edition again` : `${name}${note}`);

test(back('a trial of the first edition passes here after the rest of its time'), async () => {
  const node = await leftBehind(stateOf('mid-trial'), 'with the new');
  const now = node.start(executable, '21s');
  const good = ({ config }: NodeConfigObjectStatus) => config?.lastKnownGood?.configMap?.name === 'one';
  await node.until('last known good', now, good);
  await end(now);
  if (first === undefined) return;
  await node.forgetStatus();
  const again = node.start(first);
  await node.until('last known good', again, good);
  await end(again);
  expect(again.starts().map(configOf)).toEqual([node.runs, node.runs]);
});

test(
  back('a config that is rolled back here leaves the node with the last known good of the first edition'),
  async () => {
    const node = await leftBehind(stateOf('rejected'), 'with the new');
    const now = node.start(executable);
    await node.keeps(now);
    await node.assign('three', 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n# exit 1\n');
    const rolledBack = ({ config }: NodeConfigObjectStatus) =>
      config?.assigned?.configMap?.name === 'three' &&
      config.active?.configMap?.name === 'one' &&
      config.lastKnownGood?.configMap?.name === 'one' &&
      config.error !== undefined;
    await node.until('rolled back', now, rolledBack);
    await end(now);
    expect(configOf(now.starts().at(-1)!)).toEqual(node.runs);
    if (first === undefined) return;
    await node.forgetStatus();
    const again = node.start(first);
    await node.until('rolled back', again, rolledBack);
    await end(again);
    expect(configOf(again.starts().at(-1)!)).toEqual(node.runs);
  },
);

const stateOf = (name: string) => states.find((state) => state.name === name)!;

async function end(started: Started): Promise<void> {
  started.process.kill('SIGTERM');
  expect(await started.exit).toEqual({ code: 0, signal: null });
}

const held = 'a disk is replaced';
/** A start reports a handful of changes; a loop would write without end. */
const mostWrites = 8;

/** As `npm run build` of that commit, for the one bundle that runs on a node. */
async function buildFirstEdition(dir: string): Promise<string> {
  unpackEdition(commit, dir, 'src', 'bin', 'package.json');
  await build({
    absWorkingDir: dir,
    entryPoints: { node: 'src/cli/node/kubelet.ts' },
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    supported: { 'dynamic-import': false },
    logLevel: 'error',
  });
  return join(dir, 'bin', 'relet.cjs');
}

/** Returns the state that an edition finds on disk. */
function onHost(relet: string, dir: string): object {
  const args = [relet, 'node', 'status', '-o', 'json', `--dynamic-config-dir=${dir}`];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  const { assigned, active, lastKnownGood, held, failures } = JSON.parse(stdout);
  return { assigned, active, lastKnownGood, held, failures };
}

async function leftBehind(state: State, crd: Crd) {
  const rootDir = temporaryDir();
  const answered: { user: string; request: string }[] = [];
  const rig = await createClusterRig({
    boot: false,
    server: {
      dynamicKubeletConfig: state.through === 'Node',
      onRequest: (_exchange, { user, verb, resource, subresource }) =>
        answered.push({ user: user.name, request: `${verb} ${[resource, subresource].filter(Boolean).join('/')}` }),
    },
  });
  const type = state.through === 'Node' ? nodes : nodeConfigs;
  const values = new Map([
    ['PLACE', rootDir],
    ['BOOT-ID', readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()],
  ]);
  const objects = parseAllDocuments(readFileSync(join(fixtures, state.name, 'objects.yaml'), 'utf8')).map(
    (document) => document.toJS() as KubeObject & { status?: object; data: Record<string, string> },
  );
  const configs = objects.filter(({ kind }) => kind === 'ConfigMap');
  for (const config of configs) {
    const { metadata } = await rig.admin.create(configMaps, { namespace: 'kube-system' }, config);
    values.set(`UID-OF-${metadata.name}`, metadata.uid!).set(`VERSION-OF-${metadata.name}`, metadata.resourceVersion!);
  }
  const filled = (text: string) => [...values].reduce((rest, [name, value]) => rest.replaceAll(name, value), text);
  const reference = JSON.parse(filled(JSON.stringify(objects.at(-1)))) as NodeConfig;
  await refer(rig, reference, crd);
  copy(join(fixtures, state.name, 'dynamic-config'), join(rootDir, 'dynamic-config'), filled);
  cpSync(rig.nodeKubeconfig, join(rootDir, 'kubeconfig'));
  const kubelet = join(rootDir, 'kubelet');
  symlinkSync(fakeKubelet, kubelet);

  const place: Place = { dir: join(rootDir, 'dynamic-config'), port, cwd: rootDir, kubelet };
  const object = () => rig.admin.get<NodeConfig>(type, { name: nodeName });
  const requests = (wanted: string) =>
    answered.filter(({ user, request }) => user === `system:node:${nodeName}` && request === wanted).length;
  const statusOf = (name: string | undefined) =>
    name && {
      configMap: {
        namespace: 'kube-system',
        name,
        uid: values.get(`UID-OF-${name}`),
        resourceVersion: values.get(`VERSION-OF-${name}`),
        kubeletConfigKey: 'kubelet',
      },
    };
  let { resourceVersion } = (await object()).metadata;
  /** The first status of this kind that the node itself has written. */
  const until = async (
    what: string,
    { output, process }: Started,
    isSo: (status: NodeConfigObjectStatus) => boolean,
  ) => {
    let seen: NodeConfig | undefined;
    return eventually(
      what,
      async () => {
        seen = await object();
        return seen.metadata.resourceVersion !== resourceVersion && isSo(seen.status ?? {}) && seen.status!;
      },
      {
        seen: () => `${JSON.stringify(seen?.status, null, 1)}\n${output()}`,
        hopeless: () => process.exit !== undefined && `relet has exited\n${output()}`,
      },
    );
  };

  return {
    place,
    runs: configOf({ config: configs.find(({ metadata }) => metadata.name === state.active)!.data.kubelet! }),
    until,
    start: (relet: string, trial = '10m') =>
      start({ ...place, relet }, `--dynamic-config-dir=${place.dir}`, `--trial-duration=${trial}`, ...flags),
    async assign(name: string, kubelet: string) {
      await rig.createConfigMap(name, { kubelet }, { metadata: { name, labels: { [configLabel]: 'true' } } });
      const configMap = { namespace: 'kube-system', name, kubeletConfigKey: 'kubelet' };
      await rig.admin.patch(type, { name: nodeName }, { spec: { configSource: { configMap } } }, { as: 'merge' });
    },
    status: async () => (await object()).status,
    statusWrites: () => requests(`update ${type.resource}/status`) + requests(`patch ${type.resource}/status`),
    /** As the controller would: the node leaves the condition there. */
    async grant() {
      const present = await object();
      const condition = { type: 'Granted', status: 'True', reason: 'RoleBound', message: 'The node may read it.' };
      const granted = { ...condition, lastTransitionTime: '2026-11-16T09:00:00Z' };
      const status = { ...present.status, conditions: [...(present.status?.conditions ?? []), granted] };
      await eventually('granted', async () =>
        rig.admin.update(type, { name: nodeName, subresource: 'status' }, { ...(await object()), status }),
      );
      return granted;
    },
    async forgetStatus() {
      const present = await object();
      const { metadata } = await rig.admin.update(
        type,
        { name: nodeName, subresource: 'status' },
        { ...present, status: {} },
      );
      resourceVersion = metadata.resourceVersion;
    },
    /** Resolves when it has read its assignment and reported the state in which it was left. */
    async keeps(started: Started) {
      const reads = requests('get configmaps');
      const isHealthy = ({ trial }: NodeConfigObjectStatus) =>
        state.trialSeconds === undefined || trial?.endsAt !== undefined;
      const report = await until(
        `${state.name} is reported again`,
        started,
        (status) =>
          status.config?.active !== undefined &&
          isHealthy(status) &&
          (state.held === true || requests('get configmaps') > reads),
      );
      expect(report.config).toEqual({
        assigned: statusOf(state.assigned),
        active: statusOf(state.active),
        ...(state.lastKnownGood && { lastKnownGood: statusOf(state.lastKnownGood) }),
        ...(state.error && { error: expect.any(String) }),
      });
      if (state.trialSeconds === undefined) expect(report.trial).toBeUndefined();
      else expect(report.trial!.healthySeconds).toBeGreaterThanOrEqual(state.trialSeconds);
    },
  };
}

/** The reference as the first edition knew it, under the definition of its time; then the definition is upgraded, or not. */
async function refer({ admin }: ClusterRig, reference: NodeConfig, crd: Crd): Promise<void> {
  const { spec, status } = reference;
  if (crd === 'without') {
    await admin.patch(nodes, { name: nodeName }, { spec }, { as: 'merge' });
    return;
  }
  const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
  const definition = (file: string) => parse(readFileSync(file, 'utf8')) as KubeObject;
  const present = await admin.create(definitions, {}, definition(join(fixtures, 'nodeconfigs.crd.yaml')));
  await allow(admin);
  const made = await eventually('NodeConfigs are served', () => admin.create<NodeConfig>(nodeConfigs, {}, reference));
  await admin.update(nodeConfigs, { name: nodeName, subresource: 'status' }, { ...made, status });
  if (crd === 'with the old') return;
  const next = definition(join(root, 'deploy/base/nodeconfigs.relet.dev.yaml'));
  const { name } = present.metadata;
  await admin.patch(definitions, { name }, { spec: (next as KubeObject & { spec: object }).spec }, { as: 'merge' });
}

async function allow(admin: KubeClient): Promise<void> {
  const rbac = (resource: string) => ({ group: 'rbac.authorization.k8s.io', version: 'v1', resource });
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const metadata = { name: 'nodes-of-the-test' };
  const rules = [
    {
      apiGroups: ['relet.dev'],
      resources: ['nodeconfigs', 'nodeconfigs/status'],
      verbs: ['get', 'list', 'watch', 'update', 'patch'],
    },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
  ];
  await admin.create(rbac('clusterroles'), {}, { apiVersion, kind: 'ClusterRole', metadata, rules });
  const apiGroup = 'rbac.authorization.k8s.io';
  await admin.create(
    rbac('clusterrolebindings'),
    {},
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name: metadata.name },
      subjects: [{ kind: 'Group', apiGroup, name: 'system:nodes' }],
    },
  );
}

/** With the modes that relet gives its files: git does not keep them. */
function copy(from: string, to: string, filled: (text: string) => string): void {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const target = join(to, filled(file.slice(from.length)));
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    writeFileSync(target, filled(readFileSync(file, 'utf8')), { mode: 0o600 });
  }
}

/** Returns the fields of a config, in the form in which a current kubelet takes them. */
function configOf({ config }: { config: string }): object {
  const { apiVersion: _version, maxPerPodContainerCount: _gone, evictionHard, ...rest } = parse(config);
  const [name, value] = typeof evictionHard === 'string' ? evictionHard.split('<') : [];
  return { ...rest, ...(evictionHard && { evictionHard: name === undefined ? evictionHard : { [name]: value } }) };
}

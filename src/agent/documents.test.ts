/** When a document is made, when a known one is used, and what is kept of it. */
import { describe, expect, test } from 'vitest';
import type { ExactRef } from '../api/config-ref.js';
import { readPlain } from '../config/plain-document.js';
import { silentLog } from '../log.js';
import { SimulatedDisk } from '../rehearsal/simulation/disk.js';
import { Documents, type DocumentsOptions, type HostFile, recentDocuments } from './documents.js';
import { dropInOf } from './embedded-drop-in.js';
import { NodeState } from './state/node-state.js';
import { garbageCollect } from './transitions.js';
import { makeDocument } from './validate/host-validator.js';

const source: ExactRef = {
  namespace: 'kube-system',
  name: 'c',
  uid: 'uid',
  resourceVersion: '1',
  kubeletConfigKey: 'kubelet',
};
const whole = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const alpha = 'apiVersion: kubeletconfig/v1alpha1\nkind: KubeletConfiguration\npodManifestPath: manifests\n';
const overlay = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {maxPods: 50}\n';

function createNode(text: string, options: Partial<DocumentsOptions> = {}) {
  const files = new SimulatedDisk();
  for (const path of ['/d', '/d/meta', '/d/checkpoints']) files.makeDir(path, 0o700);
  const state = new NodeState('/d', silentLog, files);
  const payload = { files: new Map([['kubelet', Buffer.from(text)]]), annotations: {}, binaryKeys: [] };
  state.checkpoints.save(source, payload);
  let local: HostFile[] = [{ path: '/etc/k.yaml', data: Buffer.from(`${whole}eventBurst: 7\n`) }];
  let made = 0;
  const documents = new Documents({
    state,
    localFiles: () => local,
    make: async (from) => {
      made++;
      return makeDocument(from);
    },
    version: '1.0.0',
    ...options,
  });
  return {
    files,
    state,
    documents,
    of: (version = 'v1.32.1') => documents.of(state.checkpoints.load(source), version),
    made: () => made,
    setLocal: (text: string) => (local = [{ path: '/etc/k.yaml', data: Buffer.from(whole + text) }]),
  };
}

test('a whole config is its own document, and nothing is loaded for it', async () => {
  const node = createNode(`${whole}maxPods: 5\n`);
  expect(await node.of()).toMatchObject({ file: '/d/checkpoints/uid/1/kubelet', text: `${whole}maxPods: 5\n` });
  expect(node.made()).toBe(0);
});

test('a whole config with an escape is looked at once', async () => {
  const node = createNode(`${whole}clusterDomain: "\\x41"\n`);
  await node.of();
  expect(await node.of()).toMatchObject({ file: '/d/checkpoints/uid/1/kubelet' });
  expect(node.made()).toBe(1);
});

test('a payload of DKC alpha is converted once, with absolute paths, and keeps its identity', async () => {
  const node = createNode(alpha);
  const document = await node.of();
  expect(document.file).toMatch(/^\/d\/documents\//);
  expect(JSON.parse(document.text)).toMatchObject({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    staticPodPath: '/d/checkpoints/uid/1/manifests',
  });
  expect(document).toMatchObject({ digest: node.state.checkpoints.load(source).digest });
  expect(document).not.toHaveProperty('mergedDigest');
  expect(await node.of()).toEqual(document);
  expect(node.made()).toBe(1);
});

test('a converted payload keeps a number that JavaScript cannot hold', async () => {
  const node = createNode(`${alpha}maxOpenFiles: 9007199254740993\n`);
  expect((await node.of()).text).toContain('"maxOpenFiles": 9007199254740993');
});

test('an overlay is merged again after a change of the local file, of the kubelet, and of nothing else', async () => {
  const node = createNode(overlay);
  const first = await node.of();
  expect(first.text).toContain('eventBurst: 7');
  expect(first.mergedDigest).toBe(first.digest);
  await node.of();
  expect(node.made()).toBe(1);
  node.setLocal('eventBurst: 8\n');
  expect((await node.of()).text).toContain('eventBurst: 8');
  expect(node.made()).toBe(2);
  await node.of('v1.33.0');
  expect(node.made()).toBe(3);
});

test('a merged document that passed its trial is used as it was, and made again when it is lost', async () => {
  const node = createNode(overlay);
  const before = await node.of();
  node.setLocal('eventBurst: 8\n');
  const checkpoint = node.state.checkpoints.load(source);
  const recorded = () => node.documents.recorded(checkpoint, before.digest, 'v1.32.1');
  expect(await recorded()).toEqual(before);
  node.files.remove(before.file!);
  expect((await recorded()).text).toContain('eventBurst: 8');
});

test('a damaged document is not used', async () => {
  const node = createNode(overlay);
  const { file } = await node.of();
  node.files.remove(file!);
  node.files.create(file!, Buffer.from('torn'), 0o600);
  expect((await node.of()).text).toContain('maxPods: 50');
  expect(node.made()).toBe(2);
});

test('documents that neither a record names nor a change needs are deleted', async () => {
  const node = createNode(overlay);
  const { digest } = await node.of();
  node.state.setLastKnownGood({ ...source, mergedDigest: digest });
  for (let burst = 10; burst < 20; burst++) {
    node.setLocal(`eventBurst: ${burst}\n`);
    await node.of();
  }
  garbageCollect(node.state, silentLog, undefined);
  const kept = node.files.list('/d/documents');
  expect(kept).toHaveLength(recentDocuments(node.state).length + 1);
  expect(kept).toContain(`${digest}.yaml`);
});

test('an overlay that cannot be decoded is rejected with its place', async () => {
  const node = createNode(`${overlay.replace('50', 'many')}`);
  await expect(node.of()).rejects.toMatchObject({ reason: 'ParseFailed', cause: { message: /kubelet:3:18/ } });
});

test.each([
  ['an overlay', overlay],
  ['torn', '{'],
])('a local file that is %s is left to the kubelet', async (_what, text) => {
  const node = createNode(whole, {
    localFiles: () => [{ path: '/etc/k.yaml', data: Buffer.from(`${text} # v1alpha1`) }],
  });
  expect(await node.documents.local('v1.32.1')).toMatchObject({ file: undefined });
});

test('a local file of DKC alpha is started from a converted copy', async () => {
  const node = createNode(whole, {
    localFiles: () => [{ path: '/init/kubelet', data: Buffer.from(alpha) }],
    localFile: '/init/kubelet',
  });
  expect((await node.documents.local('v1.23.0')).file).toMatch(/^\/d\/documents\//);
});

describe('a kubelet inside k3s, or below RKE2', () => {
  const dropInDir = '/var/lib/rancher/k3s/agent/etc/kubelet.conf.d';
  const defaults = { path: `${dropInDir}/00-k3s-defaults.conf`, dropIn: true as const };
  const create = (text: string) =>
    createNode(text, {
      dropInDir,
      localFiles: () => [{ ...defaults, data: Buffer.from(`${whole}clusterDomain: a.example\nmaxPods: 30\n`) }],
    });

  test('is given the overlay alone, as the last of its drop-ins, and is validated with all of them', async () => {
    const { text, mergedDigest, digest } = await create(`${overlay}unset: [clusterDomain]\n`).of('v1.36.4+k3s1');
    expect(readPlain(text)).toMatchObject({ maxPods: 50, readOnlyPort: 10255 });
    expect(readPlain(text)).not.toHaveProperty('clusterDomain');
    expect(readPlain(dropInOf(text))).toEqual({ ...(readPlain(whole) as object), clusterDomain: null, maxPods: 50 });
    expect(mergedDigest).toBe(digest);
  });

  test('rejects a whole config, with the command that turns it into an overlay', async () => {
    const error = await create(`${whole}maxPods: 5\n`)
      .of('v1.36.4+k3s1')
      .catch((error: unknown) => error);
    expect(error).toMatchObject({
      reason: 'ParseFailed',
      cause: { message: expect.stringContaining("'relet convert'") },
    });
  });
});

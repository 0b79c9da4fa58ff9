/** Configs of a node as the API shows them, with and without the right to query kubelets. */
import { describe, expect, test } from 'vitest';
import type { LocalConfig } from '../api/node-config.js';
import { ApiError } from '../api/status.js';
import { readCommandLine } from '../config/flags.js';
import type { KubeletConfig } from '../config/model.js';
import { encodeOverlay } from '../config/overlay.js';
import type { KubeClient } from '../kube/client.js';
import { asConfigText } from './config-text.js';
import type { ConfigReferences, ConfiguredNode } from './configured-node.js';
import { nodeConfigReader } from './node-configs.js';

const source = (name: string) => ({
  configMap: { namespace: 'n', name, kubeletConfigKey: 'kubelet', uid: name, resourceVersion: '1' },
});
const node = (name: string, config?: string): ConfiguredNode =>
  ({
    name,
    kubeletVersion: 'v1.32.1',
    configSource: config && source(config),
    status: config ? { assigned: source(config), active: source(config) } : {},
    pinnedByFlags: ['address'],
  }) as ConfiguredNode;

const payloads: Record<string, string> = {
  over: encodeOverlay({ config: { maxPods: 5 }, unset: ['clusterDomain'] }),
  whole: asConfigText({ maxPods: 6 }, 32),
};

interface Shown {
  /** Files that the agent reports; none of an earlier relet. */
  files?: LocalConfig['files'];
  /** Answer of the kubelet; a 403 unless given. */
  configz?: KubeletConfig;
  kubeletFlags?: unknown;
}

function readerOf({ files, configz, kubeletFlags }: Shown) {
  const asked: string[] = [];
  const client = {
    get: async (_type: unknown, { name }: { name: string }) => {
      asked.push(name);
      if (payloads[name] === undefined) throw new ApiError(404, 'NotFound', 'gone');
      return { metadata: { name, uid: name, resourceVersion: '1' }, data: { kubelet: payloads[name] } };
    },
    raw: async ({ path }: { path: string }) => {
      asked.push(path);
      if (configz === undefined) throw new ApiError(403, 'Forbidden', 'no');
      return { text: JSON.stringify({ kubeletconfig: configz }) };
    },
  } as unknown as KubeClient;
  const references = {
    reportedLocal: async () => ({ localConfig: files && { files }, kubeletFlags }),
  } as unknown as ConfigReferences;
  return { asked, reader: nodeConfigReader({ client, references, signal: new AbortController().signal }) };
}

const files = [
  { path: '/etc/kubelet.yaml', config: { maxPods: 250, clusterDomain: 'a' } },
  { path: '/etc/kubelet.d/10.conf', dropIn: true as const, config: { clusterDomain: 'b', podsPerCore: 3 } },
];

describe('a node whose agent reports its local config', () => {
  test('shows what it runs, and no kubelet is asked', async () => {
    const { asked, reader } = readerOf({ files });
    expect(await reader.read(node('a'))).toMatchObject({
      local: { maxPods: 250, clusterDomain: 'b', podsPerCore: 3 },
      active: { maxPods: 250, clusterDomain: 'b', podsPerCore: 3 },
    });
    const { active, assigned } = await reader.read(node('a', 'over'));
    expect(active).toMatchObject({ maxPods: 5, podsPerCore: 3 });
    expect(active).not.toHaveProperty('clusterDomain');
    expect(assigned.text).toBe(payloads.over);
    expect((await reader.read(node('a', 'whole'))).active).toMatchObject({ maxPods: 6 });
    expect(asked).toEqual(['over', 'whole']);
  });

  test.each([
    ['not a list', 'x'],
    ['files without a config', [{ path: '/a' }]],
    ['a config that no kubelet reads', [{ path: '/a', config: { maxPods: 'many' } }]],
  ])('is not believed where it reports %s', async (_name, wrong) => {
    const { reader } = readerOf({ files: wrong as LocalConfig['files'] });
    expect((await reader.read(node('a'))).local).toBeUndefined();
  });
});

describe('flags that the agent of a node reports', () => {
  test('are arguments again, with a value in place of one that is not shown', async () => {
    const kubeletFlags = [
      { name: 'max-pods', value: '60' },
      { name: 'kubeconfig' },
      { name: 'maximum-dead-containers' },
      { name: 'exit-on-lock-contention' },
      { name: 'no-such-flag' },
    ];
    const { flags } = await readerOf({ files, kubeletFlags }).reader.read(node('a'));
    expect(flags!.map((flag) => flag.split('=')[0])).toEqual(kubeletFlags.map(({ name }) => `--${name}`));
    expect(flags![0]).toBe('--max-pods=60');
    expect(readCommandLine(flags!, 34).errors.map(({ message }) => message)).toEqual(['unknown flag: --no-such-flag']);
  });

  test.each([
    ['not a list', 'x'],
    ['flags without a name', [{ value: 'x' }]],
    ['nothing', undefined],
  ])('are not known where it reports %s', async (_name, kubeletFlags) => {
    expect((await readerOf({ files, kubeletFlags }).reader.read(node('a'))).flags).toBeUndefined();
  });
});

describe('a node whose agent does not', () => {
  test('shows what its kubelet answers, without flags, where that may be asked', async () => {
    const { reader } = readerOf({ configz: { maxPods: 7, address: '10.0.0.1' } });
    expect(await reader.read(node('a'))).toMatchObject({ local: { maxPods: 7 }, active: { maxPods: 7 } });
    const { local, active } = await reader.read(node('a', 'over'));
    expect(local).toBeUndefined();
    expect(active).toMatchObject({ maxPods: 7 });
    expect(active).not.toHaveProperty('address');
  });

  test('shows nothing elsewhere, and after one refusal no other kubelet is asked', async () => {
    const { asked, reader } = readerOf({});
    for (const name of ['a', 'b']) expect((await reader.read(node(name))).active).toBeUndefined();
    expect(asked).toEqual(['/api/v1/nodes/a/proxy/configz']);
    await expect(reader.runningOrActive(node('c'))).rejects.toThrow(/what c runs with is not known/);
  });
});

test('an assigned ConfigMap that is gone is a problem, not a local config', async () => {
  const { assigned } = await readerOf({ files }).reader.read(node('a', 'deleted'));
  expect(assigned).toMatchObject({ ref: { name: 'deleted' }, text: undefined, problem: 'gone' });
});

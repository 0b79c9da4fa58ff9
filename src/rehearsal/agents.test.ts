/** One agent for nodes that are alike and get the same config together: who runs, and what the others report. */
import { expect, test } from 'vitest';
import { ManualClock } from '../../test/manual-clock.js';
import type { NodeConfig } from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { Agents } from './agents.js';
import { seededRandom } from './simulation/seeded-random.js';

const names = ['a', 'b', 'c'];
const source = (name: string) => ({ configMap: { namespace: 'n', name, kubeletConfigKey: 'kubelet' } });

/** Nodes of one kind whose NodeConfigs are in a store without a server. */
async function nodesAlike({ isAlone = () => false }: { isAlone?(name: string): boolean } = {}) {
  const clock = new ManualClock();
  const objects = new Map<string, NodeConfig>();
  const booted: string[] = [];
  const nodes = new Map(
    names.map((name) => {
      let running = 'local';
      const node = {
        isResting: name !== 'a',
        agent: {},
        image: () => ({ running }),
        become: (image: { running: string }) => (running = image.running),
        boot() {
          node.isResting = false;
          booted.push(`${name} from ${running}`);
        },
        rest: () => (node.isResting = true),
        switchTo: (config: string) => (running = config),
      };
      return [name, node] as const;
    }),
  );
  const put = (name: string, change: Partial<NodeConfig>) => {
    const present = objects.get(name) ?? {
      apiVersion: 'relet.dev/v1alpha1',
      kind: 'NodeConfig',
      metadata: { name, generation: 1 },
    };
    objects.set(name, { ...present, ...change } as NodeConfig);
    return objects.get(name)!;
  };
  const store = {
    latest: ({ name }: { name: string }) => ({ revision: 1, bytes: Buffer.from(JSON.stringify(objects.get(name))) }),
    write: async ({ key, encode }: { key: { name: string }; encode(revision: number): Buffer }) =>
      put(key.name, JSON.parse(encode(2).toString('utf8'))),
  };
  for (const name of names) put(name, { status: { config: {}, conditions: [] } });
  const agents = new Agents({
    cluster: { clock, nodes, server: { store } } as never,
    kinds: new Map(names.map((name) => [name, 'a'])),
    random: seededRandom('test'),
    isAlone,
    nodeConfig: (name) => objects.get(name),
  });
  await agents.copyKinds();
  return {
    clock,
    booted,
    nodes,
    write(name: string, config: string) {
      const { metadata } = objects.get(name)!;
      const generation = (metadata.generation ?? 1) + 1;
      agents.written(put(name, { metadata: { ...metadata, generation }, spec: { configSource: source(config) } }));
    },
    /** As the agent of that node does. */
    report(name: string, config: string) {
      const { generation = 1 } = objects.get(name)!.metadata;
      nodes.get(name)!.switchTo(config);
      const active = { assigned: source(config), active: source(config) };
      agents.reported(put(name, { status: { observedGeneration: generation, config: active, conditions: [] } }));
    },
    agents,
    activeOf: (name: string) => objects.get(name)!.status?.config?.active?.configMap?.name,
    isCurrent: (name: string) =>
      objects.get(name)!.status?.observedGeneration === objects.get(name)!.metadata.generation,
  };
}

test('a node that is not there yet is added with a NodeConfig like the one of its kind, which its Node owns', async () => {
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'a', uid: 'of a' };
  const metadata = { name: 'a', uid: 'config of a', generation: 1, ownerReferences: [owner] };
  const status = { config: {}, conditions: [{ type: 'Granted' }] };
  const like = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata, status } as never as NodeConfig;
  const written = new Map<string, KubeObject>();
  const write = async ({ key, encode }: { key: { resource: string }; encode(revision: number): Buffer }) =>
    written.set(key.resource, JSON.parse(encode(7).toString('utf8')));
  const node = { image: () => ({}), rest: () => {} };
  const agents = new Agents({
    cluster: { nodes: new Map([['a', node]]), server: { store: { write } } } as never,
    kinds: new Map(['a', 'b'].map((name) => [name, 'a'])),
    random: seededRandom('test'),
    isAlone: () => false,
    nodeConfig: () => like,
  });
  const labels = { zone: '2' };
  await agents.copyKinds(new Map([['b', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'b', labels } }]]));
  const [added, config] = [written.get('nodes')!, written.get('nodeconfigs')!];
  expect(added.metadata).toMatchObject({ name: 'b', labels, resourceVersion: '7' });
  expect(config).toMatchObject({
    metadata: { name: 'b', ownerReferences: [{ name: 'b', uid: added.metadata.uid }] },
    status,
  });
  expect(new Set(['config of a', added.metadata.uid, config.metadata.uid]).size).toBe(3);
});

test('the first that is written runs, and what it reports is written for the others, later', async () => {
  const { clock, booted, write, report, activeOf, isCurrent } = await nodesAlike();
  for (const name of names) write(name, 'new');
  report('a', 'new');
  expect(booted).toEqual(['a from local']);
  await clock.advance(10_000);
  for (const name of ['b', 'c']) expect([activeOf(name), isCurrent(name)]).toEqual(['new', true]);
});

test('a node with an agent of its own, or with another config, does not follow', async () => {
  const { booted, write } = await nodesAlike({ isAlone: (name) => name === 'b' });
  write('a', 'new');
  write('b', 'new');
  write('c', 'other');
  expect(booted).toEqual(['a from local', 'b from local', 'c from local']);
});

test('when the leader is assigned another config, the next one leads from the same state, and the rest follow it', async () => {
  const { clock, booted, nodes, write, report, activeOf } = await nodesAlike();
  for (const name of names) write(name, 'new');
  report('a', 'new');
  await clock.advance(10_000);
  write('a', 'old');
  expect(booted).toEqual(['a from local', 'b from new']);
  report('a', 'old');
  await clock.advance(10_000);
  expect(['b', 'c'].map(activeOf)).toEqual(['new', 'new']);
  write('b', 'old');
  expect(booted.at(-1)).toBe('c from new');
  expect(nodes.get('c')!.isResting).toBe(false);
});

test('a follower that is assigned another config runs from the state of its leader', async () => {
  const { clock, booted, write, report, activeOf } = await nodesAlike();
  for (const name of names) write(name, 'new');
  report('a', 'new');
  await clock.advance(10_000);
  write('b', 'old');
  expect(booted.at(-1)).toBe('b from new');
  report('b', 'old');
  await clock.advance(10_000);
  expect(names.map(activeOf)).toEqual(['new', 'old', 'new']);
});

test('after the trial the agent ends, and nodes that were changed together are alike again', async () => {
  const { clock, booted, write, report, agents } = await nodesAlike();
  for (const name of names) write(name, 'new');
  report('a', 'new');
  agents.updated('a');
  await clock.advance(60_000);
  for (const name of names) write(name, 'next');
  expect(booted).toEqual(['a from local', 'a from new']);
});

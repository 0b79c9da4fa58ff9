/** Facts of a node and its pods, as the API shows them. */
import { describe, expect, test } from 'vitest';
import { ApiError } from '../api/status.js';
import type { KubeClient } from '../kube/client.js';
import { configEvents, podFacts, readNodeFacts } from './node-facts.js';

const { signal } = new AbortController();
const [one, mega] = [10n ** 9n, 10n ** 9n * 2n ** 20n];

const container = (cpu: string, more = {}) => ({ name: 'c', resources: { requests: { cpu } }, ...more });
const requests = (spec: object, status = {}) =>
  podFacts({ metadata: { name: 'a', namespace: 'b' }, spec, status } as Parameters<typeof podFacts>[0]).requests;

describe('requests of a pod', () => {
  test.each<[string, bigint, object, object?]>([
    ['containers are added up', 3n * one, { containers: [container('1'), container('2')] }],
    ['init containers run one by one', 4n * one, { containers: [container('1')], initContainers: [container('4')] }],
    [
      'a sidecar stays beside the containers',
      3n * one,
      { containers: [container('1')], initContainers: [container('2', { restartPolicy: 'Always' })] },
    ],
    [
      'an init container runs beside the sidecars started before it',
      6n * one,
      { containers: [container('1')], initContainers: [container('2', { restartPolicy: 'Always' }), container('4')] },
    ],
    ['overhead is added', (3n * one) / 2n, { containers: [container('1')], overhead: { cpu: '500m' } }],
    ['the pod as a whole', 5n * one, { containers: [container('1')], resources: { requests: { cpu: '5' } } }],
    [
      'a resize counts as far as it was allocated',
      one,
      { containers: [container('9')] },
      { containerStatuses: [{ name: 'c', allocatedResources: { cpu: '1' } }] },
    ],
  ])('%s', (_name, cpu, spec, status) => {
    expect(requests(spec, status).cpu).toBe(cpu);
  });
});

describe('reading a node', () => {
  const node = {
    metadata: { name: 'n' },
    spec: {},
    status: { capacity: { memory: '2Mi' }, allocatable: { pods: '3' } },
  };
  const pod = (name: string, phase: string) => ({ metadata: { name, namespace: 'x' }, spec: {}, status: { phase } });
  const client = (list: () => Promise<unknown>): KubeClient =>
    ({ get: async () => node, list }) as unknown as KubeClient;

  test('pods that have ended do not count', async () => {
    const items = [pod('a', 'Running'), pod('b', 'Succeeded'), pod('c', 'Failed'), pod('d', 'Pending')];
    const facts = await readNodeFacts({ client: client(async () => ({ items })), signal }, 'n');
    expect(facts.pods?.map(({ name }) => name)).toEqual(['x/a', 'x/d']);
    expect(facts).toMatchObject({ capacity: { memory: 2n * mega }, allocatable: { pods: 3n * one }, providerID: '' });
  });

  test('somebody who may not list pods gets everything else', async () => {
    const forbidden = () => Promise.reject(new ApiError(403, 'Forbidden', 'no'));
    const facts = await readNodeFacts({ client: client(forbidden), signal }, 'n');
    expect(facts.pods).toBeUndefined();
    expect(facts.capacity).toBeDefined();
  });

  test('a connection that breaks is an error and not an empty answer', async () => {
    const broken = () => Promise.reject(new Error('connection reset'));
    await expect(readNodeFacts({ client: client(broken), signal }, 'n')).rejects.toThrow('connection reset');
  });
});

test('Events without a last timestamp, and with one that is not a time, are in order', async () => {
  const event = (message: string | null, times: object) => ({
    metadata: {},
    reason: 'KubeletConfigX',
    message,
    ...times,
  });
  const items = [
    event('last', { lastTimestamp: '2026-01-01T00:00:04Z' }),
    event('made', { lastTimestamp: null, eventTime: null, metadata: { creationTimestamp: '2026-01-01T00:00:03Z' } }),
    event('precise', { lastTimestamp: null, eventTime: '2026-01-01T00:00:02.500000Z' }),
    event('whole', { lastTimestamp: '2026-01-01T00:00:02Z' }),
    event('odd', { lastTimestamp: 'yesterday' }),
    event(null, { lastTimestamp: null }),
    { metadata: {}, reason: null, message: 'of another kind' },
  ];
  const client = { list: async () => ({ items }) } as unknown as KubeClient;
  const found = await configEvents({ client, signal }, 'n');
  expect(found.map(({ message }) => message)).toEqual(['odd', '', 'whole', 'precise', 'made', 'last']);
  expect(found.map(({ at }) => at).slice(0, 3)).toEqual(['yesterday', '', '2026-01-01T00:00:02Z']);
});

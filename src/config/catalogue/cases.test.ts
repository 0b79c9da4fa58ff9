/** The class of a change by its direction and by what runs, rule by rule; and that every change and its reverse have one. */
import { describe, expect, test } from 'vitest';
import { impactOf, type Needs, themes } from '../catalogue.js';
import { diff } from '../diff.js';
import { fields } from '../fields.js';
import type { KubeletConfig } from '../model.js';
import type { NodeFacts, PodFacts } from '../node-facts.js';
import type { PodsEffect } from './entry.js';

const one = 10n ** 9n;
const gi = one * 2n ** 30n;
const pod = (name: string, more: Partial<PodFacts> = {}): PodFacts => ({
  name: `default/${name}`,
  createdAt: '2026-01-01T00:00:00Z',
  requests: { cpu: one, memory: gi, 'ephemeral-storage': gi },
  qosClass: 'Burstable',
  isStatic: false,
  ofDaemonSet: false,
  sysctls: [],
  hasUserNamespace: false,
  ...more,
});
const sizes = { cpu: 4n * one, memory: 8n * gi, 'ephemeral-storage': 50n * gi, pods: 110n * one };
const nodeWith = (...pods: PodFacts[]): NodeFacts => ({
  pods,
  capacity: sizes,
  allocatable: sizes,
  providerID: 'aws:///i-1',
});
const busy = nodeWith(pod('a'), pod('b', { createdAt: '2026-01-02T00:00:00Z' }));
const empty = nodeWith();

type Row = [
  before: KubeletConfig,
  after: KubeletConfig,
  facts: NodeFacts | undefined,
  needs: Needs,
  pods: PodsEffect['kind'],
];

const rows: Record<string, Row[]> = {
  maxPods: [
    [{}, { maxPods: 150 }, undefined, 'restart', 'unaffected'],
    [{}, { maxPods: 100 }, undefined, 'restart', 'unknown'],
    [{}, { maxPods: 2 }, busy, 'restart', 'unaffected'],
    [{}, { maxPods: 1 }, busy, 'drain', 'fail admission'],
  ],
  podsPerCore: [
    [{}, { podsPerCore: 1 }, busy, 'restart', 'unaffected'],
    [{}, { podsPerCore: 1 }, undefined, 'restart', 'unknown'],
    [{}, { podsPerCore: 1 }, { ...busy, capacity: { ...sizes, cpu: one } }, 'drain', 'fail admission'],
    [{ podsPerCore: 1 }, { podsPerCore: 2 }, undefined, 'restart', 'unaffected'],
    [{ podsPerCore: 1 }, { podsPerCore: 0 }, undefined, 'restart', 'unaffected'],
  ],
  kubeReserved: [
    [{}, { kubeReserved: { cpu: '1' } }, busy, 'restart', 'unaffected'],
    [{}, { kubeReserved: { cpu: '3' } }, busy, 'drain', 'fail admission'],
    [{}, { kubeReserved: { cpu: '3' } }, undefined, 'restart', 'unknown'],
    [{ kubeReserved: { cpu: '3' } }, {}, busy, 'restart', 'unaffected'],
    [{}, { kubeReserved: { memory: '1Gi' } }, busy, 'restart', 'may be evicted'],
    [{}, { kubeReserved: { memory: '7Gi' } }, busy, 'drain', 'fail admission'],
    [{}, { kubeReserved: { pid: '100' } }, busy, 'restart', 'unknown'],
    [{}, { kubeReserved: { memory: '1Gi' }, memoryManagerPolicy: 'Static' }, busy, 'state-file', 'unknown'],
  ],
  systemReserved: [
    [{}, { systemReserved: { 'ephemeral-storage': '49Gi' } }, busy, 'drain', 'fail admission'],
    [
      { cpuManagerPolicy: 'static', systemReserved: { cpu: '1' } },
      { cpuManagerPolicy: 'static', systemReserved: { cpu: '2' } },
      undefined,
      'state-file',
      'unknown',
    ],
    [
      { cpuManagerPolicy: 'static', systemReserved: { cpu: '1' } },
      { cpuManagerPolicy: 'static', systemReserved: { cpu: '2' } },
      busy,
      'restart',
      'unaffected',
    ],
    [
      { cpuManagerPolicy: 'static', systemReserved: { cpu: '500m' } },
      { cpuManagerPolicy: 'static', systemReserved: { cpu: '1' } },
      empty,
      'restart',
      'unaffected',
    ],
    [
      { reservedSystemCPUs: '0', systemReserved: { cpu: '1' } },
      { reservedSystemCPUs: '0', systemReserved: { cpu: '3' } },
      busy,
      'restart',
      'unaffected',
    ],
  ],
  evictionHard: [
    [{}, { evictionHard: { 'memory.available': '50Mi' } }, undefined, 'restart', 'unaffected'],
    [{}, { evictionHard: { 'memory.available': '200Mi' } }, busy, 'restart', 'may be evicted'],
    [{}, { evictionHard: { 'memory.available': '200Mi' } }, undefined, 'restart', 'may be evicted'],
    [{}, { evictionHard: { 'memory.available': '90%' } }, busy, 'drain', 'fail admission'],
    [{}, { evictionHard: { 'memory.available': '1%' } }, busy, 'restart', 'unaffected'],
  ].map(([before, after, ...rest]) => [before, withDefaults(after as KubeletConfig), ...rest] as Row),
  evictionSoft: [
    [{}, { evictionSoft: { 'memory.available': '1Gi' } }, busy, 'restart', 'may be evicted'],
    [{ evictionSoft: { 'memory.available': '1Gi' } }, {}, busy, 'restart', 'unaffected'],
    [
      { evictionSoft: { 'imagefs.available': '10%' } },
      { evictionSoft: { 'imagefs.available': '5%' } },
      undefined,
      'restart',
      'unaffected',
    ],
    [
      { evictionSoft: { 'imagefs.available': '10%' } },
      { evictionSoft: { 'imagefs.available': '5Gi' } },
      undefined,
      'restart',
      'may be evicted',
    ],
  ],
  evictionSoftGracePeriod: [
    [
      { evictionSoftGracePeriod: { 'memory.available': '1m' } },
      { evictionSoftGracePeriod: { 'memory.available': '10s' } },
      undefined,
      'restart',
      'may be evicted',
    ],
    [
      { evictionSoftGracePeriod: { 'memory.available': '10s' } },
      { evictionSoftGracePeriod: { 'memory.available': '1m' } },
      undefined,
      'restart',
      'unaffected',
    ],
  ],
  allowedUnsafeSysctls: [
    [{}, { allowedUnsafeSysctls: ['net.*'] }, undefined, 'restart', 'unaffected'],
    [{ allowedUnsafeSysctls: ['net.*'] }, {}, undefined, 'restart', 'unknown'],
    [{ allowedUnsafeSysctls: ['net.*'] }, {}, busy, 'restart', 'unaffected'],
    [
      { allowedUnsafeSysctls: ['net.*'] },
      {},
      nodeWith(pod('a', { sysctls: ['net.core.somaxconn'] })),
      'drain',
      'fail admission',
    ],
    [
      { allowedUnsafeSysctls: ['net.*'] },
      {},
      nodeWith(pod('a', { sysctls: ['net.ipv4.tcp_syncookies'] })),
      'restart',
      'unaffected',
    ],
  ],
  reservedSystemCPUs: [
    [{}, { reservedSystemCPUs: '0' }, busy, 'restart', 'unaffected'],
    [{}, { reservedSystemCPUs: '0-2' }, busy, 'drain', 'fail admission'],
    [
      { cpuManagerPolicy: 'static' },
      { cpuManagerPolicy: 'static', reservedSystemCPUs: '0' },
      busy,
      'state-file',
      'unknown',
    ],
  ],
  reservedMemory: [
    [{}, { reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }] }, undefined, 'restart', 'unaffected'],
    [
      { memoryManagerPolicy: 'Static' },
      { memoryManagerPolicy: 'Static', reservedMemory: [{ numaNode: 0, limits: {} }] },
      undefined,
      'state-file',
      'unknown',
    ],
  ],
  cpuManagerPolicyOptions: [
    [{ cpuManagerPolicyOptions: { 'align-by-socket': 'true' } }, {}, undefined, 'restart', 'unaffected'],
    ...(['align-by-socket', 'full-pcpus-only', 'strict-cpu-reservation'] as const).map(
      (name): Row => [
        { cpuManagerPolicy: 'static' },
        { cpuManagerPolicy: 'static', cpuManagerPolicyOptions: { [name]: 'true' } },
        undefined,
        name === 'align-by-socket' ? 'restart' : name === 'full-pcpus-only' ? 'drain' : 'state-file',
        name === 'align-by-socket' ? 'new containers only' : 'unknown',
      ],
    ),
  ],
  topologyManagerPolicy: [
    [{}, { topologyManagerPolicy: 'best-effort' }, undefined, 'restart', 'new containers only'],
    [{}, { topologyManagerPolicy: 'single-numa-node' }, undefined, 'drain', 'unknown'],
    [{ topologyManagerPolicy: 'restricted' }, {}, undefined, 'restart', 'new containers only'],
  ],
  staticPodPath: [
    [{}, { staticPodPath: '/etc/m' }, undefined, 'restart', 'unaffected'],
    [{ staticPodPath: '/etc/m' }, {}, undefined, 'never', 'unknown'],
    [{ staticPodPath: '/etc/m' }, { staticPodPath: '/m' }, nodeWith(pod('a', { isStatic: true })), 'never', 'unknown'],
    [{ staticPodPath: '/etc/m' }, { staticPodPath: '/m' }, busy, 'restart', 'unaffected'],
  ],
  ...Object.fromEntries(
    [
      ['clusterDNS', ['10.0.0.1'], ['10.0.0.2']],
      ['clusterDomain', 'a', 'b'],
      ['resolvConf', '/a', '/b'],
      ['seccompDefault', false, true],
      ['podPidsLimit', 100, 50],
      ['cpuCFSQuota', true, false],
      ['memoryThrottlingFactor', 0.5, 0.6],
    ].map(([name, before, after]): [string, Row[]] => [
      String(name),
      [[{ [String(name)]: before }, { [String(name)]: after }, undefined, 'restart', 'new containers only']],
    ]),
  ),
  containerRuntimeEndpoint: [
    [endpoint('unix:///run/c.sock'), endpoint('unix:///run/crio.sock'), undefined, 'reboot', 'unknown'],
  ],
  systemReservedCgroup: [
    [{}, { systemReservedCgroup: '/s' }, undefined, 'restart', 'unaffected'],
    [{}, { systemReservedCgroup: '/s', enforceNodeAllocatable: ['system-reserved'] }, undefined, 'restart', 'unknown'],
    [
      { systemReservedCgroup: '/s', enforceNodeAllocatable: ['system-reserved'] },
      { systemReservedCgroup: '/t', enforceNodeAllocatable: ['system-reserved'] },
      undefined,
      'reboot',
      'unknown',
    ],
  ],
  enforceNodeAllocatable: [
    [enforcing('pods'), enforcing('pods', 'system-reserved'), undefined, 'restart', 'unknown'],
    [enforcing('pods', 'kube-reserved'), enforcing('pods'), undefined, 'reboot', 'unknown'],
    [enforcing('pods'), enforcing('pods', 'kube-reserved-compressible'), undefined, 'restart', 'unaffected'],
    [enforcing('none'), enforcing('pods'), undefined, 'restart', 'may be evicted'],
    [enforcing('pods'), enforcing('none'), undefined, 'restart', 'unaffected'],
  ],
  enableServer: [[{}, { enableServer: false }, undefined, 'restart', 'unaffected']],
  featureGates: [
    [{}, gates({ RotateKubeletServerCertificate: false }), undefined, 'restart', 'unaffected'],
    [{}, gates({ RotateKubeletServerCertificate: true }), undefined, 'restart', 'unaffected'],
    [{}, gates({ NodeSwap: false }), undefined, 'drain', 'unknown'],
    [{}, gates({ AllAlpha: true }), undefined, 'drain', 'unknown'],
  ],
  providerID: [
    [{}, { providerID: 'aws:///i-1' }, busy, 'restart', 'unaffected'],
    [{}, { providerID: 'aws:///i-2' }, busy, 'never', 'unknown'],
    [{}, { providerID: 'aws:///i-1' }, undefined, 'never', 'unknown'],
    [{ providerID: 'aws:///i-1' }, {}, undefined, 'restart', 'unaffected'],
  ],
  localStorageCapacityIsolation: [
    [{}, { localStorageCapacityIsolation: false }, busy, 'drain', 'unknown'],
    [{}, { localStorageCapacityIsolation: false }, empty, 'restart', 'unaffected'],
    [{ localStorageCapacityIsolation: false }, {}, busy, 'restart', 'may be evicted'],
  ],
  'userNamespaces.idsPerPod': [
    [ids(65536), ids(131072), busy, 'restart', 'unaffected'],
    [ids(65536), ids(131072), nodeWith(pod('a', { hasUserNamespace: true })), 'drain', 'unknown'],
  ],
};

function withDefaults(config: KubeletConfig): KubeletConfig {
  const others = {
    'nodefs.available': '10%',
    'nodefs.inodesFree': '5%',
    'imagefs.available': '15%',
    'imagefs.inodesFree': '5%',
  };
  return { evictionHard: { ...others, ...(config.evictionHard as object) } };
}
function ids(idsPerPod: number): KubeletConfig {
  return { userNamespaces: { idsPerPod } };
}
function endpoint(containerRuntimeEndpoint: string): KubeletConfig {
  return { containerRuntimeEndpoint };
}
function enforcing(...enforceNodeAllocatable: string[]): KubeletConfig {
  return { enforceNodeAllocatable };
}
function gates(featureGates: Record<string, boolean>): KubeletConfig {
  return { featureGates };
}

describe.each(Object.entries(rows))('%s', (path, table) => {
  test.each(table)('from %j to %j', (before, after, facts, needs, pods) => {
    const context = { before, after, minor: 36, ...(facts && { facts }) };
    const change = diff(before, after, 36).find((each) => each.path.replace(/\[.*/, '') === path)!;
    const impact = impactOf(change, context)!;
    expect({ needs: impact.needs, pods: impact.pods.kind }).toEqual({ needs, pods });
  });
});

test('a risk is named only in the direction that has it', () => {
  const risk = (before: KubeletConfig, after: KubeletConfig) =>
    impactOf(diff(before, after, 36)[0]!, { before, after, minor: 36 })?.risk;
  expect(risk({}, { failSwapOn: false })).toBeUndefined();
  expect(risk({ failSwapOn: false }, {})).toMatch(/crash loop/);
  expect(risk(caFile('/ca'), caFile(''))).toMatch(/No client certificate is accepted/);
});
const caFile = (clientCAFile: string) => ({ authentication: { x509: { clientCAFile } } });

const samples: Record<string, [unknown, unknown]> = {
  bool: [false, true],
  string: ['a', 'b'],
  '[]string': [['a'], ['b']],
  'map[string]bool': [{ A: true }, { B: true }],
};

test.each(fields.map(({ path, goType }) => [path, goType] as const))(
  'a change of %s and its reverse both have an answer, with the pods known or not',
  (path, goType) => {
    const [before, after] = samples[goType.replace('*', '')] ?? [1, 2];
    for (const facts of [{}, busy])
      for (const change of [
        { path, before, after },
        { path, before: after, after: before },
        { path, before: undefined, after },
        { path, before, after: null },
      ]) {
        const impact = impactOf(change, { before: {}, after: {}, minor: 36, facts });
        expect(impact?.why).toMatch(/\.$/);
      }
  },
);

test.each(themes.flatMap(([, entries]) => Object.entries(entries)).filter(([, { cases }]) => cases !== undefined))(
  'the cases of %s say when they apply, and what is different then',
  (_path, { cases }) => {
    for (const { when, why, risk } of cases!) {
      expect(when).toMatch(/^[a-z].*[^.]$/);
      for (const text of [why, risk]) if (text) expect(text).toMatch(/^[\w/].{10,}[.]$/);
    }
  },
);

/** Overlays made from whole configs. */
import { expect, test } from 'vitest';
import { localFile } from '../../test/overlay-files.js';
import { setDefaults } from './defaults.js';
import type { KubeletConfig } from './model.js';
import { overlayFrom } from './overlay.js';

const pair = { tlsCertFile: '/pki/kubelet.crt', tlsPrivateKeyFile: '/pki/kubelet.key' };

test.each<[string, string, KubeletConfig, KubeletConfig, string[]]>([
  ['what equals the local config is left out', 'maxPods: 60\nport: 1', { maxPods: 60, port: 1 }, {}, []],
  [
    'by meaning',
    'syncFrequency: 60s\nkubeReserved: {memory: 1Gi}',
    { syncFrequency: '1m', kubeReserved: { memory: '1024Mi' } },
    {},
    [],
  ],
  ['defaults are not frozen', '', setDefaults({ maxPods: 60 }, 32), { maxPods: 60 }, []],
  ['a field that the local config sets and the whole one does not is unset', 'maxPods: 60', {}, {}, ['maxPods']],
  ['also where the whole one shows the default', 'maxPods: 60', { maxPods: 110 }, {}, ['maxPods']],
  [
    'maps are compared key by key',
    'kubeReserved: {cpu: 1m, pid: 2k}',
    { kubeReserved: { cpu: '2m' } },
    { kubeReserved: { cpu: '2m' } },
    ['kubeReserved[pid]'],
  ],
  ['lists as a whole', 'clusterDNS: [a]', { clusterDNS: ['a', 'b'] }, { clusterDNS: ['a', 'b'] }, []],
  ['an empty list that is not the default', '', { enforceNodeAllocatable: [] }, { enforceNodeAllocatable: [] }, []],
  ['no thresholds', '', { evictionHard: {} }, { evictionHard: {} }, []],
  [
    'fewer thresholds than by default',
    '',
    { evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' } },
    { evictionHard: { 'nodefs.available': '10%' } },
    ['evictionHard[imagefs.available]', 'evictionHard[imagefs.inodesFree]', 'evictionHard[nodefs.inodesFree]'],
  ],
  [
    'a field whose default depends on another one',
    '',
    { nodeStatusUpdateFrequency: '20s' },
    { nodeStatusUpdateFrequency: '20s' },
    [],
  ],
  ["the kubelet's own certificate is left out", '', { ...pair }, {}, []],
  [
    'another one is not',
    '',
    { ...pair, tlsCertFile: '/other/kubelet.crt' },
    { ...pair, tlsCertFile: '/other/kubelet.crt' },
    [],
  ],
  [
    "the kubelet's own certificate instead of a local one",
    'tlsCertFile: /a\ntlsPrivateKeyFile: /b',
    { ...pair },
    {},
    ['tlsCertFile', 'tlsPrivateKeyFile'],
  ],
  ["the host's providerID is left out", '', { providerID: 'aws:///i-1' }, {}, []],
  [
    'CPUs that reservedSystemCPUs replaced are left out',
    "reservedSystemCPUs: '0,1'\nkubeReserved: {cpu: 1m}",
    { reservedSystemCPUs: '0,1', systemReserved: { cpu: '2' } },
    {},
    [],
  ],
  ['fields that the kubelet does not have are dropped', '', { fieldOfTomorrow: 1 }, {}, []],
])('%s', (_name, local, running, config, unset) => {
  expect(overlayFrom({ running, local: [localFile(`${local}\n`)], minor: 32 })).toEqual({ config, unset });
});

test('on a host without --config, what the flags meant is unset', () => {
  const { config, unset } = overlayFrom({ running: { maxPods: 5 }, local: [], minor: 32 });
  expect(config).toEqual({ maxPods: 5 });
  expect(unset).toEqual([
    'authentication.anonymous.enabled',
    'authentication.webhook.enabled',
    'authorization.mode',
    'evictionHard',
    'readOnlyPort',
  ]);
});

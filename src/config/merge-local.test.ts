/** The local config of a node: what each kubelet version makes of its --config file and its drop-ins. */
import { describe, expect, test } from 'vitest';
import { localFile } from '../../test/overlay-files.js';
import { setDefaults } from './defaults.js';
import { type LocalFile, mergeLocal } from './merge.js';

const dropIn = (body: string, name = '10.conf'): LocalFile =>
  localFile(`${body}\n`, `/etc/kubernetes/kubelet.d/${name}`);
const local = (minor: number, config: string, ...dropIns: string[]) =>
  mergeLocal({
    minor,
    local: [localFile(`${config}\n`), ...dropIns.map((body, index) => dropIn(body, `${index}0.conf`))],
  });

const ways: [string, number][] = [
  ['1.28', 28],
  ['1.29 to 1.31', 30],
  ['1.32 and later', 36],
];

describe.each(ways)('drop-ins of kubelet %s', (_name, minor) => {
  test('set what they write, the last one wins', () => {
    const { config } = local(minor, 'port: 1', 'maxPods: 5\nclusterDNS: [a]', 'maxPods: 6\nclusterDNS: [b]');
    expect(config).toMatchObject({ maxPods: 6, clusterDNS: ['b'] });
  });

  test('merge maps key by key, over the default thresholds', () => {
    const { config } = local(
      minor,
      'kubeReserved: {cpu: 1m}',
      'kubeReserved: {pid: 2k}\nevictionHard: {memory.available: 1Gi}',
    );
    expect(config.kubeReserved).toEqual({ cpu: '1m', pid: '2k' });
    expect(config.evictionHard).toMatchObject({ 'memory.available': '1Gi', 'nodefs.available': '10%' });
  });

  test('write no default', () => {
    const { config } = local(minor, 'clusterDomain: a', 'clusterDNS: [b]');
    expect(config).toEqual({ clusterDomain: 'a', clusterDNS: ['b'] });
  });
});

describe('1.28 takes the defaults of a drop-in for what it writes', () => {
  test.each<[string, string, string, object]>([
    ['a local value goes back to the default', 'maxPods: 60', 'port: 1', { port: 1 }],
    [
      'but not to a zero one',
      'clusterDomain: a\nreadOnlyPort: 5',
      'maxPods: 7',
      { clusterDomain: 'a', readOnlyPort: 5, maxPods: 7 },
    ],
    [
      'false does not override',
      'serverTLSBootstrap: true',
      'serverTLSBootstrap: false\nport: 1',
      { serverTLSBootstrap: true, port: 1 },
    ],
    ['nor does an empty list', 'clusterDNS: [a]', 'clusterDNS: []', { clusterDNS: ['a'] }],
    [
      'default thresholds override',
      'evictionHard: {memory.available: 1Gi, pid.available: 5%}',
      'maxPods: 7',
      {
        maxPods: 7,
        evictionHard: {
          'imagefs.available': '15%',
          'memory.available': '100Mi',
          'nodefs.available': '10%',
          'nodefs.inodesFree': '5%',
          'pid.available': '5%',
        },
      },
    ],
  ])('%s', (_name, config, body, expected) => {
    expect(local(28, config, body).config).toEqual(expected);
  });

  test('its relative paths count from its directory', () => {
    expect(local(28, '', 'staticPodPath: m').config).toEqual({ staticPodPath: '/etc/kubernetes/kubelet.d/m' });
  });
});

describe('1.29 to 1.31 decode drop-ins over the internal object', () => {
  test.each<[string, string, string[], object]>([
    ['resolvConf has no effect', 'resolvConf: /a', ['resolvConf: /b'], { resolvConf: '/a' }],
    [
      'items of a list keep fields of those before',
      'registerWithTaints: [{key: a, value: b, effect: NoSchedule}]',
      ['registerWithTaints: [{key: c, effect: NoExecute}]'],
      { registerWithTaints: [{ key: 'c', value: 'b', effect: 'NoExecute' }] },
    ],
    ['null takes back what an earlier drop-in set', 'maxPods: 5', ['maxPods: 6', 'maxPods: null'], { maxPods: 5 }],
    ['null does not touch the file', 'maxPods: 5', ['maxPods: null'], { maxPods: 5 }],
    ['any spelling of a name counts', 'maxPods: 5', ['MaxPods: 6'], { maxPods: 6 }],
    [
      'a default that depends on a field keeps its value',
      '',
      ['nodeStatusUpdateFrequency: 20s'],
      { nodeStatusUpdateFrequency: '20s', nodeStatusReportFrequency: '5m0s' },
    ],
  ])('%s', (_name, config, bodies, expected) => {
    expect(local(30, config, ...bodies).config).toEqual(expected);
  });

  test('a zero that no file can express is a warning', () => {
    const { config, findings } = local(30, '', 'maxPods: 0');
    expect(setDefaults(config, 30).maxPods).toBe(110);
    expect(findings).toMatchObject([{ path: 'maxPods', file: '/etc/kubernetes/kubelet.d/00.conf', line: 3 }]);
  });
});

describe('1.32 and later merge drop-ins into the versioned object', () => {
  test.each<[string, string, string[], object]>([
    ['a zero means the default', 'maxPods: 5', ['maxPods: 0'], { maxPods: 0 }],
    [
      'null removes',
      'maxPods: 5\nkubeReserved: {cpu: 1m, pid: 2k}',
      ['maxPods: null\nkubeReserved: {cpu: null}'],
      { kubeReserved: { pid: '2k' } },
    ],
    [
      'no thresholds are left where all are removed',
      'evictionHard: {memory.available: 1Gi}',
      ['evictionHard: null'],
      { evictionHard: {} },
    ],
    [
      'items of a list are replaced',
      'registerWithTaints: [{key: a, value: b, effect: NoSchedule}]',
      ['registerWithTaints: [{key: c, effect: NoExecute}]'],
      { registerWithTaints: [{ key: 'c', effect: 'NoExecute' }] },
    ],
    ['an empty list of the file is lost', 'enforceNodeAllocatable: []', ['maxPods: 5'], { maxPods: 5 }],
    ['one of a drop-in is not', '', ['enforceNodeAllocatable: []'], { enforceNodeAllocatable: [] }],
    ['a name that sorts before the real one loses to the file', 'maxPods: 5', ['MaxPods: 6'], { maxPods: 5 }],
    ['unless the file sets nothing', '', ['ClusterDomain: a'], { clusterDomain: 'a' }],
    [
      'mergeDefaultEvictionSettings comes too late',
      'evictionHard: {memory.available: 1Gi}',
      ['mergeDefaultEvictionSettings: true'],
      { evictionHard: { 'memory.available': '1Gi' } },
    ],
  ])('%s', (_name, config, bodies, expected) => {
    expect(local(36, config, ...bodies).config).toEqual(expected);
  });

  test('relative paths count from the working directory of a service', () => {
    const { config, findings } = local(36, '', 'staticPodPath: m');
    expect(config).toEqual({ staticPodPath: '/m' });
    expect(findings).toMatchObject([
      { severity: 'warning', path: 'staticPodPath', file: '/etc/kubernetes/kubelet.d/00.conf', line: 3 },
    ]);
  });
});

describe('a drop-in that a kubelet from 1.29 on does not read', () => {
  test.each([
    ['duplicate keys', 30, 'maxPods: 5\nmaxPods: 6', 'duplicate field "maxPods"'],
    ['a value of the wrong type', 30, 'maxPods: many', 'cannot unmarshal string'],
  ])('%s', (_name, minor, body, message) => {
    expect(() => local(minor, '', body)).toThrow(message);
  });

  test.each([
    [30, 'apiVersion: other/v1\nkind: Other\nmaxPods: 6\n', undefined],
    [30, 'maxPods: 6\n', 'kind of a drop-in must be KubeletConfiguration'],
    [
      36,
      'apiVersion: other/v1\nkind: KubeletConfiguration\n',
      'apiVersion of a drop-in must be kubelet.config.k8s.io/v1beta1',
    ],
    [36, '', 'the file is empty'],
  ])('1.%i and its header: %j', (minor, text, message) => {
    const files = [localFile(''), { path: '/d/10.conf', text }];
    if (message === undefined) expect(mergeLocal({ minor, local: files }).config).toEqual({ maxPods: 6 });
    else expect(() => mergeLocal({ minor, local: files })).toThrow(`local config /d/10.conf: ${message}`);
  });
});

test('kubelets before 1.28 have no drop-ins', () => {
  expect(() => local(27, '', 'maxPods: 5')).toThrow('kubelet 1.27 has no --config-dir');
});

test('a host with drop-ins and without --config keeps its legacy defaults', () => {
  const files = [{ ...dropIn('maxPods: 5'), dropIn: true }];
  expect(mergeLocal({ minor: 36, local: files }).config).toMatchObject({
    maxPods: 5,
    readOnlyPort: 10255,
    evictionHard: {},
  });
});

test('the origin of a value is the last file that sets it', () => {
  const { origin } = local(36, 'maxPods: 5\nport: 1', 'maxPods: 6');
  expect(origin('maxPods')).toMatchObject({ in: 'local', file: '/etc/kubernetes/kubelet.d/00.conf' });
  expect(origin('port')).toMatchObject({ in: 'local', file: '/var/lib/kubelet/config.yaml' });
  expect(origin('syncFrequency')).toEqual({ in: 'default' });
});

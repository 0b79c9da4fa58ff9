/** Overlays over local configs: what the result has, and where each value comes from. */
import { describe, expect, test } from 'vitest';
import { configText, localFile, overlayText } from '../../test/overlay-files.js';
import { DecodeError } from './decode.js';
import { type LocalFile, mergeOverlay } from './merge.js';

const merge = (local: readonly LocalFile[], body: string, minor = 32) =>
  mergeOverlay({ minor, local, overlay: overlayText(body) });

const defaults = {
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
};

describe('merging', () => {
  test('maps merge key by key, lists and scalars are replaced, and no default is written', () => {
    const local = localFile(
      'port: 10250\nmaxPods: 60\nclusterDNS: [10.0.0.10, 10.0.0.11]\nkubeReserved: {cpu: 100m, memory: 1Gi}\n',
    );
    const { text } = merge([local], 'config: {maxPods: 150, clusterDNS: [10.0.0.12], kubeReserved: {cpu: 200m}}\n');
    expect(text).toBe(
      configText(`clusterDNS:
  - "10.0.0.12"
kubeReserved:
  cpu: 200m
  memory: 1Gi
maxPods: 150
port: 10250
`),
    );
  });

  test.each<[string, string, string, object]>([
    [
      'structs merge field by field',
      'authentication: {anonymous: {enabled: true}, x509: {clientCAFile: /ca.crt}}',
      'config: {authentication: {anonymous: {enabled: false}}}',
      { authentication: { anonymous: { enabled: false }, x509: { clientCAFile: '/ca.crt' } } },
    ],
    [
      'items of a list are not merged',
      'registerWithTaints: [{key: a, value: b, effect: NoSchedule}]',
      'config: {registerWithTaints: [{key: c, effect: NoExecute}]}',
      { registerWithTaints: [{ key: 'c', effect: 'NoExecute' }] },
    ],
    ['an empty list replaces', 'clusterDNS: [10.0.0.10]', 'config: {clusterDNS: []}', { clusterDNS: [] }],
    [
      'an empty map empties',
      'kubeReserved: {cpu: 1}'.replace('1', "'1'"),
      'config: {kubeReserved: {}}',
      { kubeReserved: {} },
    ],
    [
      'an empty struct changes nothing',
      'logging: {verbosity: 3}',
      'config: {logging: {}}',
      { logging: { verbosity: 3 } },
    ],
    ['null in the local file is nothing', 'maxPods: null\nclusterDNS: null', 'config: {port: 1}', { port: 1 }],
    [
      'feature gates merge',
      'featureGates: {A: true}',
      'config: {featureGates: {B: false}}',
      { featureGates: { A: true, B: false } },
    ],
    ['unset removes a field', 'maxPods: 5\nport: 1', 'unset: [maxPods]', { port: 1 }],
    ['unset removes a struct', 'authentication: {anonymous: {enabled: true}}', 'unset: [authentication]', {}],
    [
      'no empty struct is left',
      'authentication: {anonymous: {enabled: true}}',
      'unset: [authentication.anonymous.enabled]',
      {},
    ],
    [
      'unset removes a key of a map',
      'kubeReserved: {cpu: 1m, pid: 2k}',
      'unset: [kubeReserved.cpu]',
      { kubeReserved: { pid: '2k' } },
    ],
    [
      'and the map with its last key',
      'evictionHard: {memory.available: 1Gi}',
      'unset: [evictionHard.memory.available]',
      {},
    ],
    ['unset of what is not set changes nothing', 'port: 1', 'unset: [maxPods, kubeReserved.cpu]', { port: 1 }],
    ['a struct behind a pointer stays', 'tracing: {endpoint: a}', 'unset: [tracing.endpoint]', { tracing: {} }],
  ])('%s', (_name, local, overlay, expected) => {
    const { apiVersion, kind, ...document } = merge([localFile(`${local}\n`)], `${overlay}\n`).document;
    expect({ apiVersion, kind }).toEqual({ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' });
    expect(document).toEqual(expected);
  });

  test.each<[string, string, string, object | undefined]>([
    [
      'one threshold keeps the default ones',
      '',
      'config: {evictionHard: {memory.available: 1Gi}}',
      { ...defaults, 'memory.available': '1Gi' },
    ],
    [
      'but not those that a local map leaves out',
      'evictionHard: {nodefs.available: 5%}',
      'config: {evictionHard: {memory.available: 1Gi}}',
      { 'memory.available': '1Gi', 'nodefs.available': '5%' },
    ],
    [
      'nor those of an empty one',
      'evictionHard: {}',
      'config: {evictionHard: {memory.available: 1Gi}}',
      { 'memory.available': '1Gi' },
    ],
    [
      'a default one can be removed',
      '',
      'config: {evictionHard: {memory.available: 1Gi}}\nunset: [evictionHard.nodefs.available, evictionHard.nodefs.inodesFree, evictionHard.imagefs.inodesFree]',
      { 'memory.available': '1Gi', 'imagefs.available': '15%' },
    ],
    ['no threshold, no defaults', '', 'config: {maxPods: 5}', undefined],
    ['none at all', '', 'config: {evictionHard: {}}', {}],
  ])('evictionHard: %s', (_name, local, overlay, expected) => {
    expect(merge([localFile(`${local}\n`)], `${overlay}\n`).document.evictionHard).toEqual(expected);
  });

  test('evictionHard: the defaults are those of the kubelet version', () => {
    const { document } = merge([localFile('')], 'config: {evictionHard: {memory.available: 1Gi}}\n', 20);
    expect(Object.keys(document.evictionHard as object)).not.toContain('imagefs.inodesFree');
  });

  test('evictionHard: a kubelet that merges its defaults in is left to do so', () => {
    const body = 'config: {evictionHard: {memory.available: 1Gi}}\n';
    const { document } = merge([localFile('mergeDefaultEvictionSettings: true\n')], body, 33);
    expect(document.evictionHard).toEqual({ 'memory.available': '1Gi' });
  });

  test('relative paths of the local file count from its directory', () => {
    const local = localFile(
      'resolvConf: resolv.conf\nstaticPodPath: ../manifests\n',
      '/etc/kubernetes/kubelet/config.yaml',
    );
    expect(merge([local], 'config: {}\n').document).toMatchObject({
      resolvConf: '/etc/kubernetes/kubelet/resolv.conf',
      staticPodPath: '/etc/kubernetes/manifests',
    });
  });

  test('a local file of DKC alpha is converted first', () => {
    const text =
      'apiVersion: kubeletconfig/v1alpha1\nkind: KubeletConfiguration\npodManifestPath: /m\nevictionHard: memory.available<1Gi\n';
    const { document } = merge([{ path: '/init/kubelet', text }], 'config: {maxPods: 5}\n', 23);
    expect(document).toMatchObject({ staticPodPath: '/m', evictionHard: { 'memory.available': '1Gi' }, maxPods: 5 });
  });

  test('a mistake in the local file that the kubelet forgives is a finding with its file', () => {
    const { document, findings } = merge([localFile('maxpods: 5\n')], 'config: {}\n');
    expect(document.maxPods).toBeUndefined();
    expect(findings).toMatchObject([
      { severity: 'warning', file: '/var/lib/kubelet/config.yaml', path: 'maxpods', line: 3 },
    ]);
  });

  test.each([
    ['cannot be decoded', localFile('maxPods: many\n'), 'cannot unmarshal string'],
    [
      'is of the internal version',
      { ...localFile(''), text: localFile('').text.replace('v1beta1', '__internal') },
      'internal version',
    ],
    ['is empty', { ...localFile(''), text: '' }, 'was empty'],
  ])('a local file that %s is an error that names it', (_name, file, message) => {
    let error: unknown;
    try {
      merge([file], 'config: {}\n');
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(DecodeError);
    expect((error as Error).message).toMatch(`local config ${file.path}: `);
    expect((error as Error).message).toMatch(message);
    expect((error as DecodeError).findings).toMatchObject([{ file: file.path }]);
  });
});

describe('a host without --config', () => {
  const legacy = {
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    readOnlyPort: 10255,
  };
  test.each([
    [11, legacy],
    [25, legacy],
    [26, { ...legacy, evictionHard: {} }],
    [36, { ...legacy, evictionHard: {} }],
  ])('of 1.%i keeps its authentication with an overlay of one field', (minor, expected) => {
    const { apiVersion, kind, ...document } = merge([], 'config: {maxPods: 5}\n', minor).document;
    expect(document).toEqual({ ...expected, maxPods: 5 });
  });
});

describe('where a value comes from', () => {
  const local = [localFile('maxPods: 60\nkubeReserved:\n  cpu: 100m\nclusterDNS: [a, b]\n')];
  const { origin } = mergeOverlay({
    minor: 32,
    local,
    overlay: overlayText(
      'config:\n  port: 1\n  clusterDNS: [c]\n  evictionHard: {memory.available: 1Gi}\nunset: [kubeReserved]\n',
    ),
    overlayFile: 'overlay.yaml',
  });
  const overlay = (line: number, column: number) => ({
    in: 'overlay',
    file: 'overlay.yaml',
    position: { line, column },
  });
  test.each<[string, unknown]>([
    ['port', overlay(4, 9)],
    ['clusterDNS[0]', overlay(5, 16)],
    ['clusterDNS[1]', { in: 'default' }],
    ['evictionHard[memory.available]', overlay(6, 36)],
    ['evictionHard[nodefs.available]', { in: 'default' }],
    ['evictionHard', overlay(6, 3)],
    ['maxPods', { in: 'local', file: '/var/lib/kubelet/config.yaml', position: { line: 3, column: 10 } }],
    ['kubeReserved', { in: 'default', file: 'overlay.yaml', position: { line: 7, column: 9 } }],
    ['kubeReserved[cpu]', { in: 'default' }],
    ['staticPodPath', { in: 'default' }],
    ['nothing', undefined],
  ])('%s', (path, expected) => {
    expect(origin(path)).toEqual(expected);
  });
});

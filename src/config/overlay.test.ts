/** Reading and writing KubeletConfigurationOverlay. */
import { describe, expect, test } from 'vitest';
import { configText, overlayText } from '../../test/overlay-files.js';
import { DecodeError } from './decode.js';
import { decodeOverlay, encodeOverlay, isOverlay } from './overlay.js';

describe('what is an overlay', () => {
  test.each([
    ['an overlay', overlayText('config: {maxPods: 5}\n'), true],
    ['an overlay with errors', overlayText('config: [}\n').replace('[}', '5'), true],
    ['an overlay as JSON', '{"kind": "KubeletConfigurationOverlay", "apiVersion": "relet.dev/v1alpha1"}', true],
    ['a kind with escapes', 'apiVersion: relet.dev/v1alpha1\nkind: "KubeletConfiguration\\x4fverlay"\n', true],
    ['a kind in base64', 'apiVersion: relet.dev/v1alpha1\nkind: !!binary S3ViZWxldENvbmZpZ3VyYXRpb25PdmVybGF5\n', true],
    ['another version of the kind', overlayText('').replace('v1alpha1', 'v2'), true],
    ['a whole config', configText('maxPods: 5\n'), false],
    ['a whole config that mentions the kind', configText('clusterDomain: KubeletConfigurationOverlay\n'), false],
    ['a kind of another group', overlayText('').replace('relet.dev', 'example.com'), false],
    ['text that is not YAML', 'kind: KubeletConfigurationOverlay\n  : [', false],
    ['nothing', '', false],
  ])('%s', (_name, text, expected) => {
    expect(isOverlay(text)).toBe(expected);
  });
});

const findingsIn = (
  text: string,
  options: { minor?: number; strict?: boolean; strictKeys?: boolean } = {},
): string[] => {
  const lines = (findings: DecodeError['findings']) =>
    findings.map(({ severity, path, line, column, message }) => `${severity} ${line}:${column} ${path}: ${message}`);
  try {
    return lines(decodeOverlay(text, { minor: 32, ...options }).findings);
  } catch (error) {
    if (error instanceof DecodeError) return lines(error.findings);
    throw error;
  }
};

describe('an overlay is rejected, with the place, for', () => {
  const minor = 32;
  test.each<[string, string, string[]]>([
    [
      'an unknown field',
      'config:\n  maxpods: 5\n',
      ['error 4:3 maxpods: unknown field "maxpods": did you mean "maxPods"?'],
    ],
    [
      'a field that the kubelet does not have yet',
      'config:\n  mergeDefaultEvictionSettings: true\n',
      ['error 4:3 mergeDefaultEvictionSettings: unknown field "mergeDefaultEvictionSettings": it came with 1.33'],
    ],
    ['a field outside config', 'maxPods: 5\n', ['error 3:1 maxPods: unknown field "maxPods": write it under config']],
    [
      'another field at the top',
      'metadata: {}\n',
      ['error 3:1 metadata: unknown field "metadata": an overlay has apiVersion, kind, config and unset'],
    ],
    [
      'a header in config',
      'config:\n  kind: KubeletConfiguration\n',
      ["error 4:3 kind: config has no kind of its own: remove it, the overlay's header is at the top"],
    ],
    [
      'a duplicate key',
      'config:\n  maxPods: 5\n  maxPods: 6\n',
      ['error 5:3 maxPods: duplicate field "maxPods": remove one'],
    ],
    [
      'null',
      'config:\n  maxPods: null\n',
      ['error 4:12 maxPods: null is not allowed, because kubectl apply removes it; list the field under unset'],
    ],
    [
      'null in a map',
      'config:\n  evictionHard: {memory.available: }\n',
      [
        'error 4:36 evictionHard[memory.available]: null is not allowed, because kubectl apply removes it; list the field under unset',
      ],
    ],
    [
      'a value of the wrong type',
      'config:\n  maxPods: many\n',
      [
        'error 4:12 maxPods: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32',
      ],
    ],
    [
      'a field that is set and unset',
      'config:\n  maxPods: 5\nunset: [maxPods]\n',
      ['error 5:9 maxPods: both set and unset: keep one of them'],
    ],
    [
      'a map of which a key is set',
      'config:\n  evictionHard: {memory.available: 1Gi}\nunset: [evictionHard]\n',
      ['error 5:9 evictionHard: both set and unset: keep one of them'],
    ],
    [
      'a key of a map that is set to nothing',
      'config:\n  evictionHard: {}\nunset: [evictionHard.memory.available]\n',
      ['error 5:9 evictionHard[memory.available]: both set and unset: keep one of them'],
    ],
    [
      'a relative path',
      'config:\n  authentication: {x509: {clientCAFile: pki/ca.crt}}\n',
      [
        "error 4:41 authentication.x509.clientCAFile: 'pki/ca.crt' is a relative path; nodes may keep their files in different directories, write it absolute",
      ],
    ],
    [
      'an unknown path in unset',
      'unset:\n- maxPodz\n',
      ["error 4:3 maxPodz: kubelet 1.32 has no field 'maxPodz'; did you mean 'maxPods'?"],
    ],
    [
      'a config that is a list',
      'config: [1]\n',
      ['error 3:9 : config must be a mapping of KubeletConfiguration fields, not array'],
    ],
    [
      'an unset that is not a list',
      'unset: maxPods\n',
      ['error 3:8 unset: unset must be a list of field paths, not string'],
    ],
    ['an unset of numbers', 'unset: [5]\n', ['error 3:9 unset: unset must be a list of field paths, not of number']],
    [
      'a second document',
      'config: {maxPods: 5}\n---\nconfig: {}\n',
      ['error 5:1 : only the first document is read; what begins here has no effect'],
    ],
  ])('%s', (_name, body, expected) => {
    expect(findingsIn(overlayText(body), { minor })).toEqual(expected);
  });

  test.each([
    [
      'another version',
      overlayText('').replace('v1alpha1', 'v2'),
      'error 1:13 apiVersion: apiVersion of an overlay must be relet.dev/v1alpha1',
    ],
    [
      'no kind',
      'apiVersion: relet.dev/v1alpha1\n',
      'error 1:1 kind: kind is missing: write kind: KubeletConfigurationOverlay',
    ],
    [
      'a kind that is misspelt',
      'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigOverlay\n',
      'error 2:7 kind: kind "KubeletConfigOverlay" is not known; did you mean "KubeletConfigurationOverlay"?',
    ],
    ['a list', '- 1\n', 'error 1:1 : an overlay is a mapping with apiVersion, kind, config and unset'],
    ['a text that is not YAML', 'a: [\n', 'error 2:1 : yaml: line 1: did not find expected node content'],
    ['JSON that is cut off', '{"kind": ', 'error 1:10 : unexpected end of JSON input'],
  ])('%s', (_name, text, expected) => {
    expect(findingsIn(text)).toEqual([expected]);
  });

  test('several things at once, in the order of the text', () => {
    const text = overlayText('config:\n  maxpods: 5\n  resolvConf: a\nunset: [nothing]\n');
    expect(findingsIn(text).map((line) => line.split(':')[0])).toEqual(['error 4', 'error 5', 'error 6']);
    expect(() => decodeOverlay(text, { minor, file: 'a.yaml' })).toThrow(
      'cannot decode overlay: a.yaml:4:3: unknown field "maxpods": did you mean "maxPods"? 2 more errors',
    );
  });
});

test('without strict, unknown and duplicate fields are warnings and have no effect', () => {
  const text = overlayText('config:\n  maxpods: 5\n  maxPods: 6\nother: 1\nunset: [nothing, clusterDomain]\n');
  expect(findingsIn(text, { strict: false }).map((line) => line.split(' ')[0])).toEqual(Array(3).fill('warning'));
  const { overlay } = decodeOverlay(text, { minor: 32, strict: false });
  expect(overlay).toEqual({ config: { maxPods: 6 }, unset: ['clusterDomain'] });
});

describe('a key under unset that no kubelet knows', () => {
  const signals =
    'memory.available, allocatableMemory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available, containerfs.available, containerfs.inodesFree';

  test.each([
    ['evictionHard.foo', `evictionHard[foo]: "foo" is not an eviction signal; use one of ${signals}`],
    ['evictionSoftGracePeriod.foo', 'evictionSoftGracePeriod[foo]: "foo" is not an eviction signal; use one of'],
    ['featureGates.MemoryQos', "there is no feature gate 'MemoryQos'; did you mean 'MemoryQoS'?"],
    ['featureGates.Nope', "featureGates[Nope]: there is no feature gate 'Nope'; remove it"],
  ])('%s is an error where keys are strict, else a warning and kept', (path, message) => {
    const text = overlayText(`unset: [${path}]\n`);
    expect(findingsIn(text, { strictKeys: true })).toEqual([expect.stringMatching(/^error 3:9 /)]);
    expect(findingsIn(text, { strictKeys: true })[0]).toContain(message);
    expect(findingsIn(text)).toEqual([expect.stringMatching(/^warning 3:9 /)]);
    expect(decodeOverlay(text, { minor: 32 }).overlay.unset).toHaveLength(1);
  });

  test('a gate or signal of another version may have to be removed from a local config', () => {
    const text = overlayText('unset: [featureGates.DynamicKubeletConfig, evictionHard.containerfs.available]\n');
    expect(findingsIn(text, { minor: 28, strictKeys: true })).toEqual([]);
  });
});

test('both spellings of a key of a map are read, and a repeated path counts once', () => {
  const text = overlayText('unset: ["evictionHard[memory.available]", evictionHard.memory.available, clusterDNS]\n');
  const { overlay, positions } = decodeOverlay(text, { minor: 32 });
  expect(overlay.unset).toEqual(['evictionHard[memory.available]', 'clusterDNS']);
  expect(positions.get('clusterDNS')).toEqual({ line: 3, column: 74 });
});

test('an overlay may leave out config or unset, or leave them empty', () => {
  for (const body of ['', 'config:\nunset:\n', 'config: {}\nunset: []\n'])
    expect(decodeOverlay(overlayText(body), { minor: 32 }).overlay).toEqual({ config: {}, unset: [] });
});

test('the text of an overlay has sorted keys and no null', () => {
  const config = {
    maxPods: 5,
    authentication: { webhook: { enabled: true }, anonymous: null },
    clusterDNS: ['b', 'a'],
  };
  expect(encodeOverlay({ config, unset: ['port', 'evictionHard[memory.available]', 'port'] })).toBe(
    overlayText(`config:
  authentication:
    webhook:
      enabled: true
  clusterDNS:
    - b
    - a
  maxPods: 5
unset:
  - "evictionHard[memory.available]"
  - port
`),
  );
  expect(encodeOverlay({ config: {}, unset: [] })).toBe(overlayText('config: {}\n'));
  expect(encodeOverlay({ config: {}, unset: ['port'] })).toBe(overlayText('unset:\n  - port\n'));
});

test('only the first of many unknown paths under unset get a guess, which costs a look at every field', () => {
  const findings = findingsIn(overlayText(`unset: [${Array(60).fill('maxPodz')}]\n`));
  const isGuess = (line: string) => line.endsWith("has no field 'maxPodz'; did you mean 'maxPods'?");
  expect(findings.map(isGuess)).toEqual([...Array(50).fill(true), ...Array(10).fill(false)]);
});

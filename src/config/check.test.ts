/** The whole check: order of the steps, messages by version, places of findings. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { check } from './check.js';
import { existsIn, fields } from './fields.js';
import { newestMinor, oldestMinor } from './model.js';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

describe('check', () => {
  test('accepts what is right and shows what the kubelet would run with', () => {
    const result = check(`${header}maxPods: 50\n`, { minor: 32, flags: ['--cert-dir=/certs'] });
    expect(result).toMatchObject({ verdict: 'accepted', message: '', startup: 'ok', findings: [] });
    expect(result.effective).toMatchObject({ maxPods: 50, syncFrequency: '1m0s', tlsCertFile: '/certs/kubelet.crt' });
  });

  test('a bad flag comes before a bad document', () => {
    const result = check('{{{', { minor: 32, flags: ['--max-pods=x'] });
    expect(result).toMatchObject({ verdict: 'validate-error', startup: 'fails' });
    expect(result.findings.map(({ path, line }) => [path, line])).toEqual([
      ['--max-pods', undefined],
      ['', 1],
    ]);
    expect(result.message).toMatch(/^failed to parse kubelet flag: invalid argument/);
    expect(check('{{{', { minor: 23, flags: ['--max-pods=x'] }).message).toMatch(/^invalid argument/);
  });

  test.each([
    [16, 'failed to load Kubelet config file /f, error failed to decode, error: '],
    [23, 'failed to load Kubelet config file /f, error failed to decode: '],
    [24, 'failed to load kubelet config file, error: failed to load Kubelet config file /f, error failed to decode: '],
    [
      32,
      'failed to load kubelet config file, path: /f, error: failed to load Kubelet config file /f, error failed to decode: ',
    ],
  ])('1.%i wraps a decode error in its own words', (minor, start) => {
    const { verdict, message } = check(`${header}maxPods: x\n`, { minor, file: '/f' });
    expect(verdict).toBe('decode-error');
    expect(message.startsWith(start)).toBe(true);
  });

  test('a rule that is broken points at the line', () => {
    const result = check(`${header}port: 10250\nmaxPods: -1\n`, { minor: 32 });
    expect(result).toMatchObject({ verdict: 'validate-error', findings: [{ path: 'maxPods', line: 4, column: 10 }] });
  });

  test('a rule that a default breaks points at the field the document does set', () => {
    expect(check(`${header}imageGCHighThresholdPercent: 70\n`, { minor: 32 }).findings).toMatchObject([
      { path: 'imageGCLowThresholdPercent', line: 3 },
    ]);
  });

  test('unknown fields do not change the result, strict or lenient', () => {
    const text = `${header}bogus: 1\n`;
    expect(check(text, { minor: 32 })).toMatchObject({ verdict: 'accepted', findings: [{ severity: 'error' }] });
    expect(check(text, { minor: 32, lenient: true })).toMatchObject({
      verdict: 'accepted',
      findings: [{ severity: 'warning' }],
    });
  });

  test('a field pinned by a flag is pointed out where the document sets it otherwise', () => {
    const pinned = check(`${header}maxPods: 50\n`, { minor: 32, flags: ['--max-pods=60'] });
    expect(pinned.effective).toMatchObject({ maxPods: 60 });
    expect(pinned.findings).toMatchObject([{ severity: 'warning', source: 'relet', path: 'maxPods', line: 3 }]);
    expect(check(`${header}syncFrequency: 60s\n`, { minor: 32, flags: ['--sync-frequency=1m'] }).findings).toEqual([]);
  });

  test('relative paths count from the file', () => {
    const text = `${header}staticPodPath: ../manifests\nvolumePluginDir: plugins\n`;
    expect(check(text, { minor: 32, file: '/etc/kubernetes/kubelet.yaml' }).effective).toMatchObject({
      staticPodPath: '/etc/manifests',
      volumePluginDir: '/etc/kubernetes/plugins',
    });
  });

  test('versions beyond the tables are checked by the nearest', () => {
    expect(check(header, { minor: 99 }).effective).toEqual(check(header, { minor: 37 }).effective);
    expect(check(header, { minor: 1 }).effective).toEqual(check(header, { minor: 11 }).effective);
  });
});

/** Lines with the comment `#!` have one mistake each. */
const nineteenMistakes = `${header}maxPods: "110" #!
kubeReserved:
  cpu: 5OOm #!
  memory: 100 #!
syncFrequency: 1d #!
failSwapOn: "no" #!
featureGates:
  NodeSwapp: true #!
memorySwap: {swapBehavior: LimitedSwap}
imageGCHighThresholdPercent: 101 #!
nodeLeaseDurationSeconds: -1 #!
port: 70000 #!
tlsMinVersion: VersionTLS14 #!
evictionHard:
  memory.available: 5OOMi #!
  nodefs.avail: 10% #!
containerLogMaxSize: 10MB #!
address: 10.0.0 #!
authorization: {mode: Webhok} #!
cpuManagerPolicy: Static #!
cgroupDriver: sytemd #!
clusterDNS: ["10.96.0"] #!
resolvConf: etc/resolv.conf #!
`;

describe('one check has everything', () => {
  test('19 mistakes of all kinds are found in one run, each once, by line', () => {
    const wrong = nineteenMistakes.split('\n').flatMap((line, index) => (line.endsWith('#!') ? [index + 1] : []));
    expect(wrong).toHaveLength(19);
    const { verdict, message, findings } = check(nineteenMistakes, { minor: 32 });
    expect(findings.map(({ line }) => line)).toEqual(wrong);
    for (const { column } of findings) expect(column).toBeGreaterThan(0);
    // The kubelet's answer is still about the one thing that stops it.
    expect(verdict).toBe('decode-error');
    expect(message).toMatch(/error failed to decode: time: unknown unit "d" in duration "1d"$/);
  });

  test.each<[name: string, body: string, paths: string[]]>([
    [
      'a threshold that is compared with one that could not be read',
      'imageGCHighThresholdPercent: x\nimageGCLowThresholdPercent: 90\n',
      ['imageGCHighThresholdPercent'],
    ],
    [
      'a policy that needs a reservation that could not be read',
      'cpuManagerPolicy: static\nkubeReserved: {cpu: 1}\n',
      ['kubeReserved[cpu]'],
    ],
    [
      'what is behind a gate that is misspelt',
      'featureGates: {NodeLogQuerry: true}\nenableSystemLogQuery: true\n',
      ['featureGates[NodeLogQuerry]'],
    ],
    [
      'what is behind a gate whose value could not be read',
      'featureGates: {NodeLogQuery: "yes"}\nenableSystemLogQuery: true\n',
      ['featureGates[NodeLogQuery]'],
    ],
    [
      'a value that validation has rejected',
      'reservedSystemCPUs: x\ncpuManagerPolicy: static\n',
      ['reservedSystemCPUs'],
    ],
    ['a port that is the same as a wrong one', 'port: 70000\nreadOnlyPort: 70000\n', ['port', 'readOnlyPort']],
    [
      'the rest of a map with a wrong entry',
      'kubeReserved: {cpu: 1, memory: 1GB}\n',
      ['kubeReserved[cpu]', 'kubeReserved[memory]'],
    ],
    [
      'a gate that is locked, which is not announced as well',
      'featureGates: {AppArmor: false}\n',
      ['featureGates[AppArmor]'],
    ],
  ])('left out: %s', (_name, body, paths) => {
    expect(check(header + body, { minor: 32 }).findings.map(({ path }) => path)).toEqual(paths);
  });

  test('what follows from a default is placed at the gate that turned it on', () => {
    const text = `${header}featureGates:\n  GracefulNodeShutdown: false\n`;
    expect(check(text, { minor: 35 }).findings).toMatchObject([{ line: 4 }, { line: 4 }]);
  });
});

test('whatever a field is set to, every step runs, and each error has its place', () => {
  const values = [
    '-1',
    '0',
    '"x"',
    '[]',
    '[a, 1, {b: c}]',
    '{}',
    '{a: 1, b: [c]}',
    '{a: true}',
    'true',
    '1h',
    '5%',
    'null',
  ];
  const setting = fc.tuple(
    fc.constantFrom(...fields.filter(({ path }) => !/[.[]/.test(path))),
    fc.constantFrom(...values),
  );
  const minors = fc.integer({ min: oldestMinor, max: newestMinor });
  fc.assert(
    fc.property(fc.array(setting, { maxLength: 12 }), minors, (settings, minor) => {
      const top = settings.filter(([field]) => existsIn(field, minor));
      const text =
        header +
        [...new Map(top.map(([field, value]) => [field.path, value]))]
          .map(([path, value]) => `${path}: ${value}\n`)
          .join('');
      const { findings } = check(text, { minor });
      const lines = findings.map(({ line = 0 }) => line);
      expect(lines).toEqual(lines.toSorted((a, b) => a - b));
      for (const { severity, path, line } of findings)
        if (severity === 'error' && top.some(([field]) => field.path === path)) expect(line).toBeGreaterThan(2);
    }),
    { numRuns: 400 },
  );
});

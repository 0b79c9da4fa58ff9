/** Flags: how the kubelet reads them, what they do to a config, what it says of those it cannot read. */
import { describe, expect, test } from 'vitest';
import { setDefaults } from './defaults.js';
import { flagRows, otherFlags } from './facts/flag-rows.js';
import { fieldAt } from './fields.js';
import { anyValueOf, applyFlags, flagAt, parseCommandLine, readCommandLine } from './flags.js';
import { getField } from './model.js';

function effect(flag: string[], path: string, minor = 32, config = {}) {
  return getField(applyFlags(setDefaults(config, minor), parseCommandLine(flag, minor), minor), path);
}

describe('what a flag writes', () => {
  test.each([
    [['--max-pods=60'], 'maxPods', 60],
    [['--max_pods', '0x10'], 'maxPods', 16],
    [['--max-pods=60', '--max-pods=70'], 'maxPods', 70],
    [['--fail-swap-on'], 'failSwapOn', true],
    [['--fail-swap-on=F'], 'failSwapOn', false],
    [['--sync-frequency=90s'], 'syncFrequency', '1m30s'],
    [['--address=::'], 'address', '::'],
    [['--address='], 'address', '0.0.0.0'],
    [['--cluster-dns=10.0.0.1,10.0.0.2', '--cluster-dns=10.0.0.3'], 'clusterDNS', ['10.0.0.1', '10.0.0.2', '10.0.0.3']],
    [['--cluster-dns='], 'clusterDNS', []],
    [
      ['--eviction-hard=memory.available<1Gi,nodefs.available<5%'],
      'evictionHard',
      { 'memory.available': '1Gi', 'nodefs.available': '5%' },
    ],
    [['--eviction-hard='], 'evictionHard', {}],
    [['--kube-reserved=cpu=100m, memory = 1Gi'], 'kubeReserved', { cpu: '100m', memory: '1Gi' }],
    [['--cpu-manager-policy-options=a=b,c'], 'cpuManagerPolicyOptions', { a: 'b,c' }],
    [['--manifest-url-header=a:b,a:c'], 'staticPodURLHeader', { a: ['b', 'c'] }],
    [
      ['--register-with-taints=b=c:NoExecute,d:NoSchedule'],
      'registerWithTaints',
      [
        { key: 'b', value: 'c', effect: 'NoExecute' },
        { key: 'd', effect: 'NoSchedule' },
      ],
    ],
    [
      ['--reserved-memory=0:memory=1Gi,hugepages-2Mi=2Mi;1:memory=2Gi'],
      'reservedMemory',
      [
        { numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': '2Mi' } },
        { numaNode: 1, limits: { memory: '2Gi' } },
      ],
    ],
    [['-v4'], 'logging.verbosity', 4],
    [
      ['--vmodule=a=1,b*=2'],
      'logging.vmodule',
      [
        { filePattern: 'a', verbosity: 1 },
        { filePattern: 'b*', verbosity: 2 },
      ],
    ],
    [['--log-json-info-buffer-size=1024Ki'], 'logging.options.json.infoBufferSize', '1Mi'],
    [['--kubeconfig=/x', '--max-open-files=9223372036854775807'], 'maxOpenFiles', 9223372036854775807n],
  ])('%j', (flags, path, value) => {
    expect(effect(flags, path)).toEqual(value);
  });

  test('feature gates are merged, the flags win', () => {
    const config = { featureGates: { A: true, B: true } };
    expect(effect(['--feature-gates=B=false,C=true'], 'featureGates', 32, config)).toEqual({
      A: true,
      B: false,
      C: true,
    });
  });

  test('other maps are replaced whole', () => {
    const config = { kubeReserved: { cpu: '1', memory: '1Gi' } };
    expect(effect(['--kube-reserved=cpu=2'], 'kubeReserved', 32, config)).toEqual({ cpu: '2' });
  });

  test('a flag older than its field writes nothing', () => {
    const config = setDefaults({}, 18);
    expect(applyFlags(config, parseCommandLine(['--provider-id=x'], 18), 18)).toEqual(config);
    expect(effect(['--provider-id=x'], 'providerID', 19)).toBe('x');
  });

  test('the flush frequency was a number of nanoseconds until 1.27', () => {
    expect(effect(['--log-flush-frequency=1s'], 'logging.flushFrequency', 27)).toBe(1_000_000_000);
    expect(effect(['--log-flush-frequency=1s'], 'logging.flushFrequency', 28)).toBe('1s');
  });
});

test('1.37 no longer has the flags that came with cAdvisor, but for one', () => {
  for (const flag of [
    '--containerd=/run/containerd.sock',
    '--storage-driver-db=a',
    '--global-housekeeping-interval=1m',
  ]) {
    expect(parseCommandLine([flag], 36).size).toBe(1);
    expect(() => parseCommandLine([flag], 37)).toThrow(`unknown flag: ${flag.split('=')[0]}`);
  }
  expect(parseCommandLine(['--housekeeping-interval=10s'], 37).size).toBe(1);
});

describe('what the kubelet says of a bad one', () => {
  test.each([
    [['--no-such-flag=1'], 'unknown flag: --no-such-flag'],
    [['-max-pods=60'], "unknown shorthand flag: 'm' in -max-pods=60"],
    [['--max-pods'], 'flag needs an argument: --max-pods'],
    [
      ['--max-pods=many'],
      'invalid argument "many" for "--max-pods" flag: strconv.ParseInt: parsing "many": invalid syntax',
    ],
    [
      ['--max-pods=2147483648'],
      'invalid argument "2147483648" for "--max-pods" flag: strconv.ParseInt: parsing "2147483648": value out of range',
    ],
    [
      ['--fail-swap-on=yes'],
      'invalid argument "yes" for "--fail-swap-on" flag: strconv.ParseBool: parsing "yes": invalid syntax',
    ],
    [['--address=x'], 'invalid argument "x" for "--address" flag: "x" is not a valid IP address'],
    [['--sync-frequency=5'], 'invalid argument "5" for "--sync-frequency" flag: time: missing unit in duration "5"'],
    [['--eviction-hard=a'], 'invalid argument "a" for "--eviction-hard" flag: malformed pair, expect string<string'],
    [['--kube-reserved=a'], 'invalid argument "a" for "--kube-reserved" flag: malformed pair, expect string=string'],
    [['--feature-gates=A'], 'invalid argument "A" for "--feature-gates" flag: malformed pair, expect string=bool'],
    [
      ['--manifest-url-header=a'],
      'invalid argument "a" for "--manifest-url-header" flag: malformed pair, expect string:string',
    ],
    [
      ['--register-with-taints=a=b'],
      'invalid argument "a=b" for "--register-with-taints" flag: invalid taint spec: a=b',
    ],
    [
      ['--register-with-taints=a=b:Never'],
      'invalid argument "a=b:Never" for "--register-with-taints" flag: invalid taint effect: Never, unsupported taint effect',
    ],
    [
      ['--reserved-memory=0'],
      'invalid argument "0" for "--reserved-memory" flag: the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got 0',
    ],
    [['-v=x'], 'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax'],
    [['--vmodule=a'], 'invalid argument "a" for "--vmodule" flag: "a" does not have the pattern=N format'],
    [['--fail-swap-on', 'false'], 'unknown command false'],
  ])('%j', (flags, message) => {
    expect(() => parseCommandLine(flags, 32)).toThrow(message);
  });

  test('flags of a library are read as their type too', () => {
    for (const flag of ['--application-metrics-count-limit=', '--log-cadvisor-usage=x', '--housekeeping-interval=5'])
      expect(() => parseCommandLine([flag], 32)).toThrow('invalid argument');
  });

  test('the first bad one is named', () => {
    expect(() => parseCommandLine(['--max-pods=x', '--nope'], 32)).toThrow('invalid argument "x"');
  });

  test('flags come and go', () => {
    expect(flagAt('dynamic-config-dir', 23)).toBeDefined();
    expect(flagAt('dynamic-config-dir', 24)).toBeUndefined();
    expect(flagAt('config-dir', 27)).toBeUndefined();
    expect(flagAt('config-dir', 28)).toBeDefined();
    expect(flagAt('fail-cgroupv1', 30)).toBeUndefined();
  });
});

test('every flag in the table writes a field we know', () => {
  expect(flagRows.filter(([, , field]) => fieldAt(field) === undefined)).toEqual([]);
});

test('every flag takes the value that stands for an unknown one', () => {
  const others = [...otherFlags.matchAll(/([a-z0-9-]+):\w(\d+)/g)].map(
    ([, name, first]) => [name!, Number(first)] as const,
  );
  for (const [name, first] of [...flagRows.map((row) => [row[0], row[3]] as const), ...others])
    expect([name, readCommandLine([`--${name}=${anyValueOf(name)}`], first).errors]).toEqual([name, []]);
});

/** Every validation rule on both sides of its bound, and where its wording changed. Messages are the kubelet's, word for word. */
import { describe, expect, test } from 'vitest';
import { casesIn, defaulted } from '../../test/config-cases.js';
import { type Host, newestMinor, oldestMinor } from './model.js';
import { validate, validateCommandLine } from './validate.js';

function validated(minor: number, set: Record<string, unknown>, host?: Host, flags: [string, string[]][] = []) {
  return validate(defaulted(minor, set), { minor, flags: new Map(flags), ...(host === undefined ? {} : { host }) });
}

const messages = (minor: number, set: Record<string, unknown>, host?: Host) =>
  validated(minor, set, host)
    .findings.filter((f) => f.severity === 'error')
    .map((f) => f.message);

const ic = 'invalid configuration: ';
const gate = (name: string, on = true) => ({ featureGates: { [name]: on } });

test('no minor refuses its own defaults', () => {
  for (let minor = oldestMinor; minor <= newestMinor; minor++)
    expect([minor, messages(minor, {})]).toEqual([minor, []]);
});

describe('bounds of numbers', () => {
  const percent = 'must be between 0 and 100, inclusive';
  const bit = 'must be between 0 and 31, inclusive';
  const port = 'must be between 1 and 65535, inclusive';
  const negative = 'must not be a negative number';
  const score = 'must be between -1000 and 1000, inclusive';
  test.each([
    ['eventBurst', 0, -1, 'EventBurst (--event-burst)', negative],
    ['eventRecordQPS', 0, -1, 'EventRecordQPS (--event-qps)', negative],
    ['healthzPort', 65535, 65536, 'HealthzPort (--healthz-port)', port],
    ['healthzPort', 0, -1, 'HealthzPort (--healthz-port)', port],
    ['imageGCHighThresholdPercent', 100, 101, 'ImageGCHighThresholdPercent (--image-gc-high-threshold)', percent],
    ['imageGCLowThresholdPercent', 0, -1, 'ImageGCLowThresholdPercent (--image-gc-low-threshold)', percent],
    ['iptablesDropBit', 31, 32, 'IPTablesDropBit (--iptables-drop-bit)', bit],
    ['iptablesMasqueradeBit', 0, -1, 'IPTablesMasqueradeBit (--iptables-masquerade-bit)', bit],
    ['kubeAPIBurst', 0, -1, 'KubeAPIBurst (--kube-api-burst)', negative],
    ['kubeAPIQPS', 0, -1, 'KubeAPIQPS (--kube-api-qps)', negative],
    ['maxOpenFiles', 0, -1, 'MaxOpenFiles (--max-open-files)', negative],
    ['maxPods', 0, -1, 'MaxPods (--max-pods)', negative],
    ['oomScoreAdj', -1000, -1001, 'OOMScoreAdj (--oom-score-adj)', score],
    ['oomScoreAdj', 1000, 1001, 'OOMScoreAdj (--oom-score-adj)', score],
    ['podsPerCore', 0, -1, 'PodsPerCore (--pods-per-core)', negative],
    ['port', 1, 0, 'Port (--port)', port],
    ['port', 65535, 65536, 'Port (--port)', port],
    ['readOnlyPort', 0, -1, 'ReadOnlyPort (--read-only-port)', 'must be between 0 and 65535, inclusive'],
    ['registryBurst', 0, -1, 'RegistryBurst (--registry-burst)', negative],
    ['registryPullQPS', 0, -1, 'RegistryPullQPS (--registry-qps)', negative],
  ])('%s takes %i, not %i', (field, good, bad, name, rule) => {
    for (const minor of [11, 19, 20, 36]) {
      expect(messages(minor, { [field]: good })).toEqual([]);
      const shown = minor >= 20 ? name.replace(/^\w+/, field) : name;
      expect(messages(minor, { [field]: bad })[0]).toBe(`${ic}${shown} ${bad} ${rule}`);
    }
  });
});

describe('rules by minor', () => {
  test.each(casesIn('src/config/rules/rules.cases.txt'))('%s', (_title, minor, set, host, errors) => {
    expect(messages(minor, set, host)).toEqual(errors);
  });
});

describe('stages', () => {
  test.each(casesIn('src/config/rules/stages.cases.txt'))('%s', (_title, minor, set, _host, [expected]) => {
    const { stage, message } = validated(minor, set);
    expect(message === '' ? stage : `${stage}: ${message}`).toBe(expected);
  });

  test('since 1.32 the document’s own bad gates are a panic, the flags’ are not', () => {
    const document = { apiVersion: 'kubelet.config.k8s.io/v1beta1', featureGates: { NoSuch: true } };
    const result = validate(defaulted(32, gate('NoSuch')), { minor: 32, flags: new Map(), document });
    expect(result.message).toBe(
      'panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: unrecognized feature gate: NoSuch',
    );
  });

  test('each error names its field', () => {
    const paths = validated(32, {
      maxPods: -1,
      enforceNodeAllocatable: ['pods', 'x'],
      reservedSystemCPUs: 'x',
    }).findings.map((f) => f.path);
    expect(paths).toEqual(['maxPods', 'enforceNodeAllocatable[1]', 'reservedSystemCPUs']);
  });

  test('json is refused beside flags of the text logger', () => {
    const flags: [string, string[]][] = [
      ['log-dir', ['/tmp']],
      ['logtostderr', ['true']],
    ];
    expect(validated(23, { 'logging.format': 'json' }, undefined, flags).message).toBe(
      'logging.format: Invalid value: "json": Non-default format doesn\'t honor flag: log-dir',
    );
  });
});

describe('the command line', () => {
  const line = (minor: number, flags: [string, string[]][]) => validateCommandLine(new Map(flags), { minor });

  test.each<[name: string, minor: number, flag: string, value: string, stage: string]>([
    ['an unknown gate', 32, 'feature-gates', 'NoSuch=true', 'gates'],
    ['a known gate', 32, 'feature-gates', 'NodeSwap=true', 'accepted'],
    ['a label of the cluster', 16, 'node-labels', 'kubernetes.io/role=master', 'flags'],
    ['the same, only warned of in 1.15', 15, 'node-labels', 'kubernetes.io/role=master', 'accepted'],
    ['a label kubelets may set', 32, 'node-labels', 'node.kubernetes.io/pool=a,team=b', 'accepted'],
    ['a bad label value, since 1.25', 25, 'node-labels', 'team=a b', 'flags'],
    ['a bad label value before', 24, 'node-labels', 'team=a b', 'accepted'],
    ['the dynamic config directory while its gate is on', 21, 'dynamic-config-dir', '/d', 'accepted'],
    ['the dynamic config directory while its gate is off', 23, 'dynamic-config-dir', '/d', 'flags'],
    ['seccomp by default without its gate', 24, 'seccomp-default', 'true', 'flags'],
    ['seccomp by default later', 27, 'seccomp-default', 'true', 'accepted'],
    ['too few images in the status', 18, 'node-status-max-images', '-2', 'flags'],
  ])('%s', (_name, minor, flag, value, stage) => {
    expect(line(minor, [[flag, [value]]]).stage).toBe(stage);
  });
});

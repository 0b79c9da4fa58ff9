/** The default object of every minor: which fields it has, and what moved between versions. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { setDefaults } from './defaults.js';
import { fieldAt, fields, fieldsOf } from './fields.js';
import { getField, newestMinor, oldestMinor } from './model.js';
import { validate } from './validate.js';

const minors = Array.from({ length: newestMinor - oldestMinor + 1 }, (_, index) => oldestMinor + index);

/** Field paths present in an object. Lists are null by default; their elements' fields are not looked for. */
function pathsIn(object: Record<string, unknown>, prefix = ''): string[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const path = prefix + key;
    const isStruct = fieldAt(path)?.goType === '{}' && value !== null;
    return isStruct ? [path, ...pathsIn(value as Record<string, unknown>, `${path}.`)] : [path];
  });
}

test('a field that the kubelet holds as a plain bool is false, as on /configz, although it has no default', () => {
  expect(setDefaults({}, 27).enableSystemLogQuery).toBe(false);
  expect(setDefaults({ enableSystemLogQuery: true }, 37).enableSystemLogQuery).toBe(true);
  expect(setDefaults({}, 26)).not.toHaveProperty('enableSystemLogQuery');
});

describe.each(minors)('1.%i', (minor) => {
  const config = setDefaults({}, minor);

  test('has exactly the fields of that version', () => {
    const pointers = ['tracing', 'userNamespaces'];
    const expected = fieldsOf(minor)
      .map(({ path }) => path)
      .filter(
        (path) => (!path.includes('[]') && !pointers.includes(path.split('.')[0] ?? '')) || pointers.includes(path),
      );
    expect(pathsIn(config).sort()).toEqual(expected.sort());
  });

  test('is valid', () => {
    expect(validate(config, { minor, flags: new Map(), document: {} })).toMatchObject({
      stage: 'accepted',
      findings: [],
    });
  });

  test('has nothing to add to itself', () => {
    expect(setDefaults(config, minor)).toEqual(config);
  });
});

// From the source of each .0 release: paths in KubeletConfiguration, nested ones and those of list items included.
const counts = [
  86, 89, 90, 90, 90, 92, 93, 94, 103, 107, 113, 118, 134, 133, 137, 138, 142, 142, 143, 149, 150, 153, 158, 158, 158,
  160, 161,
];

test.each(minors.map((minor, index) => [minor, counts[index]!] as const))('1.%i has %i field paths', (minor, count) => {
  expect(fieldsOf(minor).length).toBe(count);
});

test('there are 162 in all', () => {
  expect(fields.length).toBe(162);
});

const single = fields.filter(({ path }) => !path.includes('[]') && !/^(tracing|userNamespaces)\./.test(path));

test.each(single.map((field) => [field.path, field] as const))(
  '%s is there from its first version to its last',
  (path, field) => {
    expect(getField(setDefaults({}, field.first), path)).not.toBeUndefined();
    expect(getField(setDefaults({}, field.last), path)).not.toBeUndefined();
    if (field.first > oldestMinor) expect(getField(setDefaults({}, field.first - 1), path)).toBeUndefined();
    if (field.last < newestMinor) expect(getField(setDefaults({}, field.last + 1), path)).toBeUndefined();
  },
);

describe('defaults that moved', () => {
  test.each([
    ['kubeAPIQPS', 26, 5, 27, 50],
    ['kubeAPIBurst', 26, 10, 27, 100],
    ['eventRecordQPS', 26, 5, 27, 50],
    ['eventBurst', 26, 10, 27, 100],
    ['nodeStatusReportFrequency', 16, '1m0s', 17, '5m0s'],
    ['memoryThrottlingFactor', 26, 0.8, 27, 0.9],
    ['failCgroupV1', 34, false, 35, true],
    ['logging.flushFrequency', 27, 5_000_000_000, 28, '5s'],
    ['crashLoopBackOff.maxContainerRestartPeriod', 34, null, 35, '5m0s'],
    ['imagePullCredentialsVerificationPolicy', 34, '', 35, 'NeverVerifyPreloadedImages'],
  ])('%s: 1.%i %j, 1.%i %j', (path, before, old, after, now) => {
    expect(getField(setDefaults({}, before), path)).toEqual(old);
    expect(getField(setDefaults({}, after), path)).toEqual(now);
  });

  test('imagefs.inodesFree is guarded since 1.30', () => {
    expect(setDefaults({}, 29).evictionHard).not.toHaveProperty(['imagefs.inodesFree']);
    expect(setDefaults({}, 30).evictionHard).toHaveProperty(['imagefs.inodesFree'], '5%');
  });
});

describe('defaults that are computed', () => {
  test.each([
    [
      'a slower status update is a slower report',
      32,
      { nodeStatusUpdateFrequency: '20s' },
      { nodeStatusReportFrequency: '20s' },
    ],
    ['parallel pulls end serial pulls', 27, { maxParallelImagePulls: 2 }, { serializeImagePulls: false }],
    ['one parallel pull does not', 27, { maxParallelImagePulls: 1 }, { serializeImagePulls: true }],
    ['a negative limit is none', 14, { podPidsLimit: -5 }, { podPidsLimit: -1 }],
    ['1.13 kept it', 13, { podPidsLimit: -5 }, { podPidsLimit: -5 }],
    ['zero means unset for a plain number', 32, { maxPods: 0 }, { maxPods: 110 }],
    ['and stays for a pointer', 32, { healthzPort: 0 }, { healthzPort: 0 }],
    ['an empty resolvConf stays since 1.23', 23, { resolvConf: '' }, { resolvConf: '' }],
    ['and was filled before', 22, { resolvConf: '' }, { resolvConf: '/etc/resolv.conf' }],
    ['an empty map stays', 32, { evictionHard: {} }, { evictionHard: {} }],
    ['an empty list stays', 32, { enforceNodeAllocatable: [] }, { enforceNodeAllocatable: [] }],
    ['text that looks like a duration stays', 32, { volumePluginDir: '0s' }, { volumePluginDir: '0s' }],
    [
      'a gate brings a default',
      32,
      { featureGates: { KubeletCrashLoopBackOffMax: true } },
      { crashLoopBackOff: { maxContainerRestartPeriod: '5m0s' } },
    ],
    [
      'AllAlpha brings it too',
      32,
      { featureGates: { AllAlpha: true } },
      { crashLoopBackOff: { maxContainerRestartPeriod: '5m0s' } },
    ],
  ])('%s', (_name, minor, set, expected) => {
    expect(setDefaults(set, minor)).toMatchObject(expected);
  });

  test('missing eviction thresholds are merged when asked for', () => {
    const config = setDefaults({ mergeDefaultEvictionSettings: true, evictionHard: { 'memory.available': '1Gi' } }, 33);
    expect(config.evictionHard).toMatchObject({ 'memory.available': '1Gi', 'nodefs.available': '10%' });
  });

  test('the argument is not changed', () => {
    const set = { authentication: { webhook: {} } };
    setDefaults(set, 32);
    expect(set).toEqual({ authentication: { webhook: {} } });
  });
});

test('defaults are settled after one pass, whatever was set', () => {
  const set = fc.record(
    {
      maxPods: fc.integer({ min: 0, max: 500 }),
      nodeStatusUpdateFrequency: fc.constantFrom('0s', '10s', '1m0s'),
      maxParallelImagePulls: fc.constantFrom(null, 1, 5),
      podPidsLimit: fc.integer({ min: -5, max: 5 }),
      evictionHard: fc.dictionary(
        fc.constantFrom('memory.available', 'nodefs.available'),
        fc.constantFrom('1Gi', '5%'),
      ),
      mergeDefaultEvictionSettings: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(set, fc.constantFrom(...minors), (config, minor) => {
      const known = Object.fromEntries(
        Object.entries(config).filter(([path]) => (fieldAt(path)?.first ?? 99) <= minor),
      );
      const once = setDefaults(known, minor);
      expect(setDefaults(once, minor)).toEqual(once);
    }),
  );
});

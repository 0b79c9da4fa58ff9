/** The rest of a config when the kubelet's defaults are taken out. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { setDefaults } from './defaults.js';
import { diff } from './diff.js';
import type { KubeletConfig } from './model.js';
import { withoutDefaults } from './without-defaults.js';

const minors = [11, 17, 23, 32, 37];

describe('a config without defaults', () => {
  test.each(minors)('of kubelet 1.%i is empty when it has nothing but defaults', (minor) => {
    expect(withoutDefaults(setDefaults({}, minor), minor)).toEqual({});
  });

  test('keeps what was chosen, and what is not known', () => {
    const chosen = { maxPods: 42, logging: { verbosity: 4 }, clusterDNS: ['10.96.0.10'], fieldOfTomorrow: 1 };
    const whole = { ...setDefaults(chosen, 32), fieldOfTomorrow: 1 };
    expect(withoutDefaults(whole, 32)).toEqual(chosen);
  });

  test('a value that a kubelet shows although nobody set it goes', () => {
    expect(withoutDefaults({ ...setDefaults({}, 36), enableSystemLogQuery: false }, 36)).toEqual({});
    expect(withoutDefaults({ enableSystemLogQuery: true }, 36)).toEqual({ enableSystemLogQuery: true });
  });

  test('an empty list or map whose default is not empty stays', () => {
    const chosen = { enforceNodeAllocatable: [], evictionHard: {} };
    expect(withoutDefaults(setDefaults(chosen, 32), 32)).toEqual(chosen);
  });

  test('a map is kept whole: the kubelet does not merge its default into it', () => {
    const evictionHard = { 'memory.available': '100Mi', 'nodefs.available': '5%' };
    expect(withoutDefaults(setDefaults({ evictionHard }, 32), 32)).toEqual({ evictionHard });
  });

  test('a field whose default depends on another one keeps its value', () => {
    const config = setDefaults({ nodeStatusUpdateFrequency: '10s' }, 32);
    expect(config.nodeStatusReportFrequency).toBe('10s');
    expect(diff(withoutDefaults(config, 32), config, 32)).toEqual([]);
  });

  test('means the same, whatever was set', () => {
    const config: fc.Arbitrary<KubeletConfig> = fc.record(
      {
        maxPods: fc.nat(200),
        nodeStatusUpdateFrequency: fc.constantFrom('10s', '20s', '1m'),
        nodeStatusReportFrequency: fc.constantFrom('10s', '5m', '1m'),
        serializeImagePulls: fc.boolean(),
        registryPullQPS: fc.nat(10),
        evictionHard: fc.dictionary(
          fc.constantFrom('memory.available', 'nodefs.available'),
          fc.constantFrom('5%', '1Gi'),
        ),
        clusterDNS: fc.array(fc.constantFrom('10.96.0.10', '10.96.0.11'), { maxLength: 2 }),
        authentication: fc.record({ anonymous: fc.record({ enabled: fc.boolean() }) }),
        enforceNodeAllocatable: fc.constantFrom([], ['pods'], ['none']),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(config, fc.constantFrom(...minors), (chosen, minor) => {
        const whole = setDefaults(chosen, minor);
        const small = withoutDefaults(whole, minor);
        expect(diff(small, whole, minor)).toEqual([]);
        expect(withoutDefaults(small, minor)).toEqual(small);
      }),
    );
  });
});

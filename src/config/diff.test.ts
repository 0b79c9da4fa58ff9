/** Differences by meaning, and making them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { setDefaults } from './defaults.js';
import { apply, diff } from './diff.js';
import { fieldsOf } from './fields.js';
import { type KubeletConfig, newestMinor, oldestMinor } from './model.js';

describe('what is a difference', () => {
  test.each<[string, KubeletConfig, KubeletConfig, unknown]>([
    ['a value', { maxPods: 50 }, { maxPods: 60 }, [{ path: 'maxPods', before: 50, after: 60 }]],
    ['a value and the default', {}, { maxPods: 60 }, [{ path: 'maxPods', before: 110, after: 60 }]],
    ['the default written out is none', {}, { maxPods: 110, evictionPressureTransitionPeriod: '5m' }, []],
    ['durations are compared as values', { syncFrequency: '90s' }, { syncFrequency: '1m30s' }, []],
    ['quantities too', { kubeReserved: { memory: '1Gi' } }, { kubeReserved: { memory: '1024Mi' } }, []],
    ['and what holds one as text', { containerLogMaxSize: '10Mi' }, { containerLogMaxSize: '10240Ki' }, []],
    [
      'flush frequency as text or number',
      { logging: { flushFrequency: '5s' } },
      { logging: { flushFrequency: 5_000_000_000 } },
      [],
    ],
    ['percentages', { evictionHard: { a: '10%' } }, { evictionHard: { a: '10.0%' } }, []],
    [
      'other text is text',
      { clusterDomain: '1Gi' },
      { clusterDomain: '1024Mi' },
      [{ path: 'clusterDomain', before: '1Gi', after: '1024Mi' }],
    ],
    [
      'a socket by its path, with or without the scheme and the link /var/run',
      { containerRuntimeEndpoint: 'unix:///var/run/containerd/containerd.sock', imageServiceEndpoint: '/run/a.sock' },
      { containerRuntimeEndpoint: '/run/containerd/containerd.sock', imageServiceEndpoint: 'unix:///var/run/a.sock' },
      [],
    ],
    [
      'another socket',
      { containerRuntimeEndpoint: 'unix:///run/a.sock' },
      { containerRuntimeEndpoint: 'unix:///run/b.sock' },
      [{ path: 'containerRuntimeEndpoint', before: 'unix:///run/a.sock', after: 'unix:///run/b.sock' }],
    ],
    ['an empty list equals an absent one', { clusterDNS: [] }, {}, []],
    [
      'the order of a map is none',
      { featureGates: { A: true, B: false } },
      { featureGates: { B: false, A: true } },
      [],
    ],
    [
      'a list is one value',
      { clusterDNS: ['a', 'b'] },
      { clusterDNS: ['b', 'a'] },
      [{ path: 'clusterDNS', before: ['a', 'b'], after: ['b', 'a'] }],
    ],
    [
      'an optional object',
      {},
      { tracing: { endpoint: 'x', samplingRatePerMillion: 1 } },
      [{ path: 'tracing', before: null, after: { endpoint: 'x', samplingRatePerMillion: 1 } }],
    ],
    [
      'a nested field',
      {},
      { authentication: { anonymous: { enabled: true } } },
      [{ path: 'authentication.anonymous.enabled', before: false, after: true }],
    ],
    [
      'a map differs key by key',
      { evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' } },
      { evictionHard: { 'memory.available': '1Gi', 'imagefs.available': '15%' } },
      [
        { path: 'evictionHard[imagefs.available]', before: undefined, after: '15%' },
        { path: 'evictionHard[memory.available]', before: '100Mi', after: '1Gi' },
        { path: 'evictionHard[nodefs.available]', before: '10%', after: undefined },
      ],
    ],
  ])('%s', (_name, a, b, changes) => {
    expect(diff(a, b, 32)).toEqual(changes);
  });
});

/** Any value the field's type allows, as decoding would leave it. */
function anyValue(goType: string): fc.Arbitrary<unknown> {
  const text = fc.string({ maxLength: 6 });
  const quantity = fc.constantFrom('0', '1Gi', '1024Mi', '1536Mi', '100m', '5', '10%');
  if (goType === 'bool') return fc.boolean();
  if (goType === 'Duration') return fc.constantFrom('0s', '10s', '1m0s', '1h30m0s', '-5s');
  if (goType === 'float64') return fc.double({ noNaN: true, noDefaultInfinity: true });
  if (/^u?int/.test(goType))
    return fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.bigInt({ min: 2n ** 54n, max: 2n ** 62n }));
  if (goType === '[]string') return fc.option(fc.array(text, { maxLength: 3 }));
  if (goType === 'map[string]string') return fc.option(fc.dictionary(text, fc.oneof(quantity, text), { maxKeys: 3 }));
  if (goType === 'map[string]bool')
    return fc.option(fc.dictionary(fc.constantFrom('AllAlpha', 'AllBeta', 'A'), fc.boolean()));
  if (goType === 'Quantity') return quantity;
  return text;
}

const plain = new Set([
  'bool',
  'string',
  'Duration',
  'float64',
  'int32',
  'int64',
  '[]string',
  'map[string]string',
  'map[string]bool',
  'Quantity',
]);

function configOf(minor: number): fc.Arbitrary<KubeletConfig> {
  const usable = fieldsOf(minor).filter(
    ({ path, goType }) =>
      plain.has(goType) && !path.includes('[]') && !/^(tracing|userNamespaces|logging.flush)/.test(path),
  );
  const some = fc.subarray(usable, { maxLength: 8 });
  return some.chain((chosen) =>
    fc.tuple(...chosen.map(({ goType }) => anyValue(goType))).map((values) => {
      const config: KubeletConfig = {};
      chosen.forEach(({ path }, index) => {
        const parts = path.split('.');
        const last = parts.pop()!;
        let parent = config;
        for (const part of parts) {
          parent[part] ??= {};
          parent = parent[part] as KubeletConfig;
        }
        parent[last] = values[index];
      });
      return config;
    }),
  );
}

const minorAndTwo = fc
  .integer({ min: oldestMinor, max: newestMinor })
  .chain((minor) => fc.tuple(fc.constant(minor), configOf(minor), configOf(minor)));

describe('always', () => {
  test('a config does not differ from itself, nor from itself with defaults', () => {
    fc.assert(
      fc.property(minorAndTwo, ([minor, a]) => {
        expect(diff(a, a, minor)).toEqual([]);
        expect(diff(a, setDefaults(a, minor), minor)).toEqual([]);
      }),
    );
  });

  test('making the differences gives the other', () => {
    fc.assert(
      fc.property(minorAndTwo, ([minor, a, b]) => {
        const made = apply(a, diff(a, b, minor), minor);
        expect(diff(made, b, minor)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test('neither side is changed', () => {
    fc.assert(
      fc.property(minorAndTwo, ([minor, a, b]) => {
        const [before, after] = [structuredClone(a), structuredClone(b)];
        apply(a, diff(a, b, minor), minor);
        expect([a, b]).toEqual([before, after]);
      }),
    );
  });
});

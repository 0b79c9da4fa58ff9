/** Payloads: what set and convert make of them, and what is written down of a running config. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatRef } from '../api/config-ref.js';
import { setDefaults } from '../config/defaults.js';
import { diff } from '../config/diff.js';
import { getField, type KubeletConfig } from '../config/model.js';
import { encodeOverlay } from '../config/overlay.js';
import { readHistory, undoTarget, withEntry } from './config-history.js';
import { asConfigText, readWritten } from './config-text.js';
import {
  convertToOverlay,
  documentOf,
  parseStatements,
  readOverlay,
  withStatements,
  writtenLocally,
} from './payload.js';

const pair = { tlsCertFile: '/srv/pki/kubelet.crt', tlsPrivateKeyFile: '/srv/pki/kubelet.key' };
const runs = (config: KubeletConfig, minor = 32) => setDefaults(config, minor);

describe('what is written down of a config that runs', () => {
  test.each<[string, KubeletConfig, string[], KubeletConfig]>([
    ['the certificate that the kubelet made', { maxPods: 7, ...pair }, [], { maxPods: 7 }],
    [
      'values of flags',
      { maxPods: 7, address: '10.0.0.1', healthzPort: 10348 },
      ['address', 'healthzPort'],
      { maxPods: 7 },
    ],
    [
      'values of flags inside a struct',
      { authentication: { x509: { clientCAFile: '/pki/ca.crt' }, anonymous: { enabled: true } } },
      ['authentication.x509.clientCAFile'],
      { authentication: { anonymous: { enabled: true } } },
    ],
    ['the name that a cloud has for it', { providerID: 'aws:///eu/i-1' }, [], {}],
    ['defaults', {}, [], {}],
  ])('leaves out %s', (_what, config, pinned, expected) => {
    expect(writtenLocally(runs(config), pinned, 32)).toEqual(expected);
  });

  test.each<[string, KubeletConfig]>([
    ['a certificate with another name', { tlsCertFile: '/etc/pki/node.crt', tlsPrivateKeyFile: '/etc/pki/node.key' }],
    ['a key in another directory', { tlsCertFile: '/a/kubelet.crt', tlsPrivateKeyFile: '/b/kubelet.key' }],
    ['gates, which a flag adds to those of the file', { featureGates: { InPlacePodVerticalScaling: true } }],
  ])('keeps %s', (_what, config) => {
    expect(writtenLocally(runs(config), ['featureGates'], 32)).toEqual(config);
  });

  test('has no value of a flag or of one host, and loses nothing else', () => {
    const flags = {
      address: fc.constantFrom('10.0.0.1', '::1'),
      port: fc.constantFrom(10250, 10348),
      healthzBindAddress: fc.constantFrom('127.0.0.1', '10.0.0.1'),
      maxPods: fc.nat(200),
      clusterDNS: fc.constantFrom([], ['10.96.0.10']),
      registerNode: fc.boolean(),
    };
    const host = fc.record({
      ...Object.fromEntries(Object.entries(pair).map(([name, path]) => [name, fc.constant(path)])),
      providerID: fc.string(),
    });
    fc.assert(
      fc.property(
        fc.record(flags, { requiredKeys: [] }),
        host,
        fc.subarray(Object.keys(flags)),
        fc.constantFrom(11, 23, 32, 36),
        (config, derived, pinned, minor) => {
          const document = writtenLocally(runs({ ...config, ...derived }, minor), pinned, minor);
          for (const path of [...pinned, ...Object.keys(derived)]) expect(getField(document, path)).toBeUndefined();
          const kept = Object.fromEntries(Object.entries(config).filter(([name]) => !pinned.includes(name)));
          expect(diff(document, kept, minor)).toEqual([]);
        },
      ),
    );
  });
});

const local: KubeletConfig = {
  maxPods: 250,
  clusterDomain: 'cluster.local',
  evictionHard: { 'memory.available': '1Gi' },
};

describe('what set makes of a payload', () => {
  const set = (text: string | undefined, ...words: string[]) =>
    withStatements(
      text,
      parseStatements(
        words.filter((word) => !word.startsWith('!')),
        words.filter((word) => word.startsWith('!')).map((word) => word.slice(1)),
        32,
      ),
      32,
    );
  const overlay = (config: KubeletConfig, ...unset: string[]) => encodeOverlay({ config, unset });

  test.each<[string, string | undefined, string[], string | undefined]>([
    ['a new overlay', undefined, ['maxPods=5'], overlay({ maxPods: 5 })],
    ['another field', overlay({ maxPods: 5 }), ['podsPerCore=2'], overlay({ maxPods: 5, podsPerCore: 2 })],
    [
      'one key of a map',
      undefined,
      ['evictionHard.memory.available=5%'],
      overlay({ evictionHard: { 'memory.available': '5%' } }),
    ],
    ['a field that was unset', overlay({}, 'maxPods'), ['maxPods=5'], overlay({ maxPods: 5 })],
    ['a field in a struct', undefined, ['logging.verbosity=4'], overlay({ logging: { verbosity: 4 } })],
    ["the kubelet's default", overlay({ maxPods: 5 }), ['!maxPods'], overlay({}, 'maxPods')],
    [
      'a key of a map unset',
      undefined,
      ['!evictionHard.memory.available'],
      overlay({}, 'evictionHard[memory.available]'),
    ],
    [
      'a map unset, and keys of it with it',
      overlay({}, 'evictionHard[a]'),
      ['!evictionHard'],
      overlay({}, 'evictionHard'),
    ],
    [
      'nothing any more about a field',
      overlay({ maxPods: 5, podsPerCore: 2 }),
      ['podsPerCore-'],
      overlay({ maxPods: 5 }),
    ],
    [
      'nothing any more in a struct',
      overlay({ maxPods: 5, logging: { verbosity: 4 } }),
      ['logging.verbosity-'],
      overlay({ maxPods: 5 }),
    ],
    ['nothing any more at all', overlay({ maxPods: 5 }, 'clusterDomain'), ['maxPods-', 'clusterDomain-'], undefined],
    ['nothing about what nobody set', overlay({ maxPods: 5 }), ['podsPerCore-'], overlay({ maxPods: 5 })],
  ])('%s', (_name, text, words, expected) => {
    expect(set(text, ...words)).toBe(expected);
  });

  test('a whole config stays whole; one key of a default map keeps the others', () => {
    const whole = asConfigText({ clusterDomain: 'x' }, 32);
    expect(set(whole, 'maxPods=5', 'clusterDomain-')).toBe(asConfigText({ maxPods: 5 }, 32));
    const { evictionHard } = readWritten(set(whole, 'evictionHard.memory.available=5%')!, 32);
    expect(evictionHard).toMatchObject({ 'memory.available': '5%', 'nodefs.available': '10%' });
  });

  test.each([
    [['maxPods=1', 'maxPods=2'], 'maxPods is given twice (maxPods=1, maxPods=2)'],
    [['maxPods=1', '!maxPods'], 'maxPods is given twice (maxPods=1, --unset maxPods)'],
    [['maxPods=1', 'maxPods-'], 'maxPods is given twice (maxPods=1, maxPods-)'],
    [
      ['evictionHard={"memory.available":"1Gi"}', 'evictionHard.memory.available=5%'],
      'evictionHard[memory.available] is given twice (evictionHard={"memory.available":"1Gi"}, evictionHard.memory.available=5%)',
    ],
    [
      ['evictionHard.memory.available=5%', '!evictionHard'],
      'evictionHard[memory.available] is given twice (evictionHard.memory.available=5%, --unset evictionHard)',
    ],
  ])('%j is refused: only one of them would count', (words, message) => {
    expect(() => set(undefined, ...words)).toThrow(`${message}; keep one of them`);
  });

  test.each([
    ['!evictionHard.foo', '--unset evictionHard.foo: "foo" is not an eviction signal; use one of memory.available, '],
    [
      '!featureGates.MemoryQos',
      "--unset featureGates.MemoryQos: there is no feature gate 'MemoryQos'; did you mean 'MemoryQoS'?",
    ],
  ])('%s is refused: no kubelet knows the key', (word, message) => {
    expect(() => set(undefined, word)).toThrow(message);
  });

  test('FIELD- takes back a key that no kubelet knows', () => {
    expect(set(overlay({}, 'evictionHard[foo]'), 'evictionHard.foo-')).toBeUndefined();
  });

  test('a key of a map that is unset as a whole is not set half', () => {
    expect(() => set(overlay({}, 'evictionHard'), 'evictionHard.memory.available=5%')).toThrow(
      /unsets all of evictionHard/,
    );
  });

  /** Words that say something of fields, of keys of maps and of fields in structs. */
  const values: Record<string, fc.Arbitrary<string>> = {
    maxPods: fc.nat(500).map((n) => `maxPods=${n}`),
    podsPerCore: fc.nat(50).map((n) => `podsPerCore=${n}`),
    clusterDomain: fc.constantFrom('clusterDomain=', 'clusterDomain=a.b', '!clusterDomain'),
    'logging.verbosity': fc.nat(9).map((n) => `logging.verbosity=${n}`),
    'logging.format': fc.constantFrom('logging.format=json', '!logging.format'),
    'evictionHard.memory.available': fc.nat(90).map((n) => `evictionHard.memory.available=${n}%`),
    'evictionHard.nodefs.available': fc.constantFrom(
      'evictionHard.nodefs.available=7%',
      '!evictionHard.nodefs.available',
    ),
    featureGates: fc.boolean().map((on) => `featureGates.MemoryQoS=${on}`),
  };
  const fields = Object.keys(values);
  const anyStart = fc
    .subarray(fields)
    .chain((some) =>
      fc
        .tuple(...some.map((field) => values[field]!))
        .map((words) => (words.length === 0 ? undefined : set(undefined, ...words))),
    );
  const twoFields = fc.shuffledSubarray(fields, { minLength: 2, maxLength: 2 });

  test('sets of unrelated fields commute, and give equal text', () => {
    fc.assert(
      fc.property(
        anyStart,
        twoFields.chain((two) => fc.tuple(...two.map((field) => values[field]!))),
        (start, [a, b]) => {
          expect(set(set(start, a!), b!)).toBe(set(set(start, b!), a!));
          expect(set(set(start, a!), b!)).toBe(set(start, a!, b!));
        },
      ),
    );
  });

  test('what set wrote, undo and FIELD- remove', () => {
    const ref = (name: string) => (name === 'local' ? undefined : { namespace: 'n', name, kubeletConfigKey: 'k' });
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(...fields).chain((field) => values[field]!),
          { minLength: 1, maxLength: 8 },
        ),
        (words) => {
          const stored = new Map<string, string | undefined>([['local', undefined]]);
          let [now, history]: [string, string | undefined] = ['local', undefined];
          for (const word of words) {
            const before = stored.get(now);
            const text = set(before, word);
            const to =
              text === undefined
                ? 'local'
                : `c-${[...text].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) | 0, 7)}`;
            if (to === now) continue;
            stored.set(to, text);
            const entry = {
              at: 't',
              by: 'ann',
              verb: 'set',
              from: formatRef(ref(now), 'short'),
              to: formatRef(ref(to), 'short'),
            };
            history = withEntry({ history }, entry);
            const back = undoTarget(readHistory({ history }), ref(to))!.to;
            expect(stored.get(back === 'local' ? back : back.split('/')[1]!)).toBe(before);
            now = to;
          }
          const named = fields.filter((field) => words.some((word) => word.replace('!', '').startsWith(field)));
          expect(set(stored.get(now), ...named.map((field) => `${field}-`))).toBeUndefined();
        },
      ),
    );
  });

  test('a field that set wrote is what runs, and the others are as the local config has them', () => {
    const text = set(undefined, 'maxPods=5', '!clusterDomain', 'evictionHard.nodefs.available=7%');
    expect(documentOf(text, local, 32)).toMatchObject({
      maxPods: 5,
      evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '7%' },
    });
    expect(documentOf(text, local, 32)).not.toHaveProperty('clusterDomain');
    expect(documentOf(text, undefined, 32)).toBeUndefined();
  });
});

describe('a whole config as an overlay', () => {
  const convert = (config: KubeletConfig, pinned: string[] = []) =>
    convertToOverlay(asConfigText(config, 32), local, { minor: 32, pinned });

  test('keeps what differs from the local config, and means the same', () => {
    const text = convert({ ...local, maxPods: 99, podsPerCore: 3 })!;
    expect(readOverlay(text, 32)).toEqual({ config: { maxPods: 99, podsPerCore: 3 }, unset: [] });
    expect(diff(documentOf(text, local, 32)!, { ...local, maxPods: 99, podsPerCore: 3 }, 32)).toEqual([]);
  });

  test('is the local config where nothing differs', () => {
    expect(convert(local)).toBeUndefined();
  });

  test('leaves out what flags set, what the kubelet made and what a cloud gave', () => {
    const ofHost = { ...pair, providerID: 'aws:///eu/i-1', address: '10.0.0.1' };
    expect(convert({ ...local, ...ofHost }, ['address'])).toBeUndefined();
  });

  test('any whole config means the same as its overlay over any local config', () => {
    const some = fc.record(
      {
        maxPods: fc.nat(300),
        clusterDNS: fc.constantFrom([], ['10.96.0.10']),
        clusterDomain: fc.constantFrom('', 'a', 'b'),
        evictionHard: fc.dictionary(
          fc.constantFrom('memory.available', 'nodefs.available'),
          fc.constantFrom('5%', '7%'),
        ),
        logging: fc.record({ verbosity: fc.nat(5) }),
        featureGates: fc.dictionary(fc.constantFrom('MemoryQoS', 'NodeSwap'), fc.boolean()),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(some, some, (whole, host) => {
        const text = convertToOverlay(asConfigText(whole, 32), host, { minor: 32, pinned: [] });
        expect(diff(documentOf(text, host, 32)!, whole, 32)).toEqual([]);
      }),
    );
  });
});

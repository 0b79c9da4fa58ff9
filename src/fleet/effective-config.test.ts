/** What is written down of a running config: nothing that is true of one host only. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { setDefaults } from '../config/defaults.js';
import { diff } from '../config/diff.js';
import { getField, type KubeletConfig } from '../config/model.js';
import { writtenLocally } from './effective-config.js';

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
    expect(writtenLocally(runs(config), pinned, 32).document).toEqual(expected);
  });

  test.each<[string, KubeletConfig]>([
    ['a certificate with another name', { tlsCertFile: '/etc/pki/node.crt', tlsPrivateKeyFile: '/etc/pki/node.key' }],
    ['a key in another directory', { tlsCertFile: '/a/kubelet.crt', tlsPrivateKeyFile: '/b/kubelet.key' }],
    ['gates, which a flag adds to those of the file', { featureGates: { InPlacePodVerticalScaling: true } }],
  ])('keeps %s', (_what, config) => {
    expect(writtenLocally(runs(config), ['featureGates'], 32).document).toEqual(config);
  });

  test('says what was left out for its name alone', () => {
    expect(writtenLocally(runs(pair), [], 32).assumed).toEqual(['tlsCertFile', 'tlsPrivateKeyFile']);
    const usual = {
      tlsCertFile: '/var/lib/kubelet/pki/kubelet.crt',
      tlsPrivateKeyFile: '/var/lib/kubelet/pki/kubelet.key',
    };
    expect(writtenLocally(runs(usual), [], 32).assumed).toEqual([]);
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
          const { document } = writtenLocally(runs({ ...config, ...derived }, minor), pinned, minor);
          for (const path of [...pinned, ...Object.keys(derived)]) expect(getField(document, path)).toBeUndefined();
          const kept = Object.fromEntries(Object.entries(config).filter(([name]) => !pinned.includes(name)));
          expect(diff(document, kept, minor)).toEqual([]);
        },
      ),
    );
  });
});

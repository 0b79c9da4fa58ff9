/** Origins of values in an effective config, and that values are those of the kubelet. */
import { describe, expect, test } from 'vitest';
import { hiddenHeader } from '../api/local-config.js';
import { check } from '../config/check.js';
import { header } from '../config/header.js';
import type { KubeletConfig } from '../config/model.js';
import { encodeOverlay } from '../config/overlay.js';
import { asYaml } from '../go/yaml/write.js';
import { jsonText } from '../json.js';
import { documentFromConfigz, documentFromFile, documentFromReport, type Reported } from './effective-document.js';

const minor = 36;
const text = (config: object) => asYaml({ ...header, ...config });
const overlay = (config: KubeletConfig) => encodeOverlay({ config, unset: [] });
const files = [
  { path: '/var/lib/kubelet/config.yaml', text: text({ maxPods: 50, clusterDomain: 'a.example', podPidsLimit: 900 }) },
  { path: '/etc/kubelet.d/10.conf', text: text({ clusterDomain: 'b.example' }), dropIn: true },
];
const report = (more: Partial<Reported> = {}): Reported => ({ minor, files, flags: [], active: undefined, ...more });

describe('the report of an agent', () => {
  test('has the origin of each value: file, drop-in, overlay, flag, and default where nobody set it', () => {
    const { document } = documentFromReport(
      report({
        flags: [{ name: 'read-only-port', value: '0' }, { name: 'v', value: '2' }, { name: 'hostname-override' }],
        active: {
          text: overlay({ maxPods: 150, evictionHard: { 'memory.available': '200Mi' } }),
          name: 'ns/m/kubelet',
        },
      }),
    );
    expect(document.origins).toMatchObject({
      maxPods: 'overlay ns/m/kubelet',
      evictionHard: 'overlay ns/m/kubelet',
      clusterDomain: 'drop-in /etc/kubelet.d/10.conf',
      podPidsLimit: 'file /var/lib/kubelet/config.yaml',
      readOnlyPort: 'flag --read-only-port',
      tlsCertFile: 'kubelet',
    });
    expect(document.origins).not.toHaveProperty('cgroupDriver');
    expect(document.flags).toEqual(['hostname-override', 'read-only-port', 'v']);
    expect(document.config).toMatchObject({ maxPods: 150, clusterDomain: 'b.example', podPidsLimit: 900 });
  });

  test('names the files beside the flag for feature gates, which are merged, while a gate of theirs stays', () => {
    const gates = (featureGates: object) => [{ path: '/a.yaml', text: text({ featureGates }) }];
    const flags = [
      { name: 'feature-gates', value: 'A=true, B=false' },
      { name: 'feature-gates', value: 'C=true' },
    ];
    const originWith = (featureGates: object) =>
      documentFromReport(report({ files: gates(featureGates), flags })).document.origins.featureGates;
    expect(originWith({ B: true, D: true })).toBe('file /a.yaml, flag --feature-gates');
    expect(originWith({ B: true, C: true })).toBe('flag --feature-gates');
    expect(originWith({})).toBe('flag --feature-gates');
  });

  test('does not know headers that the agent hides', () => {
    const hidden = [{ path: '/a.yaml', text: text({ staticPodURLHeader: { Authorization: [hiddenHeader] } }) }];
    expect(documentFromReport(report({ files: hidden })).document.unknown).toEqual(['staticPodURLHeader']);
  });

  test('has every value that check() computes for the same config and flags', () => {
    const whole = text({ maxPods: 99, evictionHard: { 'nodefs.available': '5%' }, cpuManagerPolicy: 'static' });
    const { document } = documentFromReport(
      report({ flags: [{ name: 'max-pods', value: '60' }], active: { text: whole, name: 'ns/m/kubelet' } }),
    );
    expect(document.config).toEqual(check(whole, { minor, flags: ['--max-pods=60'] }).effective);
    expect(document.origins).toMatchObject({ maxPods: 'flag --max-pods', evictionHard: 'config ns/m/kubelet' });
  });

  test('does not know a field whose flag has no reported value', () => {
    const { document } = documentFromReport(report({ flags: [{ name: 'manifest-url-header' }, { name: 'cert-dir' }] }));
    expect(document.unknown).toEqual(['staticPodURLHeader', 'tlsCertFile', 'tlsPrivateKeyFile']);
  });
});

describe('the answer of /configz', () => {
  const answer = (config: object) => jsonText({ kubeletconfig: check(text(config), { minor }).effective });

  test('has values, and as origin only whether they are the default', () => {
    const { document, own } = documentFromConfigz(answer({ maxPods: 50, providerID: 'aws:///i-1' }), minor);
    expect(document.origins).toEqual({ maxPods: 'set', tlsCertFile: 'kubelet', tlsPrivateKeyFile: 'kubelet' });
    expect({ flags: document.flags, own }).toEqual({ flags: undefined, own: { providerID: 'aws:///i-1' } });
  });

  test('of two nodes that differ only in their providerID is one document', () => {
    const [a, b] = ['i-1', 'i-2'].map((id) => documentFromConfigz(answer({ providerID: id }), minor));
    expect(a!.document.id).toBe(b!.document.id);
  });

  test.each(['', '{', '[]', '{"kubeletconfig":7}', '<html>'])('that is %j is an error', (text) => {
    expect(() => documentFromConfigz(text, minor)).toThrow();
  });
});

test('flags of a file are unknown unless they are given', () => {
  const file = { path: 'kubelet.yaml', text: text({ maxPods: 50 }) };
  expect(documentFromFile(file, { minor, flags: undefined }).flags).toBeUndefined();
  const flags = [{ name: 'hostname-override', value: 'a' }];
  expect(documentFromFile(file, { minor, flags }).flags).toEqual(['hostname-override']);
});

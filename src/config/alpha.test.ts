/** The alpha's payload, converted. */
import { describe, expect, test } from 'vitest';
import { decode } from './decode.js';
import { encode } from './encode.js';

const header = 'apiVersion: kubeletconfig/v1alpha1\nkind: KubeletConfiguration\n';

describe('kubeletconfig/v1alpha1', () => {
  test('renamed fields move, maps written as text become maps', () => {
    const text = `${header}podManifestPath: /etc/kubernetes/manifests
manifestURL: http://example.com
manifestURLHeader: "a:b"
evictionHard: memory.available<100Mi,nodefs.available<10%
evictionSoft: memory.available<200Mi
evictionSoftGracePeriod: memory.available=30s
evictionMinimumReclaim: ""
featureGates: A=true,B=false
maxPods: 50
`;
    const { config, findings, isAlpha } = decode(text, { minor: 23 });
    expect(isAlpha).toBe(true);
    expect(findings).toEqual([]);
    expect(config).toEqual({
      evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
      evictionMinimumReclaim: {},
      evictionSoft: { 'memory.available': '200Mi' },
      evictionSoftGracePeriod: { 'memory.available': '30s' },
      featureGates: { A: true, B: false },
      maxPods: 50,
      staticPodPath: '/etc/kubernetes/manifests',
      staticPodURL: 'http://example.com',
      staticPodURLHeader: { a: ['b'] },
    });
  });

  test("1.9's maps stay maps", () => {
    const { config } = decode(`${header}evictionHard: {memory.available: 100Mi}\nfeatureGates: {A: true}\n`, {
      minor: 23,
    });
    expect(config).toEqual({ evictionHard: { 'memory.available': '100Mi' }, featureGates: { A: true } });
  });

  test('each field that v1beta1 does not have is left out with a warning', () => {
    const text = `${header}cAdvisorPort: 4194\nconfigTrialDuration: 10m\nmaxPods: 50\nallowPrivileged: true\n`;
    const { config, findings } = decode(text, { minor: 23 });
    expect(config).toEqual({ maxPods: 50 });
    expect(findings).toMatchObject([
      { severity: 'warning', path: 'allowPrivileged', line: 6, column: 1 },
      { severity: 'warning', path: 'cAdvisorPort', line: 3, column: 1 },
      { severity: 'warning', path: 'configTrialDuration', line: 4, column: 1 },
    ]);
    expect(findings[1]!.message).toContain('--cadvisor-port');
  });

  test('fields that came back are kept where the kubelet has them again', () => {
    const text = `${header}registerNode: false\nremoteRuntimeEndpoint: unix:///x\n`;
    expect(decode(text, { minor: 22 }).findings.map(({ path }) => path)).toEqual([
      'registerNode',
      'remoteRuntimeEndpoint',
    ]);
    expect(decode(text, { minor: 27 }).config).toEqual({ containerRuntimeEndpoint: 'unix:///x', registerNode: false });
  });

  test('text in another form is a wrong type', () => {
    expect(() => decode(`${header}featureGates: "A=maybe"\n`, { minor: 23 })).toThrow('cannot unmarshal string');
    expect(() => decode(`${header}evictionHard: "memory.available=5"\n`, { minor: 23 })).toThrow(
      'cannot unmarshal string',
    );
  });

  test('what is written of it is a v1beta1 document that says the same', () => {
    const { config } = decode(`${header}podManifestPath: /m\nmaxOpenFiles: 9223372036854775807\n`, { minor: 23 });
    const again = decode(encode(config), { minor: 23 });
    expect(again).toMatchObject({ config, findings: [], isAlpha: false });
  });
});

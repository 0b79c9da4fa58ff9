/** Each check passes and fails, for the oldest and the newest kubelet that it is for; what is not known is never a pass. */
import { describe, expect, test } from 'vitest';
import { header } from '../config/header.js';
import { newestMinor } from '../config/model.js';
import { documentFromConfigz, documentFromFile } from '../fleet/effective-document.js';
import { asYaml } from '../go/yaml/write.js';
import { benchmarks, cisVersionOf, cisVersions, idsOf, nsaIds, stigIds } from './benchmarks.js';
import { checks } from './checks.js';

const oldest = 23;
const documentOf = (config: object, minor: number, flags: { name: string; value: string }[] = []) =>
  documentFromFile({ path: '/kubelet.yaml', text: asYaml({ ...header, ...config }) }, { minor, flags });
const checkOf = (key: string) => checks.find((check) => check.key === key)!;
const resultOf = (key: string, config: object, minor: number, flags?: { name: string; value: string }[]) =>
  checkOf(key).evaluate({ document: documentOf(config, minor, flags), isControlPlane: false }).result;

const suites = (...names: string[]) => ({ tlsCipherSuites: names });
const files = { tlsCertFile: '/pki/node.crt', tlsPrivateKeyFile: '/pki/node.pem' };
const anonymous = (enabled: boolean) => ({ authentication: { anonymous: { enabled } } });
const gate = (name: string, value: boolean) => ({ featureGates: { [name]: value } });
type Case = [key: string, passes: object, fails: object, minors?: [number, number]];

const cases: Case[] = [
  ['anonymous-auth', {}, anonymous(true)],
  ['anonymous-auth', anonymous(false), anonymous(true)],
  ['authorization', {}, { authorization: { mode: 'AlwaysAllow' } }],
  ['client-ca', { authentication: { x509: { clientCAFile: '/pki/ca.crt' } } }, {}],
  ['read-only-port', {}, { readOnlyPort: 10255 }],
  ['idle-timeout-5m', {}, { streamingConnectionIdleTimeout: '4m59s' }],
  ['protect-kernel-defaults', { protectKernelDefaults: true }, {}],
  ['iptables-util-chains', {}, { makeIPTablesUtilChains: false }],
  ['event-qps', {}, { eventRecordQPS: 4 }],
  ['event-qps', { eventRecordQPS: 0 }, { eventRecordQPS: 1 }],
  ['serving-certificate', files, {}],
  ['serving-certificate', { serverTLSBootstrap: true }, { serverTLSBootstrap: false }],
  ['rotate-certificates', { rotateCertificates: true }, {}],
  ['rotate-server-certificates', {}, gate('RotateKubeletServerCertificate', false)],
  ['strong-ciphers', suites('TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'), {}],
  ['strong-ciphers', suites('TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305'), suites('TLS_RSA_WITH_AES_128_CBC_SHA')],
  ['strong-ciphers', { tlsMinVersion: 'VersionTLS13' }, { tlsMinVersion: 'VersionTLS12' }],
  ['pod-pids-limit', { podPidsLimit: 1024 }, {}],
  ['seccomp-default', { seccompDefault: true }, {}],
  ['static-pods', {}, { staticPodPath: '/etc/kubernetes/manifests' }],
  ['dynamic-kubelet-config', {}, gate('DynamicKubeletConfig', true), [oldest, oldest]],
];

describe.each(cases)('%s', (key, passes, fails, minors = [oldest, newestMinor]) => {
  test.each([...new Set(minors)])('passes and fails for kubelet 1.%d', (minor) => {
    expect({ passes, result: resultOf(key, passes, minor) }).toEqual({ passes, result: 'pass' });
    expect({ fails, result: resultOf(key, fails, minor) }).toEqual({ fails, result: 'fail' });
  });
});

describe('flags', () => {
  test.each([oldest, newestMinor])('decide over the file for kubelet 1.%d', (minor) => {
    const flags = [{ name: 'anonymous-auth', value: 'true' }];
    expect(resultOf('anonymous-auth', anonymous(false), minor, flags)).toBe('fail');
    expect(resultOf('hostname-override', {}, minor)).toBe('pass');
    expect(resultOf('hostname-override', {}, minor, [{ name: 'hostname-override', value: 'a' }])).toBe('fail');
  });

  test('that /configz does not show are not known, and no pass', () => {
    const { document } = documentFromConfigz('{"kubeletconfig":{}}', newestMinor);
    const found = checkOf('hostname-override').evaluate({ document, isControlPlane: false });
    expect(found.result).toBe('cannot-tell');
  });

  test('whose value is not reported make their field unknown, and no pass', () => {
    const document = { ...documentOf({}, newestMinor), unknown: checks.flatMap(({ fields }) => fields) };
    const passing = checks.filter((check) => check.evaluate({ document, isControlPlane: false }).result === 'pass');
    // It checks names of flags, which are known.
    expect(passing.map(({ key }) => key)).toEqual(['hostname-override']);
  });
});

test('a kubelet without --config is anonymous, allows all and has a read-only port: these fail', () => {
  const { document } = documentFromConfigz(
    '{"kubeletconfig":{"authentication":{"anonymous":{"enabled":true}},"authorization":{"mode":"AlwaysAllow"},"readOnlyPort":10255}}',
    newestMinor,
  );
  for (const key of ['anonymous-auth', 'authorization', 'read-only-port'])
    expect(checkOf(key).evaluate({ document, isControlPlane: false }).result).toBe('fail');
});

test('static pods are not a finding on a control plane, nor the gate on kubelets without it', () => {
  const document = documentOf({ staticPodPath: '/etc/kubernetes/manifests' }, newestMinor);
  expect(checkOf('static-pods').evaluate({ document, isControlPlane: true }).result).toBe('not-applicable');
  expect(resultOf('dynamic-kubelet-config', {}, newestMinor)).toBe('not-applicable');
});

test('a document cannot switch the idle timeout off, since 0 is the default; a flag can', () => {
  for (const minor of [oldest, 24]) {
    expect(resultOf('idle-timeout', { streamingConnectionIdleTimeout: '0s' }, minor)).toBe('pass');
    const flags = [{ name: 'streaming-connection-idle-timeout', value: '0' }];
    expect(resultOf('idle-timeout', {}, minor, flags)).toBe('fail');
  }
  const { document } = documentFromConfigz('{"kubeletconfig":{}}', newestMinor);
  const off = { ...document, config: { ...document.config, streamingConnectionIdleTimeout: '0s' } };
  expect(checkOf('idle-timeout').evaluate({ document: off, isControlPlane: false }).result).toBe('fail');
});

test('suites that later benchmarks dropped pass for kubelets of the earlier ones', () => {
  const old = suites('TLS_RSA_WITH_AES_128_GCM_SHA256');
  expect([31, 32].map((minor) => resultOf('strong-ciphers', old, minor))).toEqual(['pass', 'fail']);
});

test('every fix makes its check pass, and every check without one has a way by hand', () => {
  for (const { key, fix, byHand } of checks) {
    if (fix === undefined) expect({ key, byHand }).toEqual({ key, byHand: expect.any(String) });
    else if (key !== 'dynamic-kubelet-config')
      expect({ key, result: resultOf(key, fix, newestMinor) }).toEqual({ key, result: 'pass' });
  }
});

describe('benchmarks', () => {
  test.each([
    [23, '1.23', 'CIS-4.2.11'],
    [24, '1.24', 'CIS-4.2.11'],
    [25, '1.7', 'CIS-4.2.10'],
    [28, '1.10', 'CIS-4.2.10'],
    [31, '1.11', 'CIS-4.2.10'],
    [32, '1.12', 'CIS-4.2.10'],
    [37, '1.12', 'CIS-4.2.10'],
  ])('kubelet 1.%d is audited with CIS %s, which has rotate-certificates as %s', (minor, version, id) => {
    expect(cisVersionOf(minor).version).toBe(version);
    expect(idsOf('rotate-certificates', minor)).toEqual([id]);
  });

  test('name only checks that are there, and each check is in one of them', () => {
    const keys = checks.map(({ key }) => key);
    const named = [...cisVersions.flatMap((one) => one.keys), ...Object.keys(stigIds), ...Object.keys(nsaIds)];
    expect(new Set(named)).toEqual(new Set(keys));
    expect(cases.map(([key]) => key)).toEqual(
      expect.arrayContaining(keys.filter((key) => key !== 'hostname-override' && key !== 'idle-timeout')),
    );
    expect(benchmarks).toEqual(['cis', 'stig', 'nsa']);
  });
});

/** The check of an overlay: findings point to where a person has to change something. */
import { expect, test } from 'vitest';
import { localFile, overlayText } from '../../test/overlay-files.js';
import { checkOverlay } from './check-overlay.js';

const checked = (local: string, body: string, options = {}) =>
  checkOverlay(overlayText(body), { minor: 32, local: [localFile(local)], ...options });

test('a good overlay is accepted, with the merged config as the effective one', () => {
  const { verdict, startup, findings, effective } = checked('port: 10260\n', 'config: {maxPods: 150}\n');
  expect({ verdict, startup, findings }).toEqual({ verdict: 'accepted', startup: 'ok', findings: [] });
  expect(effective).toMatchObject({ maxPods: 150, port: 10260 });
});

test('an error in a field of the overlay points into the overlay', () => {
  const { verdict, findings } = checked('port: 10260\n', 'config:\n  maxPods: -1\n');
  expect(verdict).toBe('validate-error');
  expect(findings).toMatchObject([{ path: 'maxPods', line: 4, column: 12 }]);
  expect(findings[0]).not.toHaveProperty('file');
});

test('an error in a field of the local file points into that file', () => {
  const { findings } = checked('maxPods: -1\n', 'config: {port: 10260}\n');
  expect(findings).toMatchObject([{ path: 'maxPods', file: '/var/lib/kubelet/config.yaml', line: 3, column: 10 }]);
});

test('an error that the overlay makes with a local value points into the overlay', () => {
  const { findings } = checked('imageGCHighThresholdPercent: 70\n', 'config:\n  imageGCLowThresholdPercent: 75\n');
  expect(findings).toMatchObject([{ path: 'imageGCLowThresholdPercent', line: 4, column: 31 }]);
});

test('an error that unset makes points to the path in unset', () => {
  const local = 'imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 60\n';
  const { findings } = checked(local, 'unset:\n- imageGCLowThresholdPercent\n');
  expect(findings).toMatchObject([{ path: 'imageGCLowThresholdPercent', line: 4, column: 3 }]);
});

test('an overlay that cannot be decoded is a decode error, and so is a local file', () => {
  expect(checked('', 'config: {maxpods: 5}\n')).toMatchObject({ verdict: 'decode-error', findings: [{ line: 3 }] });
  expect(checked('maxPods: many\n', 'config: {}\n')).toMatchObject({
    verdict: 'decode-error',
    findings: [{ file: '/var/lib/kubelet/config.yaml', line: 3 }],
  });
});

test('a key under unset that no kubelet knows is an error, and with lenient a warning', () => {
  const body = 'unset: [evictionHard.foo]\n';
  expect(checked('', body)).toMatchObject({ verdict: 'decode-error', findings: [{ severity: 'error', line: 3 }] });
  expect(checked('', body, { lenient: true })).toMatchObject({
    verdict: 'accepted',
    findings: [{ severity: 'warning', path: 'evictionHard[foo]' }],
  });
});

test('with lenient, an unknown field is a warning', () => {
  const { verdict, findings } = checked('', 'config: {maxpods: 5}\n', { lenient: true });
  expect(verdict).toBe('accepted');
  expect(findings).toMatchObject([{ severity: 'warning', path: 'maxpods' }]);
});

test('a field that a flag pins is a warning at its place in the overlay', () => {
  const { findings } = checked('', 'config:\n  maxPods: 5\n', { flags: ['--max-pods=60'] });
  expect(findings).toMatchObject([{ severity: 'warning', path: 'maxPods', line: 4 }]);
});

test('all errors of an overlay and of the config that it makes are found in one run, in the order of the files', () => {
  const local = 'imageGCHighThresholdPercent: 70\nport: 70000\n';
  const body = `config:
  maxPods: "5"
  podsPerCore: -1
  imageGCLowThresholdPercent: 75
  kubeReserved: {cpu: 1}
  cpuManagerPolicy: static
  resolvConf: etc/resolv.conf
unset: [nonsense]
`;
  const { verdict, message, findings } = checked(local, body);
  expect([verdict, message]).toEqual(['decode-error', expect.stringMatching(/^cannot decode overlay: overlay:4:12: /)]);
  expect(findings.map(({ path, file = '', line }) => `${path} ${file}:${line}`)).toEqual([
    'maxPods :4',
    'podsPerCore :5',
    'imageGCLowThresholdPercent :6',
    'kubeReserved[cpu] :7',
    'resolvConf :9',
    'nonsense :10',
    'port /var/lib/kubelet/config.yaml:4',
  ]);
});

test('a local file that cannot be decoded does not hide the errors of the overlay', () => {
  const { findings } = checked('maxPods: many\n', 'config: {maxPods: "5"}\n');
  expect(findings.map(({ file = '', line }) => `${file}:${line}`)).toEqual([':3', '/var/lib/kubelet/config.yaml:3']);
});

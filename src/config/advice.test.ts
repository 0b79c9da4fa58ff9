/** Values that relet advises against although the kubelet accepts them, and similar ones that are intended. */
import { describe, expect, test } from 'vitest';
import { check } from './check.js';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const advice = (body: string, minor = 32, flags: string[] = []) =>
  check(`${header}${body}\n`, { minor, flags }).findings.map(({ severity, path }) => `${severity} ${path}`);

describe('advice', () => {
  test.each([
    ['a misspelt value', 32, 'cgroupDriver: sytemd', 'warning cgroupDriver'],
    ['a value that an old kubelet ignores', 15, 'cpuManagerPolicy: Static', 'warning cpuManagerPolicy'],
    ['half an address', 32, 'clusterDNS: [10.96.0.10, "10.96.0"]', 'warning clusterDNS[1]'],
    ['a name for an address', 32, 'clusterDNS: [dns.example]', 'warning clusterDNS[0]'],
    ['half a health address', 32, 'healthzBindAddress: 127.0.1', 'warning healthzBindAddress'],
    ['a relative path', 32, 'resolvConf: etc/resolv.conf', 'note resolvConf'],
    ['a limit of events where none was meant', 36, 'eventRecordQPS: 0', 'warning eventRecordQPS'],
    ['a threshold without the others', 32, 'evictionHard: {memory.available: 200Mi}', 'warning evictionHard'],
    [
      'thresholds of disks without memory',
      32,
      'evictionHard: {nodefs.available: 5%, imagefs.available: 5%}',
      'warning evictionHard',
    ],
  ])('on %s in 1.%i: %s', (_name, minor, body, finding) => {
    expect(advice(body, minor)).toEqual([finding]);
  });

  test.each([
    ['values that are known', 'cgroupDriver: systemd\nhairpinMode: none'],
    ['an empty value', 'cgroupDriver: ""'],
    ['addresses of both families', 'clusterDNS: [10.96.0.10, 169.254.20.10, "fd00::a", "::ffff:10.0.0.1"]'],
    ['a name to listen on for health', 'healthzBindAddress: localhost'],
    ['an absolute path', 'resolvConf: /run/systemd/resolve/resolv.conf'],
    ['no path', 'resolvConf: ""\nstaticPodPath: ""'],
    ['a path of Windows', 'resolvConf: C:\\etc\\resolv.conf'],
    ['thresholds of EKS', 'evictionHard: {memory.available: 100Mi, nodefs.available: 10%, nodefs.inodesFree: 5%}'],
    [
      'thresholds of GKE',
      'evictionHard: {memory.available: 100Mi, nodefs.available: 10%, nodefs.inodesFree: 5%, pid.available: 10%}',
    ],
    [
      'eviction that kind switches off',
      'evictionHard: {imagefs.available: 0%, nodefs.available: 0%, nodefs.inodesFree: 0%}',
    ],
    ['no thresholds at all', 'evictionHard: {}'],
  ])('none on %s', (_name, body) => {
    expect(advice(body)).toEqual([]);
  });

  test('none on events without a limit, which 1.37 has', () => {
    expect(advice('eventRecordQPS: 0', 37)).toEqual([]);
    expect(advice('eventRecordQPS: 5', 36)).toEqual([]);
  });

  test('none on thresholds that the kubelet adds to its own', () => {
    const body = 'evictionHard: {memory.available: 200Mi}';
    expect(advice(body, 36)).toEqual(['warning evictionHard']);
    expect(advice(`${body}\nmergeDefaultEvictionSettings: true`, 36)).toEqual([]);
  });

  test('none on a field that a flag pins, besides that it does', () => {
    expect(advice('cgroupDriver: sytemd', 32, ['--cgroup-driver=systemd'])).toEqual(['warning cgroupDriver']);
    expect(advice('clusterDNS: [x]', 32, ['--cluster-dns=10.96.0.10'])).toEqual(['warning clusterDNS']);
  });

  test('it says what happens and what to write', () => {
    const messages = check(
      `${header}cgroupDriver: sytemd\nclusterDNS: ["10.96.0"]\nevictionHard: {memory.available: 200Mi}\n`,
      { minor: 36 },
    ).findings.map(({ message }) => message);
    expect(messages).toEqual([
      '"sytemd" is not one of cgroupfs, systemd: every value but systemd counts as cgroupfs; did you mean "systemd"?',
      '"10.96.0" is not a valid IP address: the kubelet logs "Invalid clusterDNS IP" and does not give it to pods; write one such as 10.96.0.10',
      'evictionHard replaces its default as a whole: the default thresholds of imagefs.available, imagefs.inodesFree, nodefs.available, nodefs.inodesFree no longer apply; name them too, or set mergeDefaultEvictionSettings to true',
    ]);
  });
});

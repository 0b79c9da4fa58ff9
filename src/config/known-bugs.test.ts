/** Known bugs of kubelets: which config triggers which, in which release. */
import { describe, expect, test } from 'vitest';
import { check } from './check.js';
import { fieldAt } from './fields.js';
import { bugsOf, bugText, knownBugs } from './known-bugs.js';
import { fieldOf, type Host } from './model.js';

const document = (body: string) => `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${body}\n`;
const bugsIn = (body: string, minor: number, patch?: number, host: Host = {}) =>
  check(document(body), { minor, patch, host })
    .findings.filter(({ message }) => message.includes('known bug'))
    .map(({ severity, path }) => `${severity} ${path}`);

describe('a known bug', () => {
  test('that crashes the kubelet is an error in every release that has it', () => {
    const config = 'serializeImagePulls: false\nmaxParallelImagePulls: 40';
    expect(bugsIn(config, 36)).toEqual(['error maxParallelImagePulls']);
    expect(check(document(config), { minor: 36, patch: 4 }).startup).toBe('fails');
    expect(bugsIn(config, 37)).toEqual([]);
    expect(bugsIn(config.replace('40', '31'), 36)).toEqual([]);
    // Its gate is off by default until 1.34.
    expect(bugsIn(config, 34)).toEqual([]);
    expect(bugsIn(`${config}\nfeatureGates: {KubeletEnsureSecretPulledImages: true}`, 34)).toEqual([
      'error maxParallelImagePulls',
    ]);
  });

  test('of some patch releases is a warning in those, and where the patch release is not known', () => {
    expect(bugsIn('serverTLSBootstrap: true', 32, 2)).toEqual(['warning serverTLSBootstrap']);
    expect(bugsIn('serverTLSBootstrap: true', 32)).toEqual(['warning serverTLSBootstrap']);
    expect(bugsIn('serverTLSBootstrap: true', 32, 3)).toEqual([]);
    expect(bugsIn('serverTLSBootstrap: true', 33, 0)).toEqual([]);
  });

  test.each([
    ['userNamespaces: {idsPerPod: 131072}', 34, 35, 'userNamespaces.idsPerPod'],
    ['evictionHard: {pid.available: 5%}', 30, 31, 'evictionHard[pid.available]'],
    [
      'evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1m}\nevictionMaxPodGracePeriod: 60',
      31,
      32,
      'evictionMaxPodGracePeriod',
    ],
    ['kubeReserved: {cpu: 100.5m}', 36, 37, 'kubeReserved[cpu]'],
    ['systemReserved: {cpu: "0.0705"}', 36, 37, 'systemReserved[cpu]'],
    ['featureGates: {EventedPLEG: true}', 29, 30, 'featureGates[EventedPLEG]'],
    ['staticPodPath: /x\nfeatureGates: {NodeDeclaredFeatures: true}', 35, 36, 'featureGates[NodeDeclaredFeatures]'],
    ['tlsCertFile: /c\ntlsPrivateKeyFile: /k', 35, 36, 'tlsCertFile'],
    [
      'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [docker.io/library/nginx]',
      35,
      36,
      'preloadedImagesVerificationAllowlist',
    ],
  ])('is found with %s in 1.%d, and not in 1.%d', (config, minor, fixed, path) => {
    expect(bugsIn(config, minor)).toContain(`warning ${path}`);
    expect(bugsIn(config, fixed)).toEqual([]);
  });

  test('that depends on the host is found where the host has what it needs', () => {
    const numa = 'topologyManagerPolicy: best-effort';
    expect(bugsIn(numa, 35, 0, { numaNodes: 36 })).toEqual(['warning topologyManagerPolicy']);
    expect(bugsIn(numa, 35, 0, { numaNodes: 2 })).toEqual([]);
  });

  test('that the config does not trigger is shown with its field only', () => {
    expect(bugsIn('tracing: {}\nmemorySwap: {}', 28)).toEqual([]);
    expect(bugsOf('tracing').map(bugText)).toEqual([
      '1.29 to 1.31, fixed in 1.29.10, 1.30.6, 1.31.2 and 1.32 (kubernetes/kubernetes#126957): the kubelet leaks memory, also where nothing is traced',
    ]);
    expect(bugsOf('featureGates').map(({ path }) => path)).toContain('featureGates[EventedPLEG]');
  });
});

test('every known bug names a field that its kubelets have, and versions in order', () => {
  for (const { path, from, fixedIn, backports = {} } of knownBugs) {
    const field = fieldAt(fieldOf(path) || path) ?? fieldAt(path.split('[')[0]!);
    expect(field, path).toBeDefined();
    expect(from, path).toBeLessThan(fixedIn);
    for (const minor of Object.keys(backports).map(Number)) {
      expect(minor, path).toBeGreaterThanOrEqual(from);
      expect(minor, path).toBeLessThan(fixedIn);
    }
  }
});

/** Which configs may be started, by each step of validation: kubelet probe, own rules, isolation, field policy, forecast. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { header, refuses, silent, validate } from '../../../test/validate-rig.js';
import { allowFieldsAnnotation, skipForecastAnnotation } from '../../api/signing.js';
import { defaultFieldPolicy } from '../../config/field-policy.js';
import { divideCommandLine } from '../flags.js';
import type { KubeletProbe } from './steps.js';
import { createValidator, type Rejected } from './validate.js';

test('a thousand errors in one config are reported in a few lines', async () => {
  const unknown = Array.from({ length: 1000 }, (_, i) => `f${i}: 1\n`).join('');
  const { kind, warnings } = await validate({ config: `${header}${unknown}` });
  expect(kind).toBe('accepted');
  expect(warnings).toHaveLength(21);
  expect(warnings.at(-1)).toBe('and 980 more');
  const refused = await validate({ config: `${header}evictionHard: {memory.available: ${'9x'.repeat(50_000)}}\n` });
  expect(refused).toMatchObject({ kind: 'rejected', reason: 'StartWouldFail' });
  expect((refused as Rejected).cause.message.length).toBeLessThan(3000);
});

describe('validating an overlay', () => {
  test('a flag that pins a field is a warning only where the overlay sets the field', async () => {
    const question = { local: 'maxPods: 60\n', args: ['--max-pods=70'] };
    expect((await validate({ config: overlay('config: {podsPerCore: 5}'), ...question })).warnings).toEqual([]);
    const { warnings } = await validate({ config: overlay('config: {maxPods: 50}'), ...question });
    expect(warnings.join('\n')).toMatch(/maxPods is pinned by the kubelet's flag --max-pods/);
  });

  const overlay = (config: string) => `apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\n${config}`;

  test('the merged document is what counts, and is what is probed', async () => {
    expect(await validate({ config: overlay('config: {maxPods: 50}'), local: 'healthzPort: 12345\n' })).toMatchObject({
      kind: 'accepted',
      healthz: { port: 12345 },
    });
  });

  test('nothing of the local config is dropped, so there is no warning about it', async () => {
    const result = await validate({ config: overlay('config: {maxPods: 50}'), local: 'clusterDomain: here\n' });
    expect(result).toMatchObject({ kind: 'accepted', warnings: [] });
  });

  test.each([
    ['config:\n  kubeAPIQPS: -1\n', '', 'kubeAPIQPS is in the overlay, line 4'],
    ['config:\n  imageGCHighThresholdPercent: 70\n', '', 'imageGCHighThresholdPercent is in the overlay, line 4'],
    ['config:\n  maxPods: 5\n', 'eventBurst: 1\nkubeAPIQPS: -1\n', 'kubeAPIQPS is in /local, line 4'],
  ])('a rejection of %j over %j points to the line', async (config, local, place) => {
    const result = await validate({ config: overlay(config), local, parts: { probe: silent } });
    expect(result).toMatchObject({ kind: 'rejected', cause: { message: expect.stringContaining(place) } });
  });

  test('on a host without --config, access stays as open as it was', async () => {
    const result = await validate({ config: overlay('config: {maxPods: 50}'), local: undefined });
    expect(result).toMatchObject({ kind: 'accepted', warnings: [] });
  });

  test('isolation checks see the merged document', async () => {
    const parts = { nodeFacts: async () => ({ hasStaticPods: true }) };
    const config = overlay('unset: [staticPodPath]');
    expect(await validate({ config, local: 'staticPodPath: /manifests\n', parts })).toMatchObject({
      kind: 'rejected',
      reason: 'NodeWouldBeCutOff',
    });
  });
});

describe('validating a config', () => {
  test('a whole config closes the access of a host without --config, which is reported', async () => {
    const { warnings } = await validate({ config: header, local: undefined });
    expect(warnings).toContainEqual(expect.stringContaining('readOnlyPort is set in the local config (10255)'));
  });

  test('a good one is accepted, with where its health is to be asked', async () => {
    expect(await validate({ config: `${header}maxPods: 50\nhealthzPort: 12345\n` })).toMatchObject({
      kind: 'accepted',
      healthz: { host: '127.0.0.1', port: 12345 },
    });
  });

  test("the kubelet's refusal beats our approval", async () => {
    const result = await validate({ config: header, parts: { probe: refuses } });
    expect(result).toMatchObject({
      kind: 'rejected',
      reason: 'ValidationFailed',
      cause: { message: 'invalid configuration: no "such" thing' },
    });
  });

  test('a kubelet stops at its first error; the message has those that it would report next, and none twice', async () => {
    const unknownFlag = 'Error: failed to parse kubelet flag: unknown flag: --gone\n';
    const probe = { ...refuses, run: async () => ({ code: 1, timedOut: false, output: unknownFlag }) };
    const result = await validate({
      config: `${header}featureGates: {NodeSwap: false}\n`,
      version: 'v1.36.0',
      args: ['--gone=x'],
      parts: { probe },
    });
    expect(result).toMatchObject({
      cause: {
        message:
          'failed to parse kubelet flag: unknown flag: --gone; featureGates[NodeSwap]: cannot set feature gate NodeSwap to false, feature is locked to true',
      },
    });
  });

  test("the kubelet's acceptance wins over our rejection, and is reported", async () => {
    const result = await validate({ config: `${header}eventRecordQPS: -1\n` });
    expect(result).toMatchObject({
      kind: 'accepted',
      warnings: [expect.stringContaining('relet would reject this')],
    });
  });

  test.each([
    ['{0xdeadbeef}', 'ParseFailed'],
    [`${header}kubeAPIQPS: -1\n`, 'ValidationFailed'],
  ])('when the kubelet does not answer, our result counts: %j', async (config, reason) => {
    expect(await validate({ config, parts: { probe: silent } })).toMatchObject({ kind: 'rejected', reason });
  });

  test('what was accepted before is not asked again', async () => {
    expect(await validate({ config: header, steps: 'no-probe', parts: { probe: refuses } })).toMatchObject({
      kind: 'accepted',
    });
  });

  test('fields newer than the kubelet are warnings', async () => {
    expect(await validate({ config: `${header}notAField: 1\n` })).toMatchObject({
      kind: 'accepted',
      warnings: [expect.stringContaining('notAField')],
    });
  });
});

test('flags of the hollow kubelet are none that relet would refuse', async () => {
  const commandLine = divideCommandLine(['--hollow-force', '--hollow-version=1.32.1', '--max-pods=60']);
  const result = await validate({ config: `${header}maxPods: 50\n`, parts: { commandLine } });
  expect(result).toMatchObject({ kind: 'accepted', pinnedByFlags: ['maxPods'] });
  expect(result.warnings.join()).not.toContain('unknown flag');
});

describe('guards', () => {
  const moved = { config: `${header}staticPodPath: /elsewhere\n`, local: 'staticPodPath: /etc/kubernetes/manifests\n' };
  const withStaticPods = { nodeFacts: async () => ({ hasStaticPods: true }) };

  test('moving static pods away from under a control-plane node is refused', async () => {
    const result = await validate({ ...moved, parts: withStaticPods });
    expect(result).toMatchObject({
      kind: 'rejected',
      reason: 'NodeWouldBeCutOff',
      cause: { message: expect.stringContaining('/etc/kubernetes/manifests') },
    });
  });

  test('it is allowed where there are none, or where the ConfigMap says so', async () => {
    expect(await validate(moved)).toMatchObject({ kind: 'accepted' });
    const annotations = { [allowFieldsAnnotation]: 'providerID, staticPodPath' };
    expect(await validate({ ...moved, annotations, parts: withStaticPods })).toMatchObject({ kind: 'accepted' });
  });

  test("a providerID that is not this machine's is refused", async () => {
    const config = `${header}providerID: aws:///a/i-1\n`;
    expect(await validate({ config })).toMatchObject({ kind: 'rejected', reason: 'NodeWouldBeCutOff' });
    const own = { nodeFacts: async () => ({ hasStaticPods: false, providerID: 'aws:///a/i-1' }) };
    expect(await validate({ config, parts: own })).toMatchObject({ kind: 'accepted' });
  });
});

test('a config that closes the kubelet API is refused, unless the ConfigMap or the local config says so', async () => {
  const config = `${header}enableServer: false\n`;
  expect(await validate({ config })).toMatchObject({
    kind: 'rejected',
    reason: 'NodeWouldBeCutOff',
    cause: { message: expect.stringContaining('enableServer: false would close the kubelet API') },
  });
  const annotations = { [allowFieldsAnnotation]: 'enableServer' };
  expect(await validate({ config, annotations })).toMatchObject({ kind: 'accepted' });
  expect(await validate({ config, local: 'enableServer: false\n' })).toMatchObject({ kind: 'accepted' });
});

describe('the field policy', () => {
  test.each([
    ['authentication: {anonymous: {enabled: true}}', 'authentication.anonymous.enabled'],
    ['authorization: {mode: AlwaysAllow}', 'authorization.mode'],
    ['readOnlyPort: 10255', 'readOnlyPort'],
    ['staticPodURL: http://example.com/pods', 'staticPodURL'],
    ['authentication: {x509: {clientCAFile: /other.crt}}', 'authentication.x509.clientCAFile'],
    ['containerRuntimeEndpoint: unix:///other.sock', 'containerRuntimeEndpoint'],
    ['volumePluginDir: /tmp/plugins', 'volumePluginDir'],
  ])('opening access that the local config keeps closed is refused: %s', async (line, field) => {
    const config = `${header}${line}\n`;
    expect(await validate({ config })).toMatchObject({
      kind: 'rejected',
      reason: 'FieldPolicyDenied',
      cause: { message: expect.stringContaining(field) },
    });
    expect(await validate({ config, annotations: { [allowFieldsAnnotation]: field } })).toMatchObject({
      kind: 'accepted',
    });
    expect(await validate({ config, local: `${line}\n` })).toMatchObject({ kind: 'accepted' });
  });

  test('a policy file allows, denies and bounds, and no annotation lifts it', async () => {
    const parts = {
      policyIsOurs: true,
      policy: { allow: ['maxPods', 'kubeReserved'], bounds: { maxPods: { max: 200 } } },
    };
    expect(await validate({ config: `${header}maxPods: 150\nkubeReserved: {cpu: 100m}\n`, parts })).toMatchObject({
      kind: 'accepted',
    });
    const annotations = { [allowFieldsAnnotation]: 'maxPods,failSwapOn' };
    for (const line of ['maxPods: 201', 'failSwapOn: false'])
      expect(await validate({ config: `${header}${line}\n`, annotations, parts })).toMatchObject({
        kind: 'rejected',
        reason: 'FieldPolicyDenied',
      });
  });
});

describe('warnings', () => {
  test('local values that the candidate drops, pinned fields and dropped gates are reported', async () => {
    const result = await validate({
      config: `${header}maxPods: 50\n`,
      local: 'cgroupDriver: systemd\nmaxPods: 60\nfeatureGates: {NodeSwap: true}\n',
      args: ['--max-pods=70'],
    });
    expect(result.warnings.join('\n')).toMatch(/cgroupDriver is set in the local config/);
    expect(result.warnings.join('\n')).toMatch(/maxPods is pinned by the kubelet's flag --max-pods/);
    expect(result.warnings.join('\n')).toMatch(/feature gate NodeSwap=true is set only in the local config/);
  });
});

describe('the forecast', () => {
  const config = `${header}evictionHard: {memory.available: bogus}\n`;

  test('a config that passes validation and kills the kubelet is refused', async () => {
    expect(await validate({ config })).toMatchObject({ kind: 'rejected', reason: 'StartWouldFail' });
  });

  test.each([
    ['--no-forecast', { parts: { forecast: false } }],
    ['the annotation', { annotations: { [skipForecastAnnotation]: 'true' } }],
    ['a whole trial under it', { steps: 'no-probe-no-forecast' as const }],
  ])('%s lets it through, as a warning', async (_name, question) => {
    expect(await validate({ config, ...question })).toMatchObject({
      kind: 'accepted',
      warnings: [expect.stringContaining('memory.available')],
    });
  });
});

const assets = process.env.KUBEBUILDER_ASSETS;
const kubelet = assets === undefined ? '' : join(assets, 'kubelet');

describe.skipIf(!existsSync(kubelet))('a real kubelet (skipped unless KUBEBUILDER_ASSETS holds one)', () => {
  const probe: KubeletProbe = {
    run: (args) =>
      new Promise((resolve) =>
        execFile(kubelet, args, { timeout: 20_000 }, (error, stdout, stderr) =>
          resolve({ code: typeof error?.code === 'number' ? error.code : 0, output: stdout + stderr, timedOut: false }),
        ),
      ),
    uuid: randomUUID,
  };

  test.each([
    [`${header}maxPods: 50\n`, { kind: 'accepted' }],
    [`${header}eventRecordQPS: -1\n`, { kind: 'rejected', reason: 'ValidationFailed' }],
    ['{0xdeadbeef}', { kind: 'rejected', reason: 'ParseFailed' }],
  ])('says what it thinks of %j without being started', async (text, expected) => {
    const dir = temporaryDir();
    const file = join(dir, 'kubelet');
    writeFileSync(file, text);
    const args = [`--root-dir=${dir}/root`, `--cert-dir=${dir}/pki`];
    const validator = createValidator({
      commandLine: divideCommandLine(args),
      probe,
      host: {},
      policy: defaultFieldPolicy,
      policyIsOurs: false,
      forecast: true,
      nodeFacts: async () => ({ hasStaticPods: false }),
      localFiles: () => [],
    });
    const source = { namespace: 'n', name: 'c', uid: 'u', resourceVersion: '1', kubeletConfigKey: 'kubelet' };
    const checkpoint = {
      source,
      dir,
      configFile: file,
      config: Buffer.from(text),
      digest: 'd',
      files: new Map(),
      annotations: {},
      binaryKeys: [],
    };
    const result = await validator.validate(
      { checkpoint, document: { file, text, digest: 'd' }, kubeletVersion: 'v1.23.17' },
      { steps: 'all', signal: new AbortController().signal },
    );
    expect(result).toMatchObject(expected);
  });
});

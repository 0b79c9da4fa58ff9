/** What may be started, and who said no: relet's knowledge, the kubelet itself, guards, policy, forecast. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { divideCommandLine } from '../flags.js';
import { defaultFieldPolicy } from './field-policy.js';
import { allowFieldsAnnotation, createJudge, type JudgeParts, skipForecastAnnotation } from './judge.js';
import type { Candidate, JudgeOptions, Refused } from './judging.js';
import { impossibleLockFile, type KubeletProbe } from './kubelet-verdict.js';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const accepts: KubeletProbe = {
  run: async () => ({
    code: 1,
    timedOut: false,
    output: `E1115 20:19:54.250432 20375 server.go:302] "Failed to run kubelet" err="failed to run Kubelet: unable to acquire file lock on \\"${impossibleLockFile}\\": not a directory"\n`,
  }),
};
const refuses: KubeletProbe = {
  run: async () => ({
    code: 1,
    timedOut: false,
    output:
      'E1115 20:19:54.304575 20385 server.go:225] "Failed to validate kubelet configuration" err="invalid configuration: no \\"such\\" thing" path="&TypeMeta{Kind:,APIVersion:,}"\n',
  }),
};
const silent: KubeletProbe = { run: async () => ({ code: null, output: '', timedOut: true }) };

function newDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'relet-judge-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

interface Question {
  config?: string;
  local?: string;
  annotations?: Record<string, string>;
  history?: JudgeOptions['history'];
  version?: string;
  args?: string[];
  parts?: Partial<JudgeParts>;
}

async function judge({
  config,
  local = '',
  annotations = {},
  history = 'none',
  version = 'v1.32.1',
  args = [],
  parts = {},
}: Question) {
  const dir = newDir();
  const judge = createJudge({
    commandLine: divideCommandLine(args),
    probe: accepts,
    host: {},
    policy: defaultFieldPolicy,
    policyIsOurs: false,
    forecast: true,
    nodeFacts: () => ({ hasStaticPods: false }),
    localText: () => local && header + local,
    localFile: undefined,
    writeConverted(document) {
      writeFileSync(join(dir, 'converted'), JSON.stringify(document));
      return join(dir, 'converted');
    },
    ...parts,
  });
  const bytes = Buffer.from(config ?? '');
  const source = { namespace: 'kube-system', name: 'c', uid: 'u', resourceVersion: '1', kubeletConfigKey: 'kubelet' };
  const checkpoint = {
    source,
    dir,
    configFile: join(dir, 'kubelet'),
    config: bytes,
    digest: 'd',
    files: new Map(),
    annotations,
    binaryKeys: [],
  };
  const candidate: Candidate = { checkpoint: config === undefined ? undefined : checkpoint, kubeletVersion: version };
  return judge.judge(candidate, { history, signal: new AbortController().signal });
}

test('what is wrong with a config a thousand times over is told in a few lines', async () => {
  const unknown = Array.from({ length: 1000 }, (_, i) => `f${i}: 1\n`).join('');
  const { kind, warnings } = await judge({ config: `${header}${unknown}` });
  expect(kind).toBe('accepted');
  expect(warnings).toHaveLength(21);
  expect(warnings.at(-1)).toBe('and 980 more');
  const refused = await judge({ config: `${header}evictionHard: {memory.available: ${'9x'.repeat(50_000)}}\n` });
  expect(refused).toMatchObject({ kind: 'refused', reason: 'StartWouldFail' });
  expect((refused as Refused).cause.message.length).toBeLessThan(3000);
});

describe('judging a config', () => {
  test('a good one is accepted, with where its health is to be asked', async () => {
    expect(await judge({ config: `${header}maxPods: 50\nhealthzPort: 12345\n` })).toMatchObject({
      kind: 'accepted',
      healthz: { host: '127.0.0.1', port: 12345 },
      configFile: expect.stringMatching(/kubelet$/),
    });
  });

  test("the kubelet's refusal beats our approval", async () => {
    const judgement = await judge({ config: header, parts: { probe: refuses } });
    expect(judgement).toMatchObject({
      kind: 'refused',
      reason: 'ValidationFailed',
      cause: { message: 'invalid configuration: no "such" thing' },
    });
  });

  test("the kubelet's approval beats our refusal, and is told", async () => {
    const judgement = await judge({ config: `${header}eventRecordQPS: -1\n` });
    expect(judgement).toMatchObject({
      kind: 'accepted',
      warnings: [expect.stringContaining('relet would have refused this')],
    });
  });

  test.each([
    ['{0xdeadbeef}', 'ParseFailed'],
    [`${header}kubeAPIQPS: -1\n`, 'ValidationFailed'],
  ])('when the kubelet gives no verdict ours counts: %j', async (config, reason) => {
    expect(await judge({ config, parts: { probe: silent } })).toMatchObject({ kind: 'refused', reason });
  });

  test('what was accepted before is not asked again', async () => {
    expect(await judge({ config: header, history: 'validated', parts: { probe: refuses } })).toMatchObject({
      kind: 'accepted',
    });
  });

  test('fields newer than the kubelet are warnings', async () => {
    expect(await judge({ config: `${header}notAField: 1\n` })).toMatchObject({
      kind: 'accepted',
      warnings: [expect.stringContaining('notAField')],
    });
  });

  test('a payload of the alpha is started from a converted copy with its paths written out', async () => {
    const config = 'apiVersion: kubeletconfig/v1alpha1\nkind: KubeletConfiguration\npodManifestPath: manifests\n';
    const judgement = await judge({ config });
    expect(judgement).toMatchObject({
      kind: 'accepted',
      configFile: expect.stringMatching(/converted$/),
      staticPodPath: expect.stringMatching(/^\/.*\/manifests$/),
    });
  });
});

test('flags of the hollow kubelet are none that relet would refuse', async () => {
  const commandLine = divideCommandLine(['--hollow-force', '--hollow-version=1.32.1', '--max-pods=60']);
  const judgement = await judge({ config: `${header}maxPods: 50\n`, parts: { commandLine } });
  expect(judgement).toMatchObject({ kind: 'accepted', pinnedByFlags: ['maxPods'] });
  expect(judgement.warnings.join()).not.toContain('unknown flag');
});

describe('guards', () => {
  const moved = { config: `${header}staticPodPath: /elsewhere\n`, local: 'staticPodPath: /etc/kubernetes/manifests\n' };
  const withStaticPods = { nodeFacts: () => ({ hasStaticPods: true }) };

  test('moving static pods away from under a control-plane node is refused', async () => {
    const judgement = await judge({ ...moved, parts: withStaticPods });
    expect(judgement).toMatchObject({
      kind: 'refused',
      reason: 'NodeWouldBeCutOff',
      cause: { message: expect.stringContaining('/etc/kubernetes/manifests') },
    });
  });

  test('it is allowed where there are none, or where the ConfigMap says so', async () => {
    expect(await judge(moved)).toMatchObject({ kind: 'accepted' });
    const annotations = { [allowFieldsAnnotation]: 'providerID, staticPodPath' };
    expect(await judge({ ...moved, annotations, parts: withStaticPods })).toMatchObject({ kind: 'accepted' });
  });

  test("a providerID that is not this machine's is refused", async () => {
    const config = `${header}providerID: aws:///a/i-1\n`;
    expect(await judge({ config })).toMatchObject({ kind: 'refused', reason: 'NodeWouldBeCutOff' });
    const own = { nodeFacts: () => ({ hasStaticPods: false, providerID: 'aws:///a/i-1' }) };
    expect(await judge({ config, parts: own })).toMatchObject({ kind: 'accepted' });
  });
});

test('a config that closes the kubelet API is refused, unless the ConfigMap or the local config says so', async () => {
  const config = `${header}enableServer: false\n`;
  expect(await judge({ config })).toMatchObject({
    kind: 'refused',
    reason: 'NodeWouldBeCutOff',
    cause: { message: expect.stringContaining('enableServer: false would close the kubelet API') },
  });
  const annotations = { [allowFieldsAnnotation]: 'enableServer' };
  expect(await judge({ config, annotations })).toMatchObject({ kind: 'accepted' });
  expect(await judge({ config, local: 'enableServer: false\n' })).toMatchObject({ kind: 'accepted' });
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
    expect(await judge({ config })).toMatchObject({
      kind: 'refused',
      reason: 'FieldPolicyDenied',
      cause: { message: expect.stringContaining(field) },
    });
    expect(await judge({ config, annotations: { [allowFieldsAnnotation]: field } })).toMatchObject({
      kind: 'accepted',
    });
    expect(await judge({ config, local: `${line}\n` })).toMatchObject({ kind: 'accepted' });
  });

  test('a policy file allows, denies and bounds, and no annotation lifts it', async () => {
    const parts = {
      policyIsOurs: true,
      policy: { allow: ['maxPods', 'kubeReserved'], bounds: { maxPods: { max: 200 } } },
    };
    expect(await judge({ config: `${header}maxPods: 150\nkubeReserved: {cpu: 100m}\n`, parts })).toMatchObject({
      kind: 'accepted',
    });
    const annotations = { [allowFieldsAnnotation]: 'maxPods,failSwapOn' };
    for (const line of ['maxPods: 201', 'failSwapOn: false'])
      expect(await judge({ config: `${header}${line}\n`, annotations, parts })).toMatchObject({
        kind: 'refused',
        reason: 'FieldPolicyDenied',
      });
  });
});

describe('warnings', () => {
  test('local values that the candidate forgets, pinned fields and gates left behind are told', async () => {
    const judgement = await judge({
      config: `${header}maxPods: 50\n`,
      local: 'cgroupDriver: systemd\nmaxPods: 60\nfeatureGates: {NodeSwap: true}\n',
      args: ['--max-pods=70'],
    });
    expect(judgement.warnings.join('\n')).toMatch(/cgroupDriver is set in the local config/);
    expect(judgement.warnings.join('\n')).toMatch(/maxPods is pinned by the kubelet's flag --max-pods/);
    expect(judgement.warnings.join('\n')).toMatch(/feature gate NodeSwap=true is set only in the local config/);
  });
});

describe('the forecast', () => {
  const config = `${header}evictionHard: {memory.available: bogus}\n`;

  test('a config that passes validation and kills the kubelet is refused', async () => {
    expect(await judge({ config })).toMatchObject({ kind: 'refused', reason: 'StartWouldFail' });
  });

  test.each([
    ['--no-forecast', { parts: { forecast: false } }],
    ['the annotation', { annotations: { [skipForecastAnnotation]: 'true' } }],
    ['a whole trial under it', { history: 'passed' as const }],
  ])('%s lets it through, as a warning', async (_name, question) => {
    expect(await judge({ config, ...question })).toMatchObject({
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
  };

  test.each([
    [`${header}maxPods: 50\n`, { kind: 'accepted' }],
    [`${header}eventRecordQPS: -1\n`, { kind: 'refused', reason: 'ValidationFailed' }],
    ['{0xdeadbeef}', { kind: 'refused', reason: 'ParseFailed' }],
  ])('says what it thinks of %j without being started', async (text, expected) => {
    const dir = newDir();
    const file = join(dir, 'kubelet');
    writeFileSync(file, text);
    const args = [`--root-dir=${dir}/root`, `--cert-dir=${dir}/pki`];
    const judged = createJudge({
      commandLine: divideCommandLine(args),
      probe,
      host: {},
      policy: defaultFieldPolicy,
      policyIsOurs: false,
      forecast: true,
      nodeFacts: () => ({ hasStaticPods: false }),
      localText: () => '',
      localFile: undefined,
      writeConverted: () => file,
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
    const judgement = await judged.judge(
      { checkpoint, kubeletVersion: 'v1.23.17' },
      { history: 'none', signal: new AbortController().signal },
    );
    expect(judgement).toMatchObject(expected);
  });
});

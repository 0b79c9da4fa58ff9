/**
 * The charts in the hands of a real Helm: linted, rendered, installed, upgraded and uninstalled, on relet's own API server or, with
 * KUBEBUILDER_ASSETS, on a real one. test/charts.test.ts checks what can be checked without Helm.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { nodeConfigs } from '../src/api/node-config.js';
import type { KubeObject } from '../src/api/object.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { embeddedCluster, realCluster } from './cluster/cluster.js';
import { point } from './cluster/cluster-node.js';
import { type RunningController, startController } from './cluster/controller.js';
import { exists, Scene } from './cluster/scene.js';
import { readBlocks } from './page-blocks.js';
import { needs } from './programs.js';
import { temporaryDir } from './temporary-dir.js';

const deploy = join(import.meta.dirname, '../deploy');
const chart = (name: 'relet' | 'relet-crds') => join(deploy, 'helm', name);
const run = promisify(execFile);
const helmHere = needs('helm');
const helmAndKubectl = needs('helm', 'kubectl');
const assets = process.env.KUBEBUILDER_ASSETS;

const home = temporaryDir();
const env = { ...process.env, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };

/** Without a cluster. */
const template = (name: 'relet' | 'relet-crds', ...values: string[]) => templateFor('1.34.0', name, ...values);

async function templateFor(version: string, name: 'relet' | 'relet-crds', ...values: string[]): Promise<KubeObject[]> {
  const set = values.flatMap((value) => ['--set', value]);
  const args = ['template', name, chart(name), '-n', 'relet-system', '--kube-version', version, ...set];
  return objectsIn((await run('helm', args, { env })).stdout);
}

const objectsIn = (text: string): KubeObject[] =>
  parseAllDocuments(text)
    .map((one) => one.toJS() as KubeObject | null)
    .filter((one) => one !== null);

const byName = (objects: KubeObject[]) =>
  Object.fromEntries(objects.map((one) => [[one.kind, one.metadata.namespace, one.metadata.name].join(' '), one]));

describe.skipIf(helmHere.isMissing)(`what Helm makes of the charts${helmHere.note}`, () => {
  test.each(['relet', 'relet-crds'] as const)('helm lint finds nothing wrong with %s', async (name) => {
    const args = ['lint', '--strict', '--kube-version', '1.34.0', '-n', 'relet-system', chart(name)];
    expect((await run('helm', args, { env })).stdout).toContain('0 chart(s) failed');
  });

  test('without values the charts are what kubectl applies', async () => {
    const applied = (dir: string) =>
      (parse(readFileSync(join(deploy, dir, 'kustomization.yaml'), 'utf8')).resources as string[])
        .flatMap((name) => objectsIn(readFileSync(join(deploy, dir, name), 'utf8')))
        .filter(({ kind }) => kind !== 'Namespace');
    // A later version has a field that the files for kubectl, which are for all versions, cannot have.
    const rendered = [...(await templateFor('1.30.0', 'relet')), ...(await template('relet-crds', 'keep=false'))];
    expect(byName(rendered)).toEqual(byName([...applied('.'), ...applied('agent')]));
    const monitored = byName(await template('relet', 'monitoring.monitors=true', 'monitoring.alerts=true'));
    expect(monitored).toMatchObject(byName(applied('monitoring')));
  });

  interface Pod {
    securityContext: object;
    containers: [{ image: string; args: string[]; securityContext: object; volumeMounts: { mountPath: string }[] }];
    volumes: { hostPath?: { path: string } }[];
  }
  const podOf = (objects: KubeObject[], kind: string): Pod =>
    (objects.find((one) => one.kind === kind) as unknown as { spec: { template: { spec: Pod } } }).spec.template.spec;

  test('privileged replaces the dropped capabilities, which the API server does not take beside it', async () => {
    const pod = podOf(await template('relet', 'agent.privileged=true', 'agent.seLinuxOptions.type=spc_t'), 'DaemonSet');
    expect(pod.containers[0].securityContext).toEqual({ privileged: true, readOnlyRootFilesystem: true });
    expect(pod.securityContext).toMatchObject({ runAsUser: 0, seLinuxOptions: { type: 'spc_t' } });
  });

  test('a field policy is a Secret that the agent reads, and the host’s other paths are mounted', async () => {
    const objects = await template('relet', 'agent.fieldPolicy.allow={maxPods}', 'agent.extraHostPaths={/etc/eks}');
    const secret = objects.find(({ kind }) => kind === 'Secret') as KubeObject & { stringData: Record<string, string> };
    const policy = { apiVersion: 'relet.dev/v1alpha1', kind: 'FieldPolicy', allow: ['maxPods'] };
    expect(parse(secret.stringData['field-policy.yaml']!)).toEqual(policy);
    const pod = podOf(objects, 'DaemonSet');
    expect(pod.containers[0].args).toContain('--field-policy=/etc/relet-field-policy/field-policy.yaml');
    expect(pod.containers[0].volumeMounts.map(({ mountPath }) => mountPath)).toContain('/etc/eks');
    expect(pod.volumes.map(({ hostPath }) => hostPath?.path)).toContain('/etc/eks');
  });

  test('the cgroups of the host are mounted read-only with all that is mounted below them, where the API has that', async () => {
    const mountFor = async (version: string) =>
      podOf(await templateFor(version, 'relet'), 'DaemonSet').containers[0].volumeMounts.find(
        ({ mountPath }) => mountPath === '/host/cgroup',
      );
    const mount = { name: 'cgroup', mountPath: '/host/cgroup', readOnly: true };
    expect(await mountFor('1.30.14')).toEqual(mount);
    expect(await mountFor('1.31.0')).toEqual({ ...mount, recursiveReadOnly: 'IfPossible' });
  });

  test('the directory of the trust file is one of the host, or is not mounted', async () => {
    const trust = async (value: string) => {
      const pod = podOf(await template('relet', `agent.hostPaths.trust=${value}`), 'DaemonSet');
      const mounted = pod.containers[0].volumeMounts.some(({ mountPath }) => mountPath === '/opt/trust');
      const paths = pod.volumes.map(({ hostPath }) => hostPath?.path);
      return [
        pod.containers[0].args.filter((one) => one.startsWith('--trust-file')),
        mounted,
        paths.includes('/opt/trust'),
      ];
    };
    expect(await trust('/opt/trust')).toEqual([['--trust-file=/opt/trust/trust.yaml'], true, true]);
    expect(await trust('')).toEqual([[], false, false]);
  });

  test('a webhook is two files and three flags', async () => {
    const values = ['url=https://hooks.example/a?b=c', 'tokenSecret=t', 'caConfigMap=c'];
    const pod = podOf(await template('relet', ...values.map((value) => `controller.webhook.${value}`)), 'Deployment');
    expect(pod.containers[0].args.slice(-3)).toEqual([
      '--webhook-url=https://hooks.example/a?b=c',
      '--webhook-token-file=/etc/relet/webhook-token/token',
      '--webhook-ca-file=/etc/relet/webhook-ca/ca.crt',
    ]);
    expect(pod.volumes).toEqual([
      { name: 'webhook-token', secret: { secretName: 't' } },
      { name: 'webhook-ca', configMap: { name: 'c' } },
    ]);
  });

  test('Prometheus, for analyses, is the same beside a webhook', async () => {
    const values = [
      'prometheus.url=https://p',
      'prometheus.tokenSecret=t',
      'webhook.url=https://w',
      'webhook.caConfigMap=c',
    ];
    const pod = podOf(await template('relet', ...values.map((value) => `controller.${value}`)), 'Deployment');
    expect(pod.containers[0].args.slice(-4)).toEqual([
      '--prometheus-url=https://p',
      '--prometheus-token-file=/etc/relet/prometheus-token/token',
      '--webhook-url=https://w',
      '--webhook-ca-file=/etc/relet/webhook-ca/ca.crt',
    ]);
    expect(pod.containers[0].volumeMounts.map(({ mountPath }) => mountPath)).toEqual([
      '/etc/relet/prometheus-token',
      '/etc/relet/webhook-ca',
    ]);
    expect(pod.volumes).toEqual([
      { name: 'prometheus-token', secret: { secretName: 't' } },
      { name: 'webhook-ca', configMap: { name: 'c' } },
    ]);
  });

  test('NetworkPolicies are there by their values: that of the dashboard unless turned off, that of the controller when turned on', async () => {
    const policies = async (...values: string[]) =>
      (await template('relet', ...values))
        .filter(({ kind }) => kind === 'NetworkPolicy')
        .map(({ metadata }) => metadata.name);
    expect(await policies()).toEqual([]);
    expect(await policies('dashboard.enabled=true')).toEqual(['relet-dashboard']);
    expect(await policies('dashboard.enabled=true', 'networkPolicies.dashboard=false')).toEqual([]);
    expect(await policies('networkPolicies.controller=true')).toEqual(['relet-controller']);
  });

  test('an image is named by its digest, and with guards=roles there are no policies', async () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    const set = ['guards=roles', 'image.repository=registry.example/relet', `image.digest=${digest}`];
    const objects = await template('relet', ...set, 'agent.enabled=false');
    const pod = podOf(objects, 'Deployment');
    expect(pod.containers[0].image).toBe(`registry.example/relet@${digest}`);
    expect(pod.containers[0].args).toContain('--guards=roles');
    expect(objects.filter(({ kind }) => /^ValidatingAdmission|DaemonSet/.test(kind))).toEqual([]);
  });

  test('the values that the pages set are values of the chart', async () => {
    const docs = join(deploy, '../docs');
    const pages = readdirSync(docs, { withFileTypes: true }).filter((one) => one.isFile());
    const text = ['../README.md', ...pages.map(({ name }) => name)].map((name) =>
      readFileSync(join(docs, name), 'utf8'),
    );
    const options = new Set(text.join('\n').match(/--set(?:-string)? [\w.]+=[^\s`]*/g));
    expect(options.size).toBeGreaterThan(5);
    const args = ['template', 'relet', chart('relet'), '-n', 'relet-system', '--kube-version', '1.34.0'];
    for (const option of options) await run('helm', [...args, ...option.split(' ')], { env });
  });

  test('a value that is misspelt, not of its type, or a namespace in which no command would look, is rejected', async () => {
    await expect(template('relet', 'agent.priviledged=true')).rejects.toThrow('priviledged');
    await expect(template('relet', 'agent.nodeSelector.relet=true')).rejects.toThrow('nodeSelector');
    const args = ['template', 'relet', chart('relet'), '-n', 'default', '--kube-version', '1.34.0'];
    await expect(run('helm', args, { env })).rejects.toThrow('--namespace relet-system');
  });
});

describe.skipIf(helmAndKubectl.isMissing)(`Helm on a cluster${helmAndKubectl.note}`, () => {
  const scene = new Scene();
  let controller: RunningController | undefined;

  /** As on the page: from the repository, with the administrator's kubeconfig. */
  const shell = async (script: string) => {
    const onCluster = { ...env, KUBECONFIG: scene.cluster.kubeconfig('admin') };
    return (await run('sh', ['-ec', script], { env: onCluster, cwd: join(deploy, '..') })).stdout;
  };
  const get = (what: string, namespace = 'relet-system') => shell(`kubectl get ${what} -n ${namespace}`);

  beforeAll(async () => {
    scene.begin(await (assets === undefined ? embeddedCluster() : realCluster(assets)));
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } };
    await scene.admin.create(nodes, {}, node);
    await scene.cluster.kubectl('apply', '-f', join(deploy, 'base/namespace.yaml'));
  });
  afterAll(async () => {
    await controller?.stop();
    await scene.cluster?.close();
  });

  test('helm install, upgrade and uninstall leave every node running what it runs, and keep NodeConfigs and configs', async () => {
    await shell('helm install relet-crds deploy/helm/relet-crds -n relet-system');
    expect(await shell('helm install relet deploy/helm/relet -n relet-system')).toContain('relet doctor');
    await shell(`
      kubectl create clusterrolebinding operators --clusterrole=relet:operator --user=operator
      kubectl create rolebinding authors -n relet-system --clusterrole=relet:author --user=author`);
    controller = await startController(scene.cluster, { identity: 'first', guards: 'auto' });
    const node = await scene.freshNode();
    await scene.newConfig('stays', node.rig.config('maxPods: 130'));
    await point(scene.operator, 'node-a', 'stays');
    await node.active('stays');
    const starts = node.rig.starts().length;

    await shell('helm upgrade relet deploy/helm/relet -n relet-system --set controller.replicas=3');
    expect(await get('deployment relet-controller -o jsonpath={.spec.replicas}')).toBe('3');
    await node.active('stays');

    await controller.stop();
    controller = undefined;
    await shell('helm uninstall relet -n relet-system');
    await shell('helm uninstall relet-crds -n relet-system');
    expect(await get('deployments,daemonsets,serviceaccounts -l app.kubernetes.io/name=relet -o name')).toBe('');
    expect(await exists(scene.admin.get(configMaps, { namespace: 'relet-system', name: 'stays' }))).toBe(true);
    const { spec } = await scene.admin.get<KubeObject>(nodeConfigs, { name: 'node-a' });
    expect(spec).toMatchObject({ configSource: { configMap: { name: 'stays' } } });
    expect(node.rig.starts()).toHaveLength(starts);
    await node.rig.stop();
    node.rig.boot();
    await node.rig.until('runs it again', () => node.rig.starts().length === starts + 1);
    expect(node.rig.starts().at(-1)?.configFile).toContain('checkpoints');
  });

  test('helm upgrade keeps the rights of the controller in kube-system while there are grants', async () => {
    await shell('helm install relet deploy/helm/relet -n relet-system');
    const inKubeSystem = () => get('roles -o name', 'kube-system');
    expect(await inKubeSystem()).not.toContain('/relet:controller');
    await shell(`
      kubectl create role relet:kubelet-config:former -n kube-system --verb=get --resource=configmaps
      kubectl label role relet:kubelet-config:former -n kube-system relet.dev/grant=true
      helm upgrade relet deploy/helm/relet -n relet-system`);
    expect(await inKubeSystem()).toContain('/relet:controller');
    await shell(`
      kubectl delete role relet:kubelet-config:former -n kube-system
      helm upgrade relet deploy/helm/relet -n relet-system`);
    expect(await inKubeSystem()).not.toContain('/relet:controller');
    await shell('helm uninstall relet -n relet-system');
  });

  const shown = readBlocks(readFileSync(join(deploy, '../docs/install.md'), 'utf8')).flatMap((block) =>
    block.kind === 'commands' && block.notRun?.startsWith('test/helm.test.ts') ? [block.commands] : [],
  );
  test('docs/install.md shows two ways to take over what kubectl applied', () => expect(shown).toHaveLength(2));

  test.each(shown)(
    'what kubectl applied becomes a release of Helm, and no pod is replaced: %s',
    async (...commands) => {
      await shell('kubectl apply -k deploy/');
      const specs = 'deployments -o jsonpath={..spec}';
      const before = await get(specs);
      const install = 'helm install relet deploy/helm/relet --namespace relet-system';
      await expect(shell(install)).rejects.toThrow('invalid ownership metadata');
      for (const { command } of commands) await shell(command);
      expect(await shell('helm list -n relet-system -q')).toBe('relet\nrelet-crds\n');
      expect(await get(specs)).toBe(before);
      await shell('helm uninstall relet relet-crds -n relet-system');
    },
  );
});

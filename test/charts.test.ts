/** The Helm charts install what `kubectl apply -k` does, take the values that they list, and give the agent's pod no more than it needs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import pkg from '../package.json' with { type: 'json' };
// @ts-expect-error: a script without types
import * as deploy from '../scripts/deploy.mjs';

const templates = deploy.templates as () => { from: string; to: string; text: string }[];
const defaultsIn = deploy.defaultsIn as (text: string) => [path: string, yaml: string][];

const repository = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(repository, path), 'utf8');

test('the templates and the PrometheusRule are what scripts/deploy.mjs writes: run it after a change of deploy/', () => {
  expect(read(deploy.rule.to)).toBe(deploy.rule.text());
  for (const { to, text } of templates()) expect(read(to), to).toBe(text);
});

test('every manifest that a kustomization names is in a chart, except the namespace, which Helm needs beforehand', () => {
  const manifests = [
    'deploy',
    'deploy/new-nodes',
    'deploy/drain',
    'deploy/kube-system',
    'deploy/agent',
    'deploy/dashboard',
    'deploy/network',
    'deploy/monitoring',
  ].flatMap((dir) => (parse(read(`${dir}/kustomization.yaml`)).resources as string[]).map((name) => `${dir}/${name}`));
  const inCharts = templates().map(({ from }) => from);
  expect(manifests.filter((name) => !inCharts.includes(name))).toEqual(['deploy/base/namespace.yaml']);
  expect(inCharts.filter((name) => !manifests.includes(name))).toEqual([]);
});

/** Paths of all values, such as image.tag. What is below an empty map, or a list, is the user's. */
function paths(value: unknown, at: string[] = []): string[] {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
  if (!isMap) return [at.join('.')];
  return Object.entries(value).flatMap(([key, below]) => paths(below, [...at, key]));
}

interface Schema {
  type?: string;
  additionalProperties?: false;
  properties?: Record<string, Schema>;
}

/** Paths of all values that a schema lists. An object without a list of properties is the user's. */
function listed({ properties }: Schema, at: string[] = []): string[] {
  if (properties === undefined) return [at.join('.')];
  return Object.entries(properties).flatMap(([key, below]) => listed(below, [...at, key]));
}

describe.each(['relet', 'relet-crds'])('chart %s', (chart) => {
  const dir = `deploy/helm/${chart}`;
  const values = parse(read(`${dir}/values.yaml`));
  const ofChart = templates().filter(({ to }) => to.startsWith(`${dir}/`));

  test('without values it is the manifests', () => {
    const defaults = ofChart.flatMap(({ from }) => defaultsIn(read(from)).map((one) => [from, ...one] as const));
    for (const [from, path, yaml] of defaults) {
      const value = path.split('.').reduce((below, key) => below?.[key], values);
      expect({ from, path, value }).toEqual({ from, path, value: parse(yaml) });
    }
    if (chart === 'relet') expect(defaults.length).toBeGreaterThan(10);
  });

  test('it has the version of relet', () => {
    expect(parse(read(`${dir}/Chart.yaml`))).toMatchObject({
      name: chart,
      version: pkg.version,
      appVersion: pkg.version,
    });
  });

  test('templates use each value, and no other', () => {
    const texts = readdirSync(join(repository, dir, 'templates')).map((name) => read(`${dir}/templates/${name}`));
    const used = texts.flatMap((text) => [...text.matchAll(/\.Values\.([\w.]+)/g)].map(([, path]) => path!));
    const known = paths(values);
    const isBelow = (one: string, other: string) => `${one}.`.startsWith(`${other}.`);
    expect(known.filter((path) => !used.some((name) => isBelow(path, name)))).toEqual([]);
    expect(used.filter((name) => !known.some((path) => isBelow(path, name)))).toEqual([]);
  });

  test('the schema lists each value, and rejects others', () => {
    const schema: Schema = JSON.parse(read(`${dir}/values.schema.json`));
    // Helm gives `global` to every chart. The policy is empty by default.
    const own = listed(schema).filter((path) => path !== 'global');
    const policy = new Set(own.filter((path) => path.startsWith('agent.fieldPolicy.')));
    const inDetail = new Set(own.filter((path) => !policy.has(path)));
    const known = paths(values).filter((path) => path !== 'agent.fieldPolicy');
    expect(known.filter((path) => ![...inDetail].some((one) => `${path}.`.startsWith(`${one}.`)))).toEqual([]);
    expect([...inDetail].filter((one) => !known.some((path) => `${path}.`.startsWith(`${one}.`)))).toEqual([]);
    const open = (one: Schema): Schema[] => [
      ...(one.properties && one.additionalProperties !== false ? [one] : []),
      ...Object.values(one.properties ?? {}).flatMap(open),
    ];
    expect(open(schema)).toEqual([]);
  });
});

test('the examples for Argo CD and Flux name charts and values that are there', () => {
  const examples = [...read('docs/install.md').matchAll(/^```yaml\n(.*?)^```$/gms)]
    .flatMap(([, text]) => parseAllDocuments(text!).map((one) => one.toJS()))
    .map(({ kind, spec }) => {
      if (kind === 'Application') return { path: spec.source.path, values: spec.source.helm?.valuesObject };
      return kind === 'HelmRelease' ? { path: spec.chart.spec.chart, values: spec.values } : undefined;
    })
    .filter((one) => one !== undefined);
  expect(examples).toHaveLength(4);
  for (const { path, values = {} } of examples) {
    const known = paths(parse(read(`${path}/values.yaml`)));
    for (const value of paths(values).filter((one) => one !== '')) expect(known).toContain(value);
  }
});

describe('the agent’s pod', () => {
  const [account, daemonSet] = parseAllDocuments(read('deploy/agent/agent.yaml')).map((one) => one.toJS());
  const { spec } = daemonSet.spec.template;
  const [container] = spec.containers;

  test('has no credential of its own', () => {
    expect(account.automountServiceAccountToken).toBe(false);
    expect(spec.automountServiceAccountToken).toBe(false);
    const bound = ['deploy/base/people.yaml', 'deploy/base/nodes.yaml', 'deploy/base/controller-rbac.yaml'].map(read);
    expect(bound.join('')).not.toContain('relet-agent');
  });

  test('is root without capabilities, on a read-only root file system, with no more of its host than its network', () => {
    expect(spec.securityContext).toEqual({ runAsUser: 0, runAsGroup: 0, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    });
    expect(Object.keys(spec).filter((key) => key.startsWith('host'))).toEqual(['hostNetwork']);
  });

  test('writes to the host only where systemd reads drop-ins, and to relet’s own directory', () => {
    const volumes = spec.volumes as { name: string; hostPath?: { path: string } }[];
    const paths = Object.fromEntries(volumes.flatMap((one) => (one.hostPath ? [[one.name, one.hostPath.path]] : [])));
    const mounted = container.volumeMounts as { name: string; mountPath: string; readOnly?: boolean }[];
    expect(volumes.map(({ name }) => name)).toEqual(mounted.map(({ name }) => name));
    const mounts = mounted.filter(({ name }) => name in paths);
    // The container runtime mounts what the pod has of /sys there.
    for (const { name, mountPath } of mounts) expect(mountPath).toBe(name === 'cgroup' ? '/host/cgroup' : paths[name]);
    expect(mounts.filter(({ readOnly }) => !readOnly).map(({ mountPath }) => mountPath)).toEqual([
      '/run/systemd',
      '/run/relet',
      '/etc/systemd/system',
      '/var/lib/relet',
    ]);
    // The directory has the keys of the cluster's CA on control-plane nodes.
    expect(Object.values(paths)).not.toContain('/etc/kubernetes');
  });

  test('reads the trust file from its host, where nobody with rights in the API alone can change it', () => {
    expect(container.args).toContain('--trust-file=/etc/relet/trust.yaml');
    const volume = (spec.volumes as { name: string }[]).find(({ name }) => name === 'trust');
    expect(volume).toEqual({ name: 'trust', hostPath: { path: '/etc/relet', type: 'DirectoryOrCreate' } });
    expect(container.volumeMounts).toContainEqual({ name: 'trust', mountPath: '/etc/relet', readOnly: true });
  });

  test('runs on every Linux node, is not evicted for others, and is never restarted by a probe', () => {
    expect(spec.tolerations).toEqual([{ operator: 'Exists' }]);
    expect(spec.nodeSelector).toEqual({ 'kubernetes.io/os': 'linux' });
    expect(spec.priorityClassName).toBe('system-node-critical');
    expect(Object.keys(container).filter((key) => key.endsWith('Probe'))).toEqual([]);
  });

  test('is let in by the namespace', () => {
    const { metadata } = parse(read('deploy/base/namespace.yaml'));
    expect(metadata.labels['pod-security.kubernetes.io/enforce']).toBe('privileged');
    expect([account, daemonSet].map((one) => one.metadata.namespace)).toEqual([metadata.name, metadata.name]);
  });
});

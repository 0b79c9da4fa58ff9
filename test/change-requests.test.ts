/** The requests that a change of one node, and an analysis, cost the API server, from the agent and the controller: docs/metrics.md lists them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SyntheticSignals } from '../src/agent/observe/synthetic-signals.js';
import { defaultRestartLimit } from '../src/agent/sync/change-pace.js';
import { defaultTrialLimits } from '../src/agent/trial/trial.js';
import type { NodeCondition } from '../src/api/node-condition.js';
import { configLabel, configNamespace, type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import { type NodeConfigSet, nodeConfigSets } from '../src/api/node-config-set.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { localText } from '../src/lab/faults/configs.js';
import { startFullServer } from '../src/lab/faults/server.js';
import { silentLog } from '../src/log.js';
import { readManifests } from '../src/rehearsal/manifests.js';
import { startCluster } from '../src/rehearsal/simulation/cluster.js';

const root = join(import.meta.dirname, '..');
const manifests = ['base', 'guards', 'kube-system', 'drain'].flatMap((part) =>
  readManifests(join(root, 'deploy', part)),
);
const node = 'node-a';
const quiet = () => {};

interface Answered {
  client: string;
  method: string;
  path: string;
}

async function clusterOf(names: readonly string[], onAnswered: (answered: Answered) => void) {
  const cluster = await startCluster({
    startServer: startFullServer,
    seed: 'requests',
    manifests,
    nodes: names.map((name) => ({ name, labels: { pool: 'gpu' }, local: localText, kubeletVersion: 'v1.32.1' })),
    controllers: 1,
    flow: {
      trial: defaultTrialLimits,
      onChange: 'restart',
      inPlaceJitterMs: 0,
      restartLimit: defaultRestartLimit,
      settleMs: 500,
      crashDelayMs: 1000,
      // An agent at rest renews its lease as well.
      renewsLease: false,
    },
    behaviour: () => ({ healthyAfterMs: 800 }),
    probeMs: () => 200,
    restartMs: () => 1000,
    signals: () => new SyntheticSignals([]),
    listener: {
      onKubeletStart: quiet,
      onKubeletExit: quiet,
      onAgentStart: quiet,
      onAgentDown: quiet,
      onLead: quiet,
      onControllerDown: quiet,
      onAnswered,
      log: () => silentLog,
    },
  });
  onTestFinished(() => cluster.server.close());
  return cluster;
}

test('a change of one node costs six reads and six writes at most, and its ConfigMap three, as docs/metrics.md lists them', async () => {
  let sent: string[] = [];
  const { clock, client } = await clusterOf([node], ({ client: who, method, path }) =>
    sent.push(nameOf(who === node ? 'agent' : 'controller', method, path)),
  );
  const assign = async (name: string, field: string) => {
    const metadata = { name, namespace: configNamespace, labels: { [configLabel]: '' } };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { kubelet: `${localText}${field}\n` } };
    await client.create(configMaps, { namespace: configNamespace }, object);
    const spec = { configSource: { configMap: { namespace: configNamespace, name, kubeletConfigKey: 'kubelet' } } };
    await client.patch(nodeConfigs, { name: node }, { spec }, { as: 'merge' });
  };
  const lastKnownGood = async () =>
    (await client.get<NodeConfig>(nodeConfigs, { name: node })).status?.config?.lastKnownGood?.configMap?.name;
  const configOk = async () => {
    const { status } = await client.get(nodes, { name: node });
    return (status as { conditions: NodeCondition[] }).conditions.find(({ type }) => type === 'ConfigOK');
  };
  await clock.advance(120_000);
  await assign('first', 'registryPullQPS: 7');
  await clock.advance(700_000);
  expect(await lastKnownGood()).toBe('first');
  // The cluster at rest, for as long: the controller renews its Leases and looks for maintenance operators.
  sent = [];
  await clock.advance(700_000);
  const atRest = new Set(sent);
  const condition = await configOk();
  sent = [];
  await assign('second', 'registryPullQPS: 8');
  await clock.advance(700_000);
  expect(await lastKnownGood()).toBe('second');

  // The only patch of the Node is the heartbeat of the kubelet itself: its condition ConfigOK is as it was.
  expect(await configOk()).toEqual(condition);
  const counted = new Map<string, number>();
  for (const name of sent)
    if (name !== heartbeat && !(name.startsWith('controller') && atRest.has(name)) && !isRestWatch(name))
      counted.set(name, (counted.get(name) ?? 0) + 1);
  // The test assigns as 'relet set' does.
  counted.set(assignment, 1);
  const requests = [...counted].map(([name, count]) => `${name} | ${count}`).sort();
  const [ofNode, ofConfigMap] = documented();
  expect(requests).toEqual([...ofNode, ...ofConfigMap].sort());
  expect(sumOf(ofNode, / (?:get|list) /)).toBeLessThanOrEqual(6);
  expect(sumOf(ofNode, / (?:create|update|patch|delete) /)).toBeLessThanOrEqual(6);
  expect(sumOf(ofConfigMap, / /)).toBeLessThanOrEqual(3);
});

test('an analysis costs a control four requests, and a canary as many beside its change, as docs/metrics.md lists them', async () => {
  const sent: string[] = [];
  const names = ['node-a', 'node-b', 'node-c', 'node-d'];
  const { clock, client } = await clusterOf(names, ({ client: who, method, path }) => {
    if (names.includes(who)) sent.push(`${who} | ${nameOf('agent', method, path)}`);
    const changed = names.find((name) => path.includes(`/nodeconfigs/${name}`));
    if (who === 'controller-1' && changed !== undefined)
      sent.push(`${changed} | ${nameOf('controller', method, path)}`);
  });
  await clock.advance(120_000);
  sent.length = 0;
  await client.create(
    nodeConfigSets,
    {},
    {
      apiVersion: 'relet.dev/v1alpha1',
      kind: 'NodeConfigSet',
      metadata: { name: 'gpu' },
      spec: {
        selector: { matchLabels: { pool: 'gpu' } },
        config: { overlay: { registryPullQPS: 7 } },
        strategy: { waves: [{ nodes: 1, approve: true }, { nodes: '100%' }], analysis: { window: '5m' } },
      },
    },
  );
  await clock.advance(700_000);

  const { status } = await client.get<NodeConfigSet>(nodeConfigSets, { name: 'gpu' });
  const [analysis] = status?.analyses ?? [];
  expect(analysis).toMatchObject({ state: 'Done', canaries: ['node-a'], controls: ['node-b', 'node-c', 'node-d'] });
  const countedOf = (name: string) => {
    const counted = new Map<string, number>();
    for (const request of sent.filter((one) => one.startsWith(`${name} | `))) {
      const what = request.slice(name.length + 3);
      if (what !== heartbeat && !isRestWatch(what)) counted.set(what, (counted.get(what) ?? 0) + 1);
    }
    return counted;
  };
  const rowsOf = (counted: Map<string, number>) => [...counted].map(([name, count]) => `${name} | ${count}`).sort();
  const [ofNode, , ofAnalysis] = documented();
  for (const control of names.slice(1)) expect(rowsOf(countedOf(control))).toEqual(ofAnalysis);
  expect(sumOf(ofAnalysis, / /)).toBeLessThanOrEqual(4);
  const canary = new Map<string, number>();
  for (const row of [...ofNode, ...ofAnalysis]) {
    const [who, request, count] = row.split(' | ');
    const name = `${who === assignment.split(' | ')[0] ? 'controller' : who} | ${request}`;
    canary.set(name, (canary.get(name) ?? 0) + Number(count));
  }
  expect(rowsOf(countedOf('node-a'))).toEqual(rowsOf(canary));
});

const assignment = '`relet set` or controller | patch nodeconfigs';

/** `agent | get configmaps`: the verb as RBAC names it. */
function nameOf(who: string, method: string, path: string): string {
  const url = new URL(path, 'https://server');
  const parts = url.pathname.replace(/^\/apis?\/(?:[^/]+\.[^/]+\/)?[^/]+\//, '').split('/');
  const [resource, name, subresource] = parts[0] === 'namespaces' ? parts.slice(2) : parts;
  const collection = url.searchParams.has('watch') ? 'watch' : 'list';
  const reads = name === undefined ? collection : 'get';
  const verb = { GET: reads, POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }[method] ?? method;
  return `${who} | ${verb} ${[resource, subresource].filter((part) => part !== undefined).join('/')}`;
}

/** Sent by the kubelet itself. */
const heartbeat = 'agent | patch nodes/status';

/** A watch of its NodeConfig is open at rest too, and opened again every 15 to 30 minutes. */
const isRestWatch = (name: string) => name === 'agent | watch nodeconfigs';

/** The rows of the tables, without their last column: of each node, of a new ConfigMap, and of an analysis. */
function documented(): [ofNode: string[], ofConfigMap: string[], ofAnalysis: string[]] {
  const page = readFileSync(join(root, 'docs/metrics.md'), 'utf8');
  const tables = page.slice(page.indexOf('## Requests of one change')).split('| by | request |');
  const rowsOf = (table = '') =>
    [...table.matchAll(/^\| ([^|]+) \| `([^`]+)` \| (\d+) \|/gm)].map(
      ([, who, request, count]) => `${who} | ${request} | ${count}`,
    );
  return [rowsOf(tables[1]), rowsOf(tables[2]), rowsOf(tables[3]).sort()];
}

const sumOf = (rows: string[], verbs: RegExp): number =>
  rows.reduce((total, row) => total + (verbs.test(row) ? Number(row.split(' | ')[2]) : 0), 0);

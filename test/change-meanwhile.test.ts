/** A command that changes nodes, on the API server in memory: what it does about answers that are lost, and about what others do meanwhile. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { NodeConfigSource } from '../src/api/config-ref.js';
import { type Claim, claimAnnotation, claimText } from '../src/api/node-annotations.js';
import { type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import { holdAnnotation } from '../src/api/node-config-set.js';
import type { ConfigMap } from '../src/api/object.js';
import { ApiError, apiError } from '../src/api/status.js';
import { type ChangeOptions, makeChanges } from '../src/cli/change/change.js';
import type { ChangeResult } from '../src/cli/change/outcome.js';
import { createPaint } from '../src/cli/terminal/terminal.js';
import { newConfigMap, sourceOf } from '../src/fleet/config-maps.js';
import { configReferences } from '../src/fleet/config-references.js';
import type { KubeClient } from '../src/kube/client.js';
import { TimeoutError } from '../src/kube/requester.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { ConnectionError, type HttpRequest, type Transport } from '../src/kube/transport.js';
import { startInMemoryServer } from './in-memory-server.js';
import { applyDeploy } from './node-config-cluster.js';

const namespace = 'relet-system';

class Rig {
  readonly lines: string[] = [];
  readonly documents: string[] = [];
  /** In place of the request that writes a reference. */
  onWrite: (send: () => ReturnType<Transport['open']>) => ReturnType<Transport['open']> = (send) => send();
  /** After the dry run, which is the last check before the first node. */
  onChecked = async (): Promise<void> => {};

  private constructor(
    readonly client: KubeClient,
    readonly clientOver: (transport: Transport) => KubeClient,
    readonly transport: Transport,
  ) {}

  static async create(): Promise<Rig> {
    const { plane, transport, clientOver } = await startInMemoryServer('change');
    const client = clientOver(transport);
    onTestFinished(async () => {
      client.close();
      await plane.close();
    });
    await applyDeploy(client);
    for (const name of ['node-1', 'node-2']) {
      await client.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
      const object = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata: { name } };
      await client.create(nodeConfigs, {}, object);
    }
    return new Rig(client, clientOver, transport);
  }

  /** `relet set NODE... maxPods=…`, as far as it is about writing. */
  async set(names: string[], options: Partial<ChangeOptions> = {}): Promise<unknown> {
    const client = this.clientOver({ ...this.transport, open: (request) => this.#open(request) });
    const references = await configReferences(client);
    const found = await Promise.all(names.map((name) => references.get(name)));
    const print = (text: string) => void this.lines.push(text);
    const terminal = {
      columns: 80,
      width: undefined,
      paint: createPaint(false),
      print,
      printDocument: (text: string) => void this.documents.push(text),
    };
    const session = {
      client,
      references,
      namespace,
      scope: {},
      terminal,
      signal: new AbortController().signal,
      leavingKeyboardAlone: <T>(work: () => Promise<T>) => work(),
    };
    const to = sourceOf(configMap, 'kubelet');
    const changes = found.map((node) => ({ node, to, configMap }));
    const all = { wait: false, timeout: 1000, maxUnavailable: '100%', output: 'json' as const, ...options };
    return makeChanges(session, 'set', changes, all).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  async #open(request: HttpRequest): ReturnType<Transport['open']> {
    const send = () => this.transport.open(request);
    if (request.method !== 'PATCH' || !request.url.pathname.includes('/nodeconfigs/')) return send();
    if (!request.url.searchParams.has('dryRun')) return this.onWrite(send);
    const answer = await send();
    await this.onChecked();
    return answer;
  }

  get result(): ChangeResult {
    return JSON.parse(this.documents.at(-1)!);
  }

  annotate(type: typeof nodes, name: string, annotations: Record<string, string>): Promise<unknown> {
    return this.client.patch(type, { name }, { metadata: { annotations } }, { as: 'merge' });
  }

  async assigned(name: string): Promise<NodeConfigSource | undefined> {
    return (await this.client.get<NodeConfig>(nodeConfigs, { name })).spec?.configSource;
  }

  async configMaps(): Promise<string[]> {
    return (await this.client.list<ConfigMap>(configMaps, { namespace })).items.map(({ metadata }) => metadata.name);
  }
}

const configMap = newConfigMap({
  name: 'kubelet-config',
  namespace,
  key: 'kubelet',
  bytes: Buffer.from('apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig:\n  maxPods: 150\n'),
});
const ours = configMap.metadata.name;

describe('after an answer that does not show whether the reference was written', () => {
  const timeout = JSON.stringify({ kind: 'Status', reason: 'Timeout', message: 'request did not complete', code: 504 });
  test.each<[string, () => Error]>([
    ['a connection that broke', () => new ConnectionError('PATCH', Object.assign(new Error(), { code: 'ECONNRESET' }))],
    ['no answer in time', () => new TimeoutError('PATCH: no answer in 30000 ms')],
    ['a 504', () => apiError(504, timeout, 'PATCH')],
    ['a 502 of a proxy', () => apiError(502, '<html>', 'PATCH')],
  ])('%s: the ConfigMap stays, and nothing says that the node was not changed', async (_name, lost) => {
    const rig = await Rig.create();
    rig.onWrite = async (send) => {
      await send();
      throw lost();
    };
    const error = await rig.set(['node-1']);
    expect(await rig.assigned('node-1')).toMatchObject({ configMap: { name: ours } });
    expect(await rig.configMaps()).toContain(ours);
    const text = `it is not known whether node-1 was assigned ${namespace}/${ours}/kubelet`;
    expect(String(error)).toContain(text);
    expect(String(error)).toContain("'relet get node-1' shows it");
    expect(rig.lines.join('\n')).not.toMatch(/not changed|deleted/);
    expect(rig.lines).toContain("node-1: not known whether it was assigned; 'relet get node-1' shows it");
    expect(rig.result).toMatchObject({
      error: expect.stringContaining(text),
      nodes: [
        { node: 'node-1', state: 'unknown', reason: 'AssignmentUnknown', message: expect.stringContaining(text) },
      ],
    });
  });

  test('with several nodes it is listed apart from those that were not changed', async () => {
    const rig = await Rig.create();
    rig.onWrite = () => Promise.reject(new TimeoutError('PATCH: no answer'));
    await rig.set(['node-1', 'node-2']);
    expect(rig.lines).toContain('Not known whether assigned (2): node-1, node-2');
  });
});

describe('a ConfigMap that was made, and no node got', () => {
  const forbidden = () => Promise.reject(new ApiError(403, 'Forbidden', 'denied by policy'));

  test('is deleted again', async () => {
    const rig = await Rig.create();
    rig.onWrite = forbidden;
    await rig.set(['node-1']);
    expect(await rig.configMaps()).not.toContain(ours);
    expect(rig.lines).toContain(`configmap/${ours} deleted: not used by any node`);
    expect(rig.result.nodes).toMatchObject([{ node: 'node-1', state: 'local', reason: 'NotChanged' }]);
  });

  test('stays where somebody else has assigned the same content meanwhile', async () => {
    const rig = await Rig.create();
    rig.onWrite = async () => {
      const spec = { configSource: sourceOf(configMap, 'kubelet') };
      await rig.client.patch(nodeConfigs, { name: 'node-2' }, { spec }, { as: 'merge' });
      return forbidden();
    };
    await rig.set(['node-1']);
    expect(await rig.configMaps()).toContain(ours);
    expect(rig.lines).toContain(`configmap/${ours} kept: it is in use by now`);
  });

  test('stays where the nodes cannot be listed, and relet gc is named', async () => {
    const rig = await Rig.create();
    rig.onWrite = forbidden;
    const { open } = rig.transport;
    rig.transport.open = (request) => (/\/nodes(\?|$)/.test(request.url.pathname) ? forbidden() : open(request));
    expect(String(await rig.set(['node-1']))).toContain('denied by policy');
    expect(await rig.configMaps()).toContain(ours);
    expect(rig.lines.join('\n').replace(/\s+/g, ' ')).toContain("'relet gc' deletes ConfigMaps that no node uses");
  });
});

describe('a node that was free when it was previewed', () => {
  const at = '2026-03-01T10:00:00Z';
  const claim: Claim = { set: 'gpu', revision: 'a', source: undefined, wave: 1, at, previous: undefined };
  const claimed = (rig: Rig) => rig.annotate(nodeConfigs, 'node-1', { [claimAnnotation]: claimText(claim) });

  test.each<[string, (rig: Rig) => Promise<unknown>, string]>([
    [
      'is not changed after a hold on its Node',
      (rig) => rig.annotate(nodes, 'node-1', { [holdAnnotation]: 'broken fan' }),
      "node-1 is held through the API: broken fan (unverified); it was not changed. 'relet release node-1' releases it",
    ],
    [
      'is not changed after a hold on its NodeConfig',
      (rig) => rig.annotate(nodeConfigs, 'node-1', { [holdAnnotation]: 'broken fan' }),
      "node-1 is held through the API: broken fan (unverified); it was not changed. 'relet release node-1' releases it",
    ],
    [
      'is not changed after a set has claimed it',
      claimed,
      'node-1 belongs to the set gpu by now; it was not changed. Change the set instead, or change the node alone with --take-from-set',
    ],
  ])('%s', async (_name, happen, message) => {
    const rig = await Rig.create();
    rig.onChecked = async () => void (await happen(rig));
    expect(String(await rig.set(['node-1']))).toContain(message);
    expect(await rig.assigned('node-1')).toBeUndefined();
    expect(rig.lines).toContain('node-1: not changed');
    expect(rig.result).toMatchObject({ error: message, nodes: [{ node: 'node-1', reason: 'NotChanged' }] });
  });

  test('is changed with --take-from-set although a set has claimed it', async () => {
    const rig = await Rig.create();
    rig.onChecked = async () => void (await claimed(rig));
    expect(await rig.set(['node-1'], { takeFromSet: true })).toBeUndefined();
    expect(await rig.assigned('node-1')).toMatchObject({ configMap: { name: ours } });
  });
});

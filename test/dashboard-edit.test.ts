/** A set that is edited in the dashboard is afterwards what the preview showed, and a change that somebody else made in between is not lost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NodeConfigSet, nodeConfigSets } from '../src/api/node-config-set.js';
import { type Draft, draftYaml, emptyDraft } from '../src/dashboard/page/sets/draft.js';
import { draftOf } from '../src/dashboard/page/sets/read-manifest.js';
import { problemOf } from '../src/dashboard/server/problem.js';
import { manifestOf } from '../src/dashboard/server/set-page.js';
import { baseIn, checkBase, writeSet } from '../src/dashboard/server/write-set.js';
import type { SetBase } from '../src/dashboard/wire.js';
import type { KubeClient } from '../src/kube/client.js';
import { startInMemoryServer } from './in-memory-server.js';
import { applyDeploy } from './node-config-cluster.js';

describe('a set in the dashboard', () => {
  let server: Awaited<ReturnType<typeof startInMemoryServer>>;
  let client: KubeClient;
  const { signal } = new AbortController();

  beforeAll(async () => {
    server = await startInMemoryServer('edit');
    client = server.clientOver(server.transport);
    await applyDeploy(client);
  });
  afterAll(() => server.plane.close());

  const read = (name: string) => client.get<NodeConfigSet>(nodeConfigSets, { name });
  const create = (name: string) =>
    client.create(
      nodeConfigSets,
      {},
      {
        apiVersion: 'relet.dev/v1alpha1',
        kind: 'NodeConfigSet',
        metadata: { name, labels: { team: 'a' } },
        spec: {
          selector: { matchLabels: { pool: 'gpu' } },
          config: { overlay: { maxPods: 150, containerLogMaxFiles: 9 } },
          expiresAfter: '2h',
          strategy: { maxUnavailable: '50%', windows: [{ days: ['Sat'], from: '22:00', to: '23:00' }] },
        },
      },
      { fieldManager: 'kubectl-create' },
    );
  /** As the button Edit does it. */
  const open = async (name: string): Promise<Draft & { base: SetBase }> => {
    const set = await read(name);
    const { uid = '', generation = 0 } = set.metadata;
    return { ...draftOf(manifestOf(set))!, base: { name, uid, generation } };
  };
  const start = ({ base, ...draft }: Draft) => writeSet({ client, signal }, { yaml: draftYaml(draft), base });
  const overlayOf = async (name: string) => (await read(name)).spec.config.overlay;
  const failureOf = (doing: Promise<unknown>) => doing.then(() => undefined, problemOf);

  test('loses the fields that were removed or set to their default, also those that kubectl wrote', async () => {
    await create('fields');
    const draft = await open('fields');
    const { output } = await start({
      ...draft,
      overlay: 'maxPods: 120\n',
      maxUnavailable: '10%',
      windows: [],
      expiresAfter: '',
    });
    expect(output).toBe('fields changed');
    const { spec, metadata } = await read('fields');
    expect(spec.config).toEqual({ overlay: { maxPods: 120 } });
    expect(spec.strategy).toMatchObject({ maxUnavailable: '10%' });
    expect([spec.strategy?.windows ?? [], spec.expiresAfter]).toEqual([[], undefined]);
    expect(metadata.labels).toEqual({ team: 'a' });
  });

  test('is not written when somebody changed its spec since it was opened, and the answer says who and what to do', async () => {
    await create('race');
    const draft = await open('race');
    await server.clock.advance(1000);
    const theirs = { spec: { config: { overlay: { maxPods: 99 } } } };
    await client.patch(nodeConfigSets, { name: 'race' }, theirs, { as: 'merge', fieldManager: 'kubectl-edit' });
    const mine = { ...draft, overlay: 'maxPods: 155\n' };
    for (const doing of [() => start(mine), () => checkBase({ client, signal }, draft.base)])
      expect(await failureOf(doing())).toMatchObject({
        status: 409,
        problem: {
          reason: 'SetChanged',
          message: expect.stringMatching(/^The set race was changed .*by kubectl-edit at .*generation 1 is 2 now/),
          remedy: expect.stringContaining('open Edit'),
        },
      });
    expect(await overlayOf('race')).toMatchObject({ maxPods: 99 });
  });

  test('is written although the controller has updated its status meanwhile', async () => {
    await create('status');
    const draft = await open('status');
    const status = { observedGeneration: 1 };
    await client.patch(nodeConfigSets, { name: 'status', subresource: 'status' }, { status }, { as: 'merge' });
    await start({ ...draft, overlay: 'maxPods: 155\n' });
    expect(await overlayOf('status')).toEqual({ maxPods: 155 });
  });

  test('is not created again when it was deleted since, and another one of its name is not changed', async () => {
    await create('gone');
    const draft = await open('gone');
    await client.delete(nodeConfigSets, { name: 'gone' });
    const deleted = { status: 409, problem: { reason: 'SetChanged', message: expect.stringContaining('was deleted') } };
    expect(await failureOf(start(draft))).toMatchObject(deleted);
    await create('gone');
    expect(await failureOf(start({ ...draft, overlay: 'maxPods: 1\n' }))).toMatchObject(deleted);
    expect(await overlayOf('gone')).toMatchObject({ maxPods: 150 });
  });

  test('is created when it is new, and does not replace one of the same name', async () => {
    const draft = { ...emptyDraft, name: 'new', selector: 'pool=gpu', overlay: 'maxPods: 150\n' };
    expect(await start(draft)).toMatchObject({ command: 'kubectl create -f new.yaml', output: 'new created' });
    expect(await failureOf(start({ ...draft, overlay: 'maxPods: 1\n' }))).toMatchObject({
      status: 409,
      problem: { reason: 'AlreadyExists', remedy: expect.stringContaining('open Edit on its page') },
    });
    expect(await overlayOf('new')).toEqual({ maxPods: 150 });
  });

  test('with a spec that is not valid is rejected with the reason of the API server', async () => {
    await create('invalid');
    const draft = await open('invalid');
    const failure = await failureOf(start({ ...draft, others: { spec: { updateNodes: 'Some' }, strategy: {} } }));
    expect(failure).toMatchObject({ status: 422, problem: { message: expect.stringContaining('updateNodes') } });
  });

  test.each([{}, 'x', { name: 'a', uid: 'u' }, { name: '../a', uid: 'u', generation: 1 }])(
    '%j is not accepted as what was edited',
    (base) => {
      expect(() => baseIn({ base })).toThrow(/base|name/);
    },
  );
});

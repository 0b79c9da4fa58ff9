/** The step to take for one node: create its NodeConfig, update its conditions, or nothing. */
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../test/manual-clock.js';
import type { NodeConfig } from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { silentLog } from '../log.js';
import type { GrantFacts } from './grant-plan.js';
import { NodeConfigReconciler, type ObservedNode, planNode } from './node-configs.js';

const node = (spec: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'a', uid: 'u' },
  spec,
});
const facts: GrantFacts = {
  namespaces: ['relet-system'],
  isLabelled: () => true,
  isGranted: (_, node) => node === 'a',
  nodeAbsentMs: () => undefined,
};
const observed = (seen: Partial<ObservedNode>): ObservedNode => ({
  node: node(),
  object: undefined,
  facts,
  guards: { inForce: 'roles', problems: [] },
  now: '2026-01-01T00:00:00Z',
  ...seen,
});
const configMap = { namespace: 'relet-system', name: 'one', kubeletConfigKey: 'kubelet' };
const assigned: NodeConfig = {
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfig',
  metadata: { name: 'a' },
  spec: { configSource: { configMap } },
};

describe('reconciling a node', () => {
  test('a Node without a NodeConfig gets one that it owns and that is unset', () => {
    expect(planNode(observed({}))).toMatchObject({
      kind: 'create',
      object: {
        metadata: {
          name: 'a',
          ownerReferences: [{ kind: 'Node', name: 'a', uid: 'u' }],
          annotations: { 'relet.dev/unset': 'true', 'relet.dev/undecided': 'true' },
        },
        spec: {},
      },
    });
  });

  test('the configSource of a Node is carried over, without its uid and version', () => {
    const plan = planNode(observed({ node: node({ configSource: { configMap: { ...configMap, uid: 'x' } } }) }));
    expect(plan.kind === 'create' && plan.object.spec).toEqual({ configSource: { configMap } });
    expect(plan.kind === 'create' && plan.object.metadata.annotations).toBeUndefined();
  });

  test('a NodeConfig without a Node gets conditions; without both there is nothing to do', () => {
    expect(planNode(observed({ node: undefined, object: assigned })).kind).toBe('update-status');
    expect(planNode(observed({ node: undefined }))).toEqual({ kind: 'none' });
  });

  test('conditions are written once, and again when guards change', () => {
    const plan = planNode(observed({ object: assigned }));
    const object = plan.kind === 'update-status' ? plan.object : undefined;
    expect(object?.status?.conditions?.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['Granted', 'True', 'RoleBinding'],
      ['Guarded', 'True', 'PerNodeRoles'],
    ]);
    const later = { object, now: '2026-01-01T01:00:00Z' };
    expect(planNode(observed(later))).toEqual({ kind: 'none' });
    expect(planNode(observed({ ...later, guards: { inForce: 'nothing', problems: ['p'] } })).kind).toBe(
      'update-status',
    );
  });

  test('before the guards were checked nothing is reported about them', () => {
    const plan = planNode(observed({ object: assigned, guards: undefined }));
    expect(plan.kind === 'update-status' && plan.object.status?.conditions?.map(({ type }) => type)).toEqual([
      'Granted',
    ]);
  });
});

describe('an agent that is not there', () => {
  const reported = (status: NodeConfig['status'] = {}): NodeConfig => ({
    ...assigned,
    status: { config: {}, lease: { renewTime: '2026-01-01T00:00:00Z', durationSeconds: 600 }, ...status },
  });

  function setUp(object: NodeConfig) {
    const clock = new ManualClock();
    const server = { object, answersSinceMs: 0, writes: 0 };
    const view = { nodes: { get: () => node() }, nodeConfigs: { get: () => server.object } };
    const client = {
      clock,
      answersSinceMs: () => server.answersSinceMs,
      patch: async (_type: unknown, _place: unknown, patch: { status: NodeConfig['status'] }) => {
        server.writes++;
        server.object = { ...server.object, status: { ...server.object.status, ...patch.status } };
      },
    };
    const reconciler = new NodeConfigReconciler({
      client: client as never,
      view: view as never,
      facts,
      guards: () => undefined,
      counters: { nodeConfigsCreated: 0 },
      log: silentLog,
      signal: new AbortController().signal,
    });
    const missing = async () => {
      const result = await reconciler.reconcile('a');
      const { conditions = [] } = server.object.status ?? {};
      const found = conditions.find(({ type }) => type === 'AgentMissing');
      return { reason: found?.status === 'True' ? found.reason : undefined, result };
    };
    const renew = (renewTime: string) => {
      server.object = {
        ...server.object,
        status: { ...server.object.status, lease: { renewTime, durationSeconds: 600 } },
      };
    };
    return { clock, server, missing, renew };
  }

  test('is reported from the beginning where nothing ever reported, and no longer when a report is there', async () => {
    const { server, missing } = setUp(assigned);
    expect((await missing()).reason).toBe('NoAgent');
    // As an agent of an earlier relet leaves it.
    server.object = { ...server.object, status: { ...server.object.status, config: {} } };
    expect((await missing()).reason).toBeUndefined();
  });

  test('is silent when its lease was not renewed for as long as it lasts, and the reconciler looks again at that time', async () => {
    const { clock, missing, renew } = setUp(reported());
    expect(await missing()).toEqual({ reason: undefined, result: { kind: 'requeue', afterMs: 601_000 } });
    await clock.advance(300_000);
    renew('2026-01-01T00:05:00Z');
    expect((await missing()).reason).toBeUndefined();
    await clock.advance(599_000);
    expect((await missing()).reason).toBeUndefined();
    await clock.advance(2000);
    expect(await missing()).toEqual({ reason: 'Silent', result: { kind: 'done' } });
  });

  test('is not called silent because of an outage of the API server, in which it could not renew', async () => {
    const { clock, server, missing } = setUp(reported());
    await missing();
    await clock.advance(3_600_000);
    server.answersSinceMs = clock.monotonic() - 5000;
    expect((await missing()).reason).toBeUndefined();
    await clock.advance(600_000);
    expect((await missing()).reason).toBe('Silent');
  });

  test('is not called silent because the clock of its host is an hour behind', async () => {
    const { clock, missing, renew } = setUp(
      reported({ lease: { renewTime: '2025-12-31T23:00:00Z', durationSeconds: 600 } }),
    );
    for (let minutes = 0; minutes < 30; minutes += 5) {
      renew(`2025-12-31T23:${String(minutes).padStart(2, '0')}:00Z`);
      expect((await missing()).reason).toBeUndefined();
      await clock.advance(300_000);
    }
  });

  test('stays silent for the next leader, until it renews', async () => {
    const condition = {
      type: 'AgentMissing',
      status: 'True',
      reason: 'Silent',
      message: '',
      lastTransitionTime: '',
    } as const;
    const { missing } = setUp(reported({ conditions: [condition] }));
    expect((await missing()).reason).toBe('Silent');
  });
});

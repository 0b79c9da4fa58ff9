/** plan(): which nodes come next, and the sentence that says why no other does. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  batchOf,
  claim,
  desired,
  minute,
  anySetNode as node,
  nowMs,
  planned,
  started,
  withOld,
} from '../../test/rig/planned-set.js';
import { parseRef } from '../api/config-ref.js';
import { type Claim, claimAnnotation, claimText } from '../api/node-annotations.js';
import type { NodeCondition } from '../api/node-condition.js';
import type { NodeConfig } from '../api/node-config.js';
import { mostInBatch } from '../api/node-config-set.js';
import { rfc3339 } from '../clock.js';
import { type SetNode, setNode } from './members.js';
import type { Plan } from './plan.js';
import { selfSetLabels, shareOf } from './spec.js';
import type { SetState } from './state.js';

const names = (count: number) => Array.from({ length: count }, (_, index) => `node-${String(index).padStart(4, '0')}`);
const all = [{ nodes: '100%' }];

describe('a node whose kubelet rejected pods that ran', () => {
  const assigned = claim();
  const reported = (rejectedPods: unknown, at = assigned.at) =>
    setNode({
      set: 'gpu',
      node: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } },
      object: {
        apiVersion: 'relet.dev/v1alpha1',
        kind: 'NodeConfig',
        metadata: { name: 'a', annotations: { [claimAnnotation]: claimText({ ...assigned, at }) } },
        spec: { configSource: { configMap: { namespace: 'n', name: 'new-1', kubeletConfigKey: 'k' } } },
        status: JSON.parse(JSON.stringify({ rejectedPods })),
      },
      olderSets: [],
    });
  const since = rfc3339(nowMs);
  const names = ['shop/web-1', 'shop/\u001b[2J', 'shop/web-3'];

  test('has failed, and no further node is changed', () => {
    const found = planned([{ ...reported({ since, count: 4, names }), isReady: true }, node('b')], { waves: all });
    expect(found.progress).toMatchObject({ condition: 'Stalled', kind: 'halted' });
    expect(found.waiting).toContain(
      '4 pods that ran were rejected by the restarted kubelet: shop/web-1, shop/\\u001b[2J, shop/web-3, …',
    );
    expect(found.survey.failed[0]?.failure.reason).toBe('PodsRejected');
    expect(batchOf(found)).toBeUndefined();
  });

  test('gets the same revision again by a retry, and has then not failed for the earlier start', () => {
    expect(reported({ since, count: 1 }, rfc3339(nowMs + 5 * minute)).harm).toBeUndefined();
    expect(reported({ since, count: 1 }, rfc3339(nowMs + minute / 2)).harm).toBeDefined();
  });

  test.each([
    undefined,
    null,
    7,
    'many',
    {},
    { since, count: 0 },
    { since, count: -1 },
    { since, count: '4' },
    { since, count: null },
    { since: 'never', count: 1 },
    { since: 12, count: 1 },
  ])('has not failed by a report of %j', (value) => expect(reported(value).harm).toBeUndefined());

  test('has failed, in a bounded sentence, by a huge count with names of any kind and length', () => {
    const harm = reported({ since, count: 1e308, names: [{}, 5, 'x'.repeat(100_000)] }).harm;
    expect(harm?.message.length).toBeLessThanOrEqual(301);
    expect(reported({ since, count: 2, names: 'shop/web' }).harm?.message).toMatch(/^2 pods .* kubelet$/);
  });
});

describe('a node that failed', () => {
  const failed = node('node-0000', { state: 'rolled back', claim: claim() });
  const others = names(3)
    .slice(1)
    .map((name) => node(name));
  const first = () => planned([failed, ...others], { waves: all });
  const later = (nodes: SetNode[], state = first().state) => planned(nodes, { waves: all }, { state });
  const reason = ({ progress }: Plan) => `${progress.condition} ${progress.kind}`;

  test('halts the rollout', () => {
    expect(reason(first())).toBe('Stalled halted');
    expect(first().state.revisions?.[0]?.failedNodes).toEqual(['node-0000']);
  });

  test.each([
    ['that a person repairs by another config', [node('node-0000', { state: 'active' }), ...others]],
    ['that is removed from the cluster', others],
  ])('%s does not let the rollout continue to the others', (_name, nodes) => {
    const plan = later(nodes);
    expect([reason(plan), batchOf(plan)]).toEqual(['Stalled halted', undefined]);
    expect(plan.waiting).toContain('1 failed, 0 allowed: node-0000 (taken from the set or removed since)');
    expect(reason(later(nodes, plan.state))).toBe('Stalled halted');
  });

  test('and runs the revision after all lets it continue', () => {
    const plan = later([node('node-0000', { state: 'active', claim: claim() }), ...others]);
    expect(batchOf(plan)).toBeDefined();
    expect(plan.state.revisions?.[0]?.failedNodes).toBeUndefined();
  });

  test('is forgotten by a retry', () => {
    const request = { action: 'Retry' as const, revision: 'new', by: 'ann', at: rfc3339(nowMs) };
    const plan = later(others, { ...first().state, rollout: { request } });
    expect(batchOf(plan)).toBeDefined();
  });
});

describe('a set of which no node can be changed', () => {
  const blocked = { reason: 'Held', message: 'held on its host' };
  const all8 = names(8).map((name) => node(name, { blocked }));

  test('waits with a reason of its own and the first node, and has no wave that is rolling', () => {
    const plan = planned(all8, { waves: all });
    expect(plan.progress).toMatchObject({ condition: 'Reconciling', kind: 'nothing' });
    expect(plan.waiting).toBe('all 8 nodes excluded: node-0000 (held on its host) and others');
    expect(plan.state.waves).toBeUndefined();
    expect(plan.state.currentRevision).toBeUndefined();
  });

  test('keeps the waves that have begun', () => {
    const waves = [{ wave: 1, nodes: 1, assigned: 1, updated: 1, failed: 0, state: 'Done' as const, endedAt: '' }];
    const plan = planned(all8, { waves: [{ nodes: 1 }, { nodes: '100%' }] }, { state: { ...started, waves } });
    expect(plan.state.waves?.[0]).toMatchObject({ wave: 1, state: 'Done' });
  });

  test('without a selected node it has no waves either', () => {
    const plan = planned([], { waves: all });
    expect([plan.progress.kind, plan.state.waves]).toEqual(['noNodes', undefined]);
  });
});

describe('a node whose agent is silent', () => {
  const silent = node('node-0001', { isSilent: true });

  test('is left out and named, as one that is not Ready, and does not fail the rollout', () => {
    const plan = planned([node('node-0000'), silent], { waves: all });
    expect(batchOf(plan)).toEqual(['node-0000']);
    expect(plan.survey.excluded).toEqual([
      { node: silent, exclusion: { reason: 'Silent', message: 'its agent does not renew its lease' } },
    ]);
    expect(plan.survey.failed).toEqual([]);
  });

  test('still goes back when a revision that it has is undone', () => {
    const request = { action: 'Undo' as const, revision: 'new', by: 'ann', at: rfc3339(nowMs) };
    const having = node('node-0001', { isSilent: true, state: 'active', claim: claim() });
    expect(batchOf(planned([having], {}, { state: { ...started, rollout: { request } } }))).toEqual(['node-0001']);
  });

  test('is known from the condition that the controller writes', () => {
    const condition = (reason: string) => ({
      type: 'AgentMissing',
      status: 'True' as const,
      reason,
      message: '',
      lastTransitionTime: '',
    });
    const read = (reason: string) => {
      const object: NodeConfig = {
        apiVersion: 'relet.dev/v1alpha1',
        kind: 'NodeConfig',
        metadata: { name: 'a' },
        status: { config: {}, conditions: [condition(reason)] },
      };
      const cluster = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } };
      return setNode({ set: 'gpu', node: cluster, object, olderSets: [] }).isSilent;
    };
    expect([read('Silent'), read('AgentReports')]).toEqual([true, undefined]);
  });
});

describe('shares', () => {
  test.each([
    ['10%', 38, 'budget', 3],
    ['10%', 9, 'budget', 1],
    ['0%', 100, 'budget', 0],
    [0, 100, 'budget', 0],
    ['10%', 9, 'down', 0],
    ['5%', 38, 'up', 2],
    ['100%', 7, 'up', 7],
    [3, 2, 'up', 3],
  ] as const)('%s of %i nodes as %s is %i', (share, total, rounding, expected) => {
    expect(shareOf(share, total, rounding)).toBe(expected);
  });
});

test('the arithmetic of the comment: 40 nodes, 2 NotReady, one on trial in wave 3', () => {
  const waves = [{ nodes: 1 }, { nodes: '5%' }, { nodes: '25%' }, { nodes: '100%' }];
  const nodes = names(40).map((name, index) => {
    if (index < 2) return node(name, { state: 'active', claim: claim({ wave: index + 1 }) });
    if (index === 2) return node(name, { state: 'trial', claim: claim({ wave: 3 }) });
    return index >= 38 ? node(name, { isReady: false, notReadySinceMs: nowMs - 4 * minute }) : node(name);
  });
  const found = planned(nodes, { waves, maxUnavailable: '10%', maxInTrial: '25%' });
  expect(found.waves.waves.map((one) => one.nodes)).toEqual([1, 2, 10, 38]);
  expect(found.survey.allowed).toEqual({ unavailable: 3, inTrial: 9, failed: 0 });
  expect(batchOf(found)).toEqual(['node-0003']);
  expect(found.state.intent).toMatchObject({ revision: 'new', wave: 3 });
});

describe('the reason in a sentence', () => {
  const waiting = { state: 'waiting', claim: claim() } as const;
  test.each<[string, string, () => Plan]>([
    [
      'nodes that use up maxUnavailable are named, with why',
      '3 of 3 allowed unavailable: node-17 NotReady for 4m, node-3 and node-9 not yet active',
      () =>
        planned(
          [
            node('node-17', { isReady: false, notReadySinceMs: nowMs - 4 * minute }),
            node('node-3', waiting),
            node('node-9', waiting),
            node('node-a'),
          ],
          { waves: all, maxUnavailable: 3 },
        ),
    ],
    [
      'nodes that use up maxInTrial are named',
      '2 of 2 allowed in trial: a and b',
      () =>
        planned(
          ['a', 'b', 'c'].map((name) => node(name, name === 'c' ? {} : { state: 'trial', claim: claim() })),
          { waves: all, maxInTrial: 2 },
        ),
    ],
    ['0 stops', 'maxUnavailable is 0, which stops the rollout', () => planned([node('a')], { maxUnavailable: 0 })],
    [
      'a node that failed, with its error',
      "1 failed, 0 allowed: a (it crashed). Correct the config in the spec, or 'relet rollout retry|undo|abort gpu'",
      () =>
        planned([
          node('a', { state: 'rolled back', claim: claim(), failure: { reason: 'CrashLoop', message: 'it crashed' } }),
          node('b'),
        ]),
    ],
    [
      'a node that is silent at the deadline has failed',
      `1 failed, 0 allowed: a (no result since it was assigned at ${rfc3339(nowMs - 16 * minute)}). Correct the config in the spec, or 'relet rollout retry|undo|abort gpu'`,
      () =>
        planned(
          [node('a', { state: 'waiting', claim: claim({ at: rfc3339(nowMs - 16 * minute) }) }), node('b')],
          {},
          {
            state: { ...started, revisions: [{ ...started.revisions![0]!, startedAt: rfc3339(0) }] },
          },
        ),
    ],
    [
      'a closed window',
      'the next window opens at 2026-06-05T22:00:00Z',
      () => planned([node('a')], { windows: [{ from: '22:00', to: '04:00' }] }),
    ],
    [
      'a wave that waits for its nodes',
      'wave 1: a in trial',
      () =>
        planned([node('a', { state: 'trial', claim: claim() }), node('b')], {
          waves: [{ nodes: 1 }, { nodes: '100%' }],
        }),
    ],
    [
      'a wave that waits for a correction of what failed',
      'wave 1: a not yet active',
      () =>
        planned([node('a', { state: 'waiting', claim: claim({ exempt: true }) }), node('b')], {
          waves: [{ nodes: 1 }, { nodes: '100%' }],
        }),
    ],
    [
      'all nodes are excluded',
      'all 2 nodes excluded: a (held) and others',
      () => planned(['a', 'b'].map((name) => node(name, { blocked: { reason: 'Held', message: 'held' } }))),
    ],
  ])('%s', (_, sentence, plan) => {
    const found = plan();
    expect(found.waiting).toBe(sentence);
    expect(batchOf(found)).toBeUndefined();
  });
});

describe('who comes first', () => {
  test('what failed alone, and without budget', () => {
    const broken = { state: 'rolled back', claim: claim({ revision: 'bad' }) } as const;
    const nodes = [node('a'), node('b', { isReady: false }), node('c', broken), node('d', broken)];
    const found = planned(nodes, { waves: [{ nodes: 1 }], maxUnavailable: 1 });
    expect(found.state.intent).toMatchObject({ names: ['c', 'd'], exempt: ['c', 'd'], wave: 1 });
  });

  test('nodes of one zone before those of the next, and control-plane nodes last, one at a time', () => {
    const zone = (value: string) => ({ labels: { zone: value } });
    const nodes = [
      node('a', zone('2')),
      node('b', zone('1')),
      node('c', { ...zone('1'), isControlPlane: true }),
      node('d', { ...zone('1'), isControlPlane: true }),
    ];
    const found = planned(nodes, { waves: all, order: ['zone'], maxUnavailable: 4, maxInTrial: 4 });
    expect(batchOf(found)).toEqual(['b', 'a', 'c']);
  });

  test('with updateNodes New only nodes that joined since, with Selected only those with the label', () => {
    const nodes = [node('old'), node('new', { createdAtMs: nowMs }), node('picked', { isPicked: true })];
    const spec = (updateNodes: string) => ({ spec: { updateNodes } });
    expect(batchOf(planned(nodes, { waves: all }, spec('New')))).toEqual(['new']);
    expect(batchOf(planned(nodes, { waves: all }, spec('Selected')))).toEqual(['picked']);
  });

  test('a node that joins gets the current revision, also in a closed window', () => {
    const windows = [{ from: '22:00', to: '04:00' }];
    const nodes = [node('a', { state: 'active', claim: claim({ revision: 'old' }) }), node('joined')];
    const found = planned(nodes, { windows, maxUnavailable: 5 }, { state: withOld });
    expect(found.state.intent).toMatchObject({
      revision: 'old',
      source: parseRef('n/old/k'),
      wave: 0,
      names: ['joined'],
    });
  });
});

describe('a node that had settled long ago', () => {
  const longAgo = rfc3339(nowMs - 3 * 24 * 60 * minute);
  const state: SetState = {
    ...withOld,
    revisions: withOld.revisions!.map((one) => ({ ...one, startedAt: longAgo })),
  };

  /** As it reports itself: merged again after its local file changed, or crashed once. */
  function reported(name: string, kind: 'on trial again' | 'crashed', more: Partial<Claim> = {}): SetNode {
    const own = claim({ revision: 'old', source: parseRef('n/old/k'), at: longAgo, ...more });
    const assigned = own.source!;
    const exact = (mergedDigest: string) => ({
      configMap: { ...assigned, uid: 'u', resourceVersion: '1', mergedDigest },
    });
    const isCrash = kind === 'crashed';
    const condition = (type: string, status: 'True' | 'False', reason: string) => {
      const isNow = type === (isCrash ? 'ConfigOK' : 'OnTrial');
      return { type, status, reason, message: '', lastTransitionTime: isNow ? rfc3339(nowMs - minute) : longAgo };
    };
    const object: NodeConfig = {
      apiVersion: 'relet.dev/v1alpha1',
      kind: 'NodeConfig',
      metadata: { name, generation: 2, annotations: { [claimAnnotation]: claimText(own) } },
      spec: { configSource: { configMap: assigned } },
      status: {
        observedGeneration: 2,
        config: {
          assigned: exact('after'),
          active: exact('after'),
          lastKnownGood: exact(isCrash ? 'after' : 'before'),
          ...(isCrash && { error: 'the kubelet crashed' }),
        },
        conditions: [
          isCrash ? condition('ConfigOK', 'False', 'KubeletCrashed') : condition('ConfigOK', 'True', 'ConfigActive'),
          condition('OnTrial', isCrash ? 'False' : 'True', isCrash ? 'NoTrial' : 'TrialRunning'),
        ],
      },
    };
    const ready = { type: 'Ready', status: 'True' } as NodeCondition;
    const cluster = { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { conditions: [ready] } };
    return setNode({ set: 'gpu', node: cluster, object, olderSets: [] });
  }

  test('and is on trial again gets no new config past its window, approval and budgets', () => {
    const done = node('canary', { state: 'active', claim: claim() });
    const others = ['b', 'c', 'd'].map((name) => reported(name, 'on trial again'));
    expect(others[0]!.state).toBe('trial');
    const strategy = { waves: [{ nodes: 1, approve: true }], maxUnavailable: 1, maxInTrial: 1 };
    expect(batchOf(planned([done, ...others], strategy, { state }))).toBeUndefined();
  });

  test.each(['on trial again', 'crashed'] as const)('and is %s has not failed', (kind) => {
    const canary = reported('canary', kind, { revision: 'new', source: parseRef('n/new-1/k') });
    const found = planned([canary, node('b')], { waves: [{ nodes: 1 }], onFailure: 'Rollback' }, { state });
    expect(found.survey.failed).toEqual([]);
    expect(found.state.rejectedRevision).toBeUndefined();
    const later = { state, nowMs: nowMs + 2 * 24 * 60 * minute };
    const [failed] = planned([canary], { waves: all }, later).survey.failed;
    expect(failed?.failure.message).toBe(`no result since ${rfc3339(nowMs - minute)}`);
  });

  test('and reports a crash of next year has failed', () => {
    const canary = reported('canary', 'crashed', { revision: 'new', source: parseRef('n/new-1/k') });
    canary.unsettledSinceMs = nowMs + 365 * 24 * 60 * minute;
    expect(planned([canary], {}, { state }).survey.failed).toHaveLength(1);
  });
});

describe('a rollback', () => {
  const back: SetState = { ...withOld, rejectedRevision: 'new', rollingBack: true };

  test('reaches nodes that are NotReady, also where more are than may be unavailable', () => {
    const nodes = names(6).map((name, index) => node(name, { state: 'active', claim: claim(), isReady: index > 2 }));
    expect(batchOf(planned(nodes, { maxUnavailable: 2 }, { state: back }))).toEqual(names(3));
  });

  test('returns to the revision before one that was to expire', () => {
    const revision = (name: string, outcome?: 'Complete') => ({
      revision: name,
      source: parseRef(`n/${name}/k`),
      startedAt: rfc3339(nowMs - minute),
      ...(outcome && { outcome }),
    });
    const other = { ...desired, revision: 'newest', source: () => parseRef('n/newest/k')! };
    const temporary: SetState = { ...withOld, revisions: [revision('new', 'Complete'), withOld.revisions![1]!] };
    const replaced = planned([node('a')], {}, { state: temporary, desired: other });
    const done = node('a', { state: 'active', claim: claim({ revision: 'newest', source: parseRef('n/newest/k') }) });
    const complete = planned([done], {}, { state: replaced.state, desired: other });
    expect(complete.state.currentRevision).toBe('newest');
    const request = { action: 'Undo' as const, revision: 'newest', by: 'ann', at: rfc3339(nowMs) };
    const undone = planned([done], {}, { state: { ...complete.state, rollout: { request } }, desired: other });
    expect(undone.state.intent).toMatchObject({ revision: 'old', names: ['a'] });
  });
});

test('what was approved is asked for again when the same config comes back', () => {
  const approve = { revision: 'new', wave: 1, by: 'ann', at: rfc3339(nowMs - 60 * minute) };
  const { revisions, ...rest } = withOld;
  const state: SetState = {
    ...rest,
    updateRevision: 'old',
    rollout: { approve },
    revisions: [revisions![1]!, { ...revisions![0]!, outcome: 'Superseded' }],
  };
  const strategy = { waves: [{ nodes: 1, approve: true }], maxUnavailable: 3, maxInTrial: 3 };
  const old = (name: string) =>
    node(name, { state: 'active', claim: claim({ revision: 'old', source: parseRef('n/old/k') }) });
  const first = planned([old('a'), old('b')], strategy, { state });
  const done = node('a', {
    state: 'active',
    claim: claim({ source: parseRef('n/new-2/k'), at: first.state.intent!.at }),
  });
  expect(planned([done, old('b')], strategy, { state: first.state }).progress.kind).toBe('approval');
});

test('a retry with updateNodes New reaches the nodes that failed', () => {
  const failed = node('a', { createdAtMs: nowMs - 5 * minute, state: 'rolled back', claim: claim() });
  const request = { action: 'Retry' as const, revision: 'new', by: 'ann', at: rfc3339(nowMs) };
  const state: SetState = { ...started, rollout: { request } };
  expect(batchOf(planned([failed, node('old')], {}, { state, spec: { updateNodes: 'New' } }))).toEqual(['a']);
});

describe('expiry', () => {
  const rolled = [node('a', { state: 'active', claim: claim() }), node('b', { state: 'trial', claim: claim() })];

  test('takes the revision back, windows or not', () => {
    const found = planned(
      rolled,
      { windows: [{ from: '22:00', to: '04:00' }] },
      { state: withOld, spec: { expiresAfter: '5m' } },
    );
    expect(found.state).toMatchObject({ rejectedRevision: 'new', rollingBack: true, currentRevision: 'old' });
    expect(found.state.intent).toMatchObject({ revision: 'old' });
  });

  test('a revision that expires never becomes the current one', () => {
    const done = rolled.map((one) => ({ ...one, state: 'active' as const }));
    const found = planned(done, {}, { state: withOld, spec: { expiresAfter: '1h' } });
    expect(found.progress).toMatchObject({ condition: 'Ready', kind: 'complete' });
    expect(found.state.currentRevision).toBe('old');
  });
});

test('without a current revision a rollback gives each node what it had', () => {
  const state: SetState = { ...started, rejectedRevision: 'new', rollingBack: true };
  const found = planned([node('a', { state: 'active', claim: claim() })], {}, { state });
  expect(found.state.intent).toMatchObject({ revision: 'previous', source: 'previous', names: ['a'] });
});

test('a problem with the config stops the rollout, and not a rollback', () => {
  const problem = { kind: 'impact', message: 'why' } as const;
  expect(planned([node('a')], {}, { problem }).progress).toEqual({
    condition: 'Stalled',
    kind: 'impact',
    message: 'why',
  });
  const state: SetState = { ...started, rejectedRevision: 'new', rollingBack: true };
  expect(batchOf(planned([node('a', { state: 'active', claim: claim() })], {}, { problem, state }))).toEqual(['a']);
});

test('a wave whose canary failed is not over', () => {
  const failed = node('a', { state: 'rejected', claim: claim() });
  expect(planned([failed, node('b'), node('c')]).waves.present).toMatchObject({ wave: 1, state: 'Rolling' });
});

test('node-9 comes before node-10, in batches and in sentences', () => {
  const nodes = ['node-10', 'node-9', 'node-1'].map((name) => node(name));
  expect(batchOf(planned(nodes, { waves: all, maxUnavailable: '100%', maxInTrial: '100%' }))).toEqual([
    'node-1',
    'node-9',
    'node-10',
  ]);
});

describe('a wave without nodes', () => {
  // 10% of 8 nodes are 1, which the first wave has.
  const waves = [{ nodes: 1 }, { nodes: '10%', soak: '10m', approve: true }, { nodes: '100%' }];
  const canary = node('node-0000', { state: 'active', claim: claim() });
  const nodes = [
    canary,
    ...names(8)
      .slice(1)
      .map((name) => node(name)),
  ];

  test('neither soaks nor waits for approval', () => {
    const { waves: found, state } = planned(nodes, { waves, maxUnavailable: '100%', maxInTrial: '100%' });
    expect(found.waves.map((one) => one.state)).toEqual(['Done', 'Done', 'Rolling']);
    expect([state.intent?.wave, state.intent?.names.length]).toEqual([3, 7]);
  });

  test('whose nodes were removed while it waited for approval still waits', () => {
    const ended = { wave: 2, nodes: 2, assigned: 1, updated: 1, failed: 0, endedAt: rfc3339(nowMs - 20 * minute) };
    const state: SetState = { ...started, waves: [{ ...ended, state: 'AwaitingApproval' }] };
    expect(planned(nodes, { waves }, { state }).progress.kind).toBe('approval');
  });
});

test('labels that a kubelet may set on itself are found in a selector', () => {
  const matchLabels = {
    pool: 'gpu',
    'node-role.kubernetes.io/worker': '',
    'node-restriction.kubernetes.io/pool': 'gpu',
  };
  const matchExpressions = [{ key: 'topology.kubernetes.io/zone', operator: 'Exists' as const }];
  expect(selfSetLabels({ matchLabels, matchExpressions })).toEqual(['pool', 'topology.kubernetes.io/zone']);
});

test('whatever the nodes are, a batch fits into both budgets, has at most 100 nodes, and no control-plane node beside another', () => {
  const anyNode = fc.record({
    isReady: fc.boolean(),
    isCordoned: fc.boolean(),
    isControlPlane: fc.boolean(),
    state: fc.constantFrom<SetNode['state']>('local', 'waiting', 'trial', 'active', 'rejected', 'rolled back'),
    claimed: fc.constantFrom(undefined, 'old', 'new'),
  });
  const share = fc.oneof(
    fc.nat(300),
    fc.nat(100).map((percent) => `${percent}%`),
  );
  fc.assert(
    fc.property(
      fc.array(anyNode, { maxLength: 400 }),
      share,
      share,
      share,
      (kinds, maxUnavailable, maxInTrial, maxFailed) => {
        const nodes = kinds.map(({ claimed, ...kind }, index) =>
          node(`n${index}`, { ...kind, ...(claimed && { claim: claim({ revision: claimed }) }) }),
        );
        const { state, survey } = planned(nodes, { waves: all, maxUnavailable, maxInTrial, maxFailed });
        const { names = [], exempt = [] } = state.intent ?? {};
        const away = new Set(survey.unavailable.map((one) => one.node.name));
        const tried = new Set(survey.inTrial.map((one) => one.name));
        const paid = names.filter((name) => !exempt.includes(name));
        expect(names.length).toBeLessThanOrEqual(mostInBatch);
        if (paid.length === 0) return;
        const [newAway, newTried] = [paid.filter((name) => !away.has(name)), paid.filter((name) => !tried.has(name))];
        if (newAway.length > 0) expect(away.size + newAway.length).toBeLessThanOrEqual(survey.allowed.unavailable);
        if (newTried.length > 0) expect(tried.size + newTried.length).toBeLessThanOrEqual(survey.allowed.inTrial);
        const fresh = newAway.filter(
          (name) => newTried.includes(name) && nodes.find((one) => one.name === name)!.isControlPlane,
        );
        expect(fresh.length).toBeLessThanOrEqual(1);
      },
    ),
    { numRuns: 300 },
  );
});

describe('plan: nodes to which the config cannot be rolled out', () => {
  const refused = (revision = 'new') => ({
    kind: 'invalidConfig' as const,
    revision,
    reason: 'InvalidHere',
    message: 'unrecognized feature gate: NoSuchGate',
  });
  const done = (name: string) => node(name, { claim: claim(), state: 'active' });

  test('one such node is excluded, and the others get the config', () => {
    const [bad, ...good] = names(3);
    const result = planned([node(bad!, { refused: refused() }), ...good.map((name) => node(name))], {
      waves: all,
      maxUnavailable: '100%',
      maxInTrial: '100%',
    });
    expect(batchOf(result)).toEqual(good);
    expect(result.survey.excluded).toMatchObject([
      { exclusion: { reason: 'InvalidHere', message: 'unrecognized feature gate: NoSuchGate' } },
    ]);
  });

  test('a set is complete when all others are, and its message names the node', () => {
    const result = planned([node('bad', { refused: refused() }), done('a')], { waves: all });
    expect(result.progress).toEqual({
      condition: 'Ready',
      kind: 'complete',
      message: '1 node does not get the config: bad (unrecognized feature gate: NoSuchGate)',
    });
  });

  test('a set is not complete where more nodes are left out than have the config', () => {
    const result = planned([...names(2).map((name) => node(name, { refused: refused() })), done('a')], { waves: all });
    expect(result.progress).toMatchObject({ condition: 'Stalled', kind: 'invalidConfig' });
  });

  test('such a node still gets the current revision when it joins, and goes back with the others', () => {
    const joining = node('bad', { refused: refused() });
    expect(batchOf(planned([joining], { waves: all }, { state: withOld }))).toEqual(['bad']);
    const rejected: SetState = { ...withOld, rejectedRevision: 'new', rollingBack: true };
    const result = planned([node('a', { claim: claim(), state: 'active' }), joining], {}, { state: rejected });
    expect(batchOf(result)).toEqual(['a']);
    expect(result.survey.excluded).toEqual([]);
  });

  test('a batch that was announced continues without it', () => {
    const intent = { revision: 'new', source: parseRef('n/new-1/k'), wave: 1, names: ['bad'], at: rfc3339(nowMs) };
    const nodes = [node('bad', { refused: refused() }), node('a')];
    const dropped = planned(nodes, { waves: all }, { state: { ...started, intent } });
    expect(batchOf(dropped)).toBeUndefined();
    expect(batchOf(planned(nodes, { waves: all }, { state: dropped.state }))).toEqual(['a']);
  });
});

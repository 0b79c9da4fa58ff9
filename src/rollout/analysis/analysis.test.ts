/** Rollouts whose waves are compared with controls: what stops, what continues, and who is left out. */
import { describe, expect, test } from 'vitest';
import { RolloutWorld, type WorldOptions } from '../../../test/rollout-world.js';
import type { AnalysisStrategy, SetStrategy } from '../../api/node-config-set.js';
import type { Observed } from '../../api/observe.js';
import type { SetNode } from '../members.js';
import { readRules } from '../spec.js';

const waves = [{ nodes: 5 }, { nodes: 15 }, { nodes: '100%' }];
const strategyWith = (analysis: AnalysisStrategy = {}, more: SetStrategy = {}): SetStrategy => ({
  waves,
  maxUnavailable: '100%',
  maxInTrial: '100%',
  ...more,
  analysis,
});

const none = { oomKills: 0, evictions: 0, restarts: 0, rejectedPods: 0, lostReady: 0, memoryPressure: 0 };
/** All different, so that there are no ties. */
const quirk = (node: SetNode): number => 1 + (Number(node.name.slice(5)) % 17) / 100;

function signalsOf(node: SetNode, factor: number): Observed['signals'] {
  const zeros = Object.fromEntries(Object.keys(none).map((name) => [name, [0, 0]])) as Observed['signals'];
  return { ...zeros, podStartSeconds: [1.9, 1.9 * factor * quirk(node)] };
}

type Answer = NonNullable<WorldOptions['answer']>;
const quiet: Answer = (node) => signalsOf(node, 1);
const slowed: Answer = (node, isChanged) => signalsOf(node, isChanged ? 1.6 : 1);
const world = (answer: Answer, strategy = strategyWith(), nodes = 50) => new RolloutWorld({ nodes, strategy, answer });
const assigned = (of: RolloutWorld) => of.nodes.filter(({ claim }) => claim?.revision === 'new').length;

describe('a rollout with analysis', () => {
  test('without harm completes, and shows that no wave was worse', () => {
    const of = world(quiet);
    expect(of.run().progress).toMatchObject({ condition: 'Ready', kind: 'complete' });
    expect(of.state.analyses?.map(({ wave, outcome }) => [wave, outcome])).toEqual([
      [3, 'NoControls'],
      [2, 'NotWorse'],
      [1, 'NotWorse'],
    ]);
  });

  test('halts at the wave that starts pods slower, with a sentence, and changes no further node', () => {
    const of = world(slowed);
    const { progress } = of.run();
    expect(progress).toMatchObject({ condition: 'Stalled', kind: 'worse' });
    expect(progress.message).toMatch(
      /^wave 1 is worse: 5 of 5 canaries start pods slower than before \(\+\d\d %, median 1\.9 s → 3\.\d s\); none of 45 controls do/,
    );
    expect(assigned(of)).toBe(5);
    expect(of.state.steps?.[0]).toMatchObject({ step: 'Halted' });
    expect(of.state.analyses?.[0]).toMatchObject({ look: 1, state: 'Done' });
  });

  test('goes back with onWorse: Rollback', () => {
    const of = world(slowed, strategyWith({ onWorse: 'Rollback' }));
    expect(of.run().progress).toMatchObject({ condition: 'Stalled', kind: 'rolledBack' });
    expect(assigned(of)).toBe(0);
  });

  test('completes with onWorse: Report, and shows that a wave was worse', () => {
    const of = world(slowed, strategyWith({ onWorse: 'Report' }));
    expect(of.run().progress.condition).toBe('Ready');
    expect(of.state.analyses?.at(-1)).toMatchObject({ wave: 1, outcome: 'Worse' });
  });

  test('a corrected config starts again from the first wave', () => {
    const of = world(slowed);
    of.run();
    expect(of.run({ revision: 'fixed' }).progress).toMatchObject({ condition: 'Ready' });
  });

  test('a retry continues with the next wave, whose look must be surer', () => {
    const of = world(slowed);
    of.run();
    of.state = { ...of.state, rollout: { request: { action: 'Retry', revision: 'new' } } };
    expect(of.run().progress).toMatchObject({ kind: 'worse' });
    expect(of.state.analyses?.[0]).toMatchObject({ wave: 2, attempt: 2, look: 2, outcome: 'Worse' });
  });
});

describe('when the nodes are too few', () => {
  const small = (analysis: AnalysisStrategy) => strategyWith(analysis, { waves: [{ nodes: 1 }, { nodes: '100%' }] });

  test('one canary and 19 controls pass with Continue, and it is shown', () => {
    const of = world(slowed, small({}), 20);
    expect(of.run().progress.condition).toBe('Ready');
    expect(of.state.analyses?.at(-1)?.message).toMatch(/^cannot tell: 1 canary and 19 controls are too few/);
    expect(of.state.analyses?.at(-1)?.look).toBeUndefined();
  });

  test('the same waits for an approval with Pause', () => {
    const of = world(slowed, small({ onCannotTell: 'Pause' }), 20);
    const { progress } = of.run();
    expect(progress).toMatchObject({ condition: 'Reconciling', kind: 'approval' });
    expect(progress.message).toContain("'relet rollout approve gpu' continues");
    of.state = { ...of.state, rollout: { approve: { revision: 'new', wave: 1 } } };
    expect(of.run().progress.condition).toBe('Ready');
  });

  test('a set without controls never pauses', () => {
    const of = world(slowed, strategyWith({ onCannotTell: 'Pause' }, { waves: [{ nodes: '100%' }] }));
    expect(of.run().progress.condition).toBe('Ready');
    expect(of.state.analyses?.[0]).toMatchObject({ outcome: 'NoControls' });
  });
});

describe('nodes that are left out', () => {
  const reasons = (of: RolloutWorld) => of.state.analyses?.[0]?.leftOut?.map(({ name, reason }) => [name, reason]);
  /** Until the first cohort is observed. */
  function observing(answer: Answer = slowed): RolloutWorld {
    const of = world(answer);
    of.pass();
    of.pass();
    expect(of.state.analyses?.[0]).toMatchObject({ state: 'Observing' });
    return of;
  }

  test('are named: NotReady, held, drained, without an answer, and those that report a boot', () => {
    const of = observing((node, isChanged) =>
      node.name === 'node-40' ? undefined : slowed(node, isChanged, {} as never),
    );
    const { controls = [], canaries = [] } = of.state.analyses![0]!;
    expect(controls).toContain('node-40');
    of.change(canaries[0]!, { isReady: false });
    of.change(controls.find((name) => name === 'node-41')!, { blocked: { reason: 'Held', message: 'held' } });
    of.change('node-42', { isCordoned: true });
    of.change('node-43', { observed: { id: 'gpu/new/1/1', signals: {}, unfit: 'Booted' } });
    of.run();
    expect(reasons(of)).toEqual(
      expect.arrayContaining([
        [canaries[0], 'NotReady'],
        ['node-40', 'NoAnswer'],
        ['node-41', 'Held'],
        ['node-42', 'Drained'],
        ['node-43', 'Booted'],
      ]),
    );
    expect(of.state.analyses?.[0]).toMatchObject({ outcome: 'Worse', signals: expect.anything() });
  });

  test('a node that lies cannot hide what the others show', () => {
    const of = observing((node, isChanged) =>
      node.name === 'node-1' ? { podStartSeconds: [3000, 0] } : slowed(node, isChanged, {} as never),
    );
    expect(of.run().progress).toMatchObject({ kind: 'worse' });
  });
});

test('who is observed, and when, is the same after every restart of the controller', () => {
  const of = world(slowed);
  of.pass();
  of.pass();
  const [first] = of.state.analyses!;
  for (const later of [30_000, 300_000, 600_000]) {
    of.nowMs = Date.parse(first!.before![1]) + later;
    of.pass();
    expect(of.state.analyses![0]).toEqual(first);
  }
});

describe('queries', () => {
  const query = { name: 'appErrors', prometheus: 'sum by (node) (rate(errors[5m]))', worseBy: '20%' };
  const strategy = strategyWith({ signals: [query], onCannotTell: 'Pause' });

  test('that show harm halt the rollout', () => {
    const of = world(quiet, strategy);
    of.pass();
    of.pass();
    const pairOf = (node: SetNode): [number, number] => [10, 10 * quirk(node) * (node.claim ? 3 : 1)];
    const values = { appErrors: Object.fromEntries(of.nodes.map((node) => [node.name, pairOf(node)])) };
    of.measured = { id: 'gpu/new/1/1', values, errors: {} };
    expect(of.run().progress.message).toMatch(/5 of 5 canaries have more appErrors than before/);
  });

  test('that fail cannot tell, with the error', () => {
    const of = world(quiet, strategy);
    of.measured = { id: 'gpu/new/1/1', values: {}, errors: { appErrors: 'query sum(x): connection refused' } };
    expect(of.run().progress).toMatchObject({ kind: 'approval' });
    expect(of.state.analyses?.[0]?.signals?.[0]).toMatchObject({
      outcome: 'CannotTell',
      error: expect.stringContaining('sum(x)'),
    });
  });
});

test.each([
  [{ window: '2m' }, /window: '2m' is not from 5m to 30m/],
  [{ signals: [{ name: 'speed' }] }, /'speed' is not a signal and has no prometheus/],
  [{ signals: [{ name: 'oomKills', worseBy: '25%' }] }, /is not a number of workloads a node/],
  [{ signals: [{ name: 'podStartSeconds', worseBy: 2 }] }, /is not a percentage/],
  [{ signals: [{ name: 'oomKills', prometheus: 'up' }] }, /a query needs another name/],
  [{ signals: [{ name: 'oomKills' }, { name: 'oomKills' }] }, /is there twice/],
  [{ controls: 2 }, /not a number from 3 to 50/],
] as [AnalysisStrategy, RegExp][])('analysis %j is rejected', (analysis, message) => {
  expect(() => readRules({ selector: {}, config: { overlay: {} }, strategy: { analysis } })).toThrow(message);
});

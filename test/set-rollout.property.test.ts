/**
 * Whatever happens while a set rolls out, in any order: its budgets are kept, no node is half changed, and once the faults stop it ends
 * complete, or stopped with a reason that a person can act on.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type NodeConfigSet, type RolloutAction, setFinalizer } from '../src/api/node-config-set.js';
import { type Mode, SetModel } from './set-model.js';

const limits = { maxUnavailable: 2, maxInTrial: 3 };
const names = Array.from({ length: 7 }, (_, index) => `node-${index}`);

function newSet(spec: { maxFailed: number; onFailure: 'Halt' | 'Rollback' }): NodeConfigSet {
  return {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu', generation: 1, finalizers: [setFinalizer], creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      selector: { matchLabels: { pool: 'gpu' } },
      config: { overlay: { maxPods: 100 } },
      strategy: {
        waves: [{ nodes: 1, approve: true }, { nodes: '40%', soak: '1m' }, { nodes: '100%' }],
        ...limits,
        ...spec,
      },
    },
  };
}

type Step = { name: string; run(model: SetModel): void | Promise<void> };

const node = fc.constantFrom(...names);
const step = (name: string, run: Step['run']): Step => ({ name, run });

const ordinary: fc.Arbitrary<Step>[] = [
  fc.nat(20).map((count) => step(`deliver ${count}`, (model) => model.deliver(count, (length) => count * 7 + length))),
  fc.constant(step('deliver all', (model) => model.deliver(1000, () => 0))),
  fc.constant(step('reconcile', (model) => model.reconcile())),
  fc.constant(
    step('reconcile until it rests', async (model) => {
      for (let pass = 0; pass < 5; pass++) {
        model.deliver(1000, () => 0);
        await model.reconcile();
      }
    }),
  ),
  fc.constantFrom(500, 3000, 30_000, 90_000).map((ms) =>
    step(`${ms} ms pass`, (model) => {
      model.nowMs += ms;
      model.answer();
    }),
  ),
  fc.constant(step('agents answer', (model) => model.answer())),
];

const faults: fc.Arbitrary<Step>[] = [
  fc.nat(6).map((writes) =>
    step(`crash after ${writes} writes`, (model) => {
      model.crashAfter = writes;
    }),
  ),
  fc.constant(step('another leader', (model) => model.newLeader())),
  fc
    .tuple(node, fc.constantFrom<Mode>('works', 'rejects', 'rolls back', 'silent'))
    .map(([name, mode]) => step(`${name} ${mode}`, (model) => void model.modes.set(name, mode))),
  fc
    .tuple(node, fc.boolean())
    .map(([name, ready]) => step(`${name} ready ${ready}`, (model) => model.setReady(name, ready))),
  fc.tuple(node, fc.boolean()).map(([name, unschedulable]) =>
    step(`${name} cordoned ${unschedulable}`, (model) =>
      model.changeNode(name, (one) => {
        one.spec = { unschedulable };
      }),
    ),
  ),
  node.map((name) => step(`a person re-points ${name}`, (model) => model.repoint(name))),
  node.map((name) =>
    step(`${name} is replaced`, (model) => {
      model.removeNode(name);
      model.addNode(name);
    }),
  ),
  node.map((name) => step(`${name} is gone`, (model) => model.removeNode(name))),
  fc.constantFrom(100, 110, 120).map((maxPods) =>
    step(`the spec has maxPods ${maxPods}`, (model) =>
      model.changeSet((set) => {
        set.spec.config = { overlay: { maxPods } };
      }, 'spec'),
    ),
  ),
  fc.boolean().map((paused) =>
    step(`paused ${paused}`, (model) =>
      model.changeSet((set) => {
        set.spec.paused = paused;
      }, 'spec'),
    ),
  ),
  fc
    .constantFrom<RolloutAction>('Abort', 'Undo', 'Retry')
    .map((action) => step(action, (model) => request(model, action))),
  fc.constantFrom(-600_000, 3_600_000).map((ms) =>
    step(`the clock jumps by ${ms}`, (model) => {
      model.nowMs += ms;
    }),
  ),
];

const request = (model: SetModel, action: RolloutAction) =>
  model.changeSet((set) => {
    const revision = set.status?.updateRevision ?? '';
    set.status = { ...set.status, rollout: { ...set.status?.rollout, request: { action, revision } } };
  }, 'status');

const approve = (model: SetModel) => {
  const { updateRevision, rollout } = model.set.status ?? {};
  if (updateRevision === undefined || rollout?.approve?.revision === updateRevision) return;
  model.changeSet((set) => {
    set.status = { ...set.status, rollout: { ...rollout, approve: { revision: updateRevision, wave: 9 } } };
  }, 'status');
};

const standing = ({ set: { status, metadata } }: SetModel) =>
  status?.observedGeneration === metadata.generation
    ? status?.conditions?.find(
        (one) => one.status === 'True' && one.type !== 'NodesExcluded' && one.type !== 'SelectorWarning',
      )
    : undefined;

/** No more faults: the rest of the time everything works. */
async function heal(model: SetModel): Promise<void> {
  model.crashAfter = undefined;
  for (const name of model.nodeNames) {
    model.modes.set(name, 'works');
    model.setReady(name, true);
    model.changeNode(name, (one) => {
      one.spec = {};
    });
  }
  if (model.set.spec.paused)
    model.changeSet((set) => {
      set.spec.paused = false;
    }, 'spec');
  for (let round = 0; round < 300; round++) {
    approve(model);
    for (let pass = 0; pass < 3; pass++) {
      model.deliver(1000, () => 0);
      await model.reconcile();
    }
    const found = standing(model);
    const isSettled = model.nodeNames.every((name) => !['waiting', 'trial'].includes(model.node(name).state));
    if (found !== undefined && found.type !== 'Reconciling' && model.set.status?.intent === undefined && isSettled)
      return;
    model.nowMs += 20_000;
    model.answer();
  }
}

const rollout = async (steps: readonly Step[], spec: Parameters<typeof newSet>[0]): Promise<SetModel> => {
  const model = new SetModel(limits);
  for (const name of names) model.addNode(name);
  model.put('nodeconfigsets', newSet(spec));
  for (const one of steps) await one.run(model);
  await heal(model);
  return model;
};

const anything = fc.array(
  fc.oneof({ arbitrary: fc.oneof(...ordinary), weight: 3 }, { arbitrary: fc.oneof(...faults), weight: 1 }),
  { minLength: 20, maxLength: 120 },
);
const anySpec = fc.record({ maxFailed: fc.nat(2), onFailure: fc.constantFrom('Halt' as const, 'Rollback' as const) });

const seed = Number(process.env.SET_SEED ?? 1);
const numRuns = Number(process.env.SET_RUNS ?? 25);

test('a rollout keeps its budgets, leaves no node half changed, and ends, whatever fails meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(anything, anySpec, async (steps, spec) => {
      const model = await rollout(steps, spec);
      const first = standing(model);
      const story = () => `${steps.map(({ name }) => name).join('; ')}\n${JSON.stringify(model.set.status, null, 1)}`;
      expect(['Ready', 'Stalled'], story()).toContain(first?.type);
      if (first?.type === 'Stalled') {
        expect(model.set.status?.waiting, story()).toMatch(/\w+/);
        request(model, 'Retry');
        await heal(model);
      }
      expect(model.broken, story()).toEqual([]);
      expect(standing(model)?.type, story()).toBe('Ready');
      for (const name of model.nodeNames) {
        const { claim, blocked, state } = model.node(name);
        const { updateRevision } = model.set.status!;
        if (blocked === undefined) expect([claim?.revision, state], story()).toEqual([updateRevision, 'active']);
      }
    }),
    { seed, numRuns },
  );
});

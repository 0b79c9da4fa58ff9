/**
 * Whatever happens while a set rolls out, in any order: its budgets are kept, no node is half changed, and once the faults stop it ends
 * complete, or stopped with a reason that a person can act on. Where it drains: a node is changed only when it is cordoned and empty, no
 * cordon of ours is left once the set has ended, and no other is lifted.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type DrainStrategy,
  holdAnnotation,
  type NodeConfigSet,
  type RolloutAction,
  setFinalizer,
  type Wave,
} from '../src/api/node-config-set.js';
import type { Behaviour } from './rig/modelled-agent.js';
import { SetModel } from './set-model.js';

const limits = { maxUnavailable: 2, maxInTrial: 3 };
const names = Array.from({ length: 7 }, (_, index) => `node-${index}`);

interface SpecChoice {
  waves: Wave[];
  maxFailed: number;
  onFailure: 'Halt' | 'Rollback';
  drain: DrainStrategy;
}

function newSet(spec: SpecChoice): NodeConfigSet {
  return {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu', generation: 1, finalizers: [setFinalizer], creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      selector: { matchLabels: { pool: 'gpu' } },
      config: { overlay: { maxPods: 100 } },
      strategy: {
        ...limits,
        ...spec,
      },
    },
  };
}

type Step = { name: string; run(model: SetModel): unknown };

const node = fc.constantFrom(...names);
const step = (name: string, run: Step['run']): Step => ({ name, run });

const ordinary: fc.Arbitrary<Step>[] = [
  fc.nat(20).map((count) => step(`deliver ${count}`, (model) => model.deliver(count, (length) => count * 7 + length))),
  fc.constant(step('deliver all', (model) => model.deliver(1000, () => 0))),
  fc.constantFrom('nodeconfigsets', 'nodeconfigs', 'nodes').map((kind) =>
    step(`deliver ${kind}, then reconcile`, async (model) => {
      model.deliverKind(kind);
      await model.reconcile();
    }),
  ),
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
  fc.constant(step('approve', (model) => approve(model))),
  node.map((name) => step(`a pod is scheduled to ${name}`, (model) => model.schedule(name))),
];

const faults: fc.Arbitrary<Step>[] = [
  fc.nat(6).map((writes) =>
    step(`crash after ${writes} writes`, (model) => {
      model.crashAfter = writes;
    }),
  ),
  fc.constant(step('another leader', (model) => model.newLeader())),
  fc
    .tuple(node, fc.constantFrom<Behaviour>('works', 'rejects', 'rolls back', 'silent'))
    .map(([name, mode]) => step(`${name} ${mode}`, (model) => void model.behaviours.set(name, mode))),
  fc
    .tuple(node, fc.boolean())
    .map(([name, ready]) => step(`${name} ready ${ready}`, (model) => model.setReady(name, ready))),
  fc
    .tuple(node, fc.boolean())
    .map(([name, cordoned]) => step(`${name} cordoned ${cordoned}`, (model) => model.cordon(name, cordoned))),
  fc.constant(
    step('a person takes over our cordons', (model) => {
      for (const name of cordonedByUs(model)) {
        model.cordon(name, false);
        model.cordon(name, true);
      }
    }),
  ),
  fc.constant(
    step('a person lifts our cordons, and the cache does not show it', async (model) => {
      model.deliver(1000, () => 0);
      for (const name of cordonedByUs(model)) model.cordon(name, false);
      await model.reconcile();
    }),
  ),
  fc.tuple(node, fc.boolean()).map(([name, spent]) =>
    step(`budgets of ${name} spent ${spent}`, (model) => {
      model.budgetSpent[spent ? 'add' : 'delete'](name);
    }),
  ),
  node.map((name) =>
    step(`${name} held`, (model) =>
      model.changeNode(name, (one) => {
        one.metadata.annotations = { ...one.metadata.annotations, [holdAnnotation]: 'by a person' };
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
  fc.constantFrom(100, 110, 120).map((maxPods) =>
    step(`the spec has maxPods ${maxPods}, and the cache shows it before the nodes`, async (model) => {
      model.deliver(1000, () => 0);
      await model.reconcile();
      model.changeSet((set) => {
        set.spec.config = { overlay: { maxPods } };
      }, 'spec');
      model.deliverKind('nodeconfigsets');
      await model.reconcile();
      model.deliverKind('nodeconfigsets');
      await model.reconcile();
    }),
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

const cordonedByUs = ({ cordoned }: SetModel) => [...cordoned].filter(([, who]) => who === 'us').map(([name]) => name);

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

const decidingCondition = ({ set: { status, metadata } }: SetModel) =>
  status?.observedGeneration === metadata.generation
    ? status?.conditions?.find(
        (one) => one.status === 'True' && one.type !== 'NodesExcluded' && one.type !== 'SelectorWarning',
      )
    : undefined;

/** No more faults: the rest of the time everything works. */
async function heal(model: SetModel): Promise<void> {
  model.crashAfter = undefined;
  for (const name of model.nodeNames) {
    model.behaviours.set(name, 'works');
    model.setReady(name, true);
    if (model.cordoned.get(name) === 'others') model.cordon(name, false);
    model.changeNode(name, (one) => {
      delete one.metadata.annotations?.[holdAnnotation];
    });
  }
  model.budgetSpent.clear();
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
    const found = decidingCondition(model);
    const isSettled = model.nodeNames.every(
      (name) =>
        !['waiting', 'trial'].includes(model.node(name).state) &&
        model.traces(name).length === 0 &&
        model.node(name).drain === undefined,
    );
    if (found !== undefined && found.type !== 'Reconciling' && model.set.status?.intent === undefined && isSettled)
      return;
    model.nowMs += 20_000;
    model.answer();
  }
}

const rollout = async (steps: readonly Step[], spec: SpecChoice): Promise<SetModel> => {
  const model = new SetModel(limits);
  for (const name of names) {
    model.addNode(name);
    model.schedule(name);
  }
  model.put('nodeconfigsets', newSet(spec));
  for (const one of steps) await one.run(model);
  return model;
};

/** Returns the marks that drains of ours left, by node. */
const traces = (model: SetModel) =>
  Object.fromEntries(model.nodeNames.map((name) => [name, model.traces(name)]).filter(([, left]) => left!.length > 0));

/** Nodes of the set with a config that is not there, or that was taken back. */
const leftBehind = (model: SetModel) => {
  const { rejectedRevision, revisions = [] } = model.set.status!;
  const outcome = revisions.find(({ revision }) => revision === rejectedRevision)?.outcome;
  return model.nodeNames.filter((name) => {
    const { claim, blocked } = model.node(name);
    if (claim === undefined || blocked !== undefined) return false;
    const isThere = claim.source === undefined || model.kinds.configmaps!.has(claim.source.name);
    return !isThere || (outcome !== 'Aborted' && claim.revision === rejectedRevision);
  });
};

const anything = fc.array(
  fc.oneof({ arbitrary: fc.oneof(...ordinary), weight: 3 }, { arbitrary: fc.oneof(...faults), weight: 1 }),
  { minLength: 20, maxLength: 120 },
);
const anySpec = fc.record({
  waves: fc.constantFrom<Wave[]>(
    [{ nodes: 1, approve: true }, { nodes: '40%', soak: '1m' }, { nodes: '100%' }],
    [{ nodes: '100%' }],
  ),
  maxFailed: fc.nat(2),
  onFailure: fc.constantFrom('Halt' as const, 'Rollback' as const),
  drain: fc.record({
    policy: fc.constantFrom('Never' as const, 'Always' as const),
    timeout: fc.constantFrom('1m', '10m'),
    onUndrainable: fc.constantFrom('Skip' as const, 'Halt' as const),
  }),
});

const numRuns = Number(process.env.SET_RUNS ?? 25);

test('a rollout keeps its budgets, leaves no node half changed, and ends, whatever fails meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(anything, anySpec, async (steps, spec) => {
      const model = await rollout(steps, spec);
      await heal(model);
      const first = decidingCondition(model);
      const history = () =>
        `${steps.map(({ name }) => name).join('; ')}\n${JSON.stringify([spec, model.set.status], null, 1)}`;
      expect(['Ready', 'Stalled'], history()).toContain(first?.type);
      expect(leftBehind(model), history()).toEqual([]);
      if (first?.type === 'Stalled') expect(model.set.status?.waiting, history()).toMatch(/\w+/);
      if (first?.type === 'Stalled' || (model.set.status?.failedNodes ?? 0) > 0) {
        request(model, 'Retry');
        await heal(model);
      }
      expect(model.broken, history()).toEqual([]);
      expect(decidingCondition(model)?.type, history()).toBe('Ready');
      expect(traces(model), history()).toEqual({});
      for (const name of model.nodeNames) {
        const { claim, blocked, state } = model.node(name);
        const { updateRevision } = model.set.status!;
        if (blocked === undefined) expect([claim?.revision, state], history()).toEqual([updateRevision, 'active']);
      }
    }),
    { numRuns },
  );
});

test('nothing is decided before the caches show what was written, or a new spec would change more nodes than may be', async () => {
  const drain = { policy: 'Never' } as const;
  const model = await rollout([], { waves: [{ nodes: '100%' }], maxFailed: 0, onFailure: 'Halt', drain });
  const claimed = () => model.nodeNames.filter((name) => model.claim(name) !== undefined);
  // Up to the second batch, which the cache of NodeConfigs does not show.
  while (claimed().length < 4) {
    model.deliver(1000, () => 0);
    await model.reconcile();
    model.nowMs += 2000;
    if (claimed().length < 4) model.answer();
  }
  model.changeSet((set) => {
    set.spec.config = { overlay: { maxPods: 110 } };
  }, 'spec');
  for (let pass = 0; pass < 3; pass++) {
    model.deliverKind('nodeconfigsets');
    await model.reconcile();
  }
  expect(model.broken).toEqual([]);
});

const ends: Step[] = [
  step('the set is deleted', (model) =>
    model.changeSet((set) => {
      set.metadata.deletionTimestamp = '2026-01-02T00:00:00Z';
    }, 'spec'),
  ),
  step('the set goes without its controller', (model) => {
    model.remove('nodeconfigsets', 'gpu');
    model.newLeader();
  }),
  step('the set is paused for good', (model) =>
    model.changeSet((set) => {
      set.spec.paused = true;
    }, 'spec'),
  ),
  step('the revision is aborted', async (model) => {
    for (let pass = 0; pass < 3; pass++) {
      model.deliver(1000, () => 0);
      await model.reconcile();
    }
    request(model, 'Abort');
  }),
  step('the spec cannot be used any more', (model) =>
    model.changeSet((set) => {
      set.spec.strategy = { ...set.spec.strategy, maxUnavailable: 'many' };
    }, 'spec'),
  ),
];

test('no cordon of ours outlives the end of a set, and no other is lifted, whatever happened before', async () => {
  await fc.assert(
    fc.asyncProperty(anything, anySpec, fc.constantFrom(...ends), async (steps, spec, end) => {
      const model = await rollout(steps, { ...spec, drain: { ...spec.drain, policy: 'Always' } });
      model.crashAfter = undefined;
      await end.run(model);
      for (let pass = 0; pass < 100; pass++) {
        model.deliver(1000, () => 0);
        await model.reconcile();
        // Nodes that were assigned a config keep their cordon until they have answered, or not.
        model.nowMs += 20_000;
        model.answer();
      }
      const history = `${steps.map(({ name }) => name).join('; ')}; ${end.name}`;
      expect(model.broken, history).toEqual([]);
      expect(traces(model), history).toEqual({});
    }),
    { numRuns },
  );
});

/**
 * Every interleaving of a small rollout, up to a bound: three nodes, the controller's reads and writes one by one, a lease that moves
 * to another replica in the middle of them, nodes that fail, and people who edit, approve, abort, undo or retry. Pure: plan() decides,
 * and the API is modelled as it is used. A write names the resourceVersion that was read, so it fails once the object has changed.
 *
 *     read nodes ─► plan() with the status as it is ─► write status ─► write NodeConfigs, one by one ─► read nodes …
 *          └─ the lease moves: of the old leader at most the one write lands, later, that was on its way
 */
import { createHash } from 'node:crypto';
import { type ConfigRef, parseRef } from '../src/api/config-ref.js';
import type { Claim } from '../src/api/node-annotations.js';
import type { RolloutAction, SetStrategy } from '../src/api/node-config-set.js';
import { mayGet, type SetNode } from '../src/rollout/members.js';
import { givenUp, isWritten, type Plan, type PlanInput, plan } from '../src/rollout/plan.js';
import { readRules } from '../src/rollout/spec.js';
import { isRejected, stateIn, storedState, updateOf } from '../src/rollout/state.js';
import { hasFailed, isUnsettled } from '../src/rollout/survey.js';

type Stored = ReturnType<typeof storedState>;
type Nodes = Record<string, Pick<SetNode, 'claim' | 'state' | 'isReady' | 'givenUp'>>;
type Write = { isStale?: true } & (
  | { kind: 'status'; status: Stored }
  | { kind: 'claim'; node: string; claim: Claim }
  | { kind: 'given up'; node: string; at: string }
);

interface World {
  revision: string;
  status: Stored;
  nodes: Nodes;
  /** Nodes as the leader has read them. */
  read?: Nodes;
  /** Writes that the leader is about to make. */
  writes: Write[];
  /** Writes of earlier leaders that have not arrived. */
  late: Write[];
  left: { edits: number; requests: number; failures: number; outages: number; leaders: number };
  hasConflicts: boolean;
}

export interface Exploration {
  strategy: SetStrategy;
  /** How often each may happen. */
  left: World['left'];
  mostStates: number;
  /** Default: the real one. */
  decide?: (input: PlanInput) => Plan;
  /** Writes of an old leader that may still land. Default 1. */
  lateWrites?: number;
  /** False: a batch that is given up is not ended on its nodes first. */
  endsBatches?: false;
  /** False: a write names no resourceVersion. */
  hasConflicts?: false;
  /** NodeConfigs are written before the status. */
  assignsFirst?: true;
}

export interface Explored {
  states: number;
  /** All states up to the bound of what may happen were seen. */
  isWhole: boolean;
  /** The first promise that was broken, with what happened before. */
  broken?: { promise: string; trail: string[] };
}

const limits = { maxUnavailable: 1, maxInTrial: 2 };
const names = ['node-1', 'node-2', 'node-3'];
const startMs = Date.parse('2026-01-01T00:00:00Z');
const timePattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

export function explore(options: Exploration): Explored {
  const model = new Model(options);
  const first = model.start();
  const keys = new Map([[keyOf(first), { from: '', act: 'start' }]]);
  const trailOf = (key: string): string[] => {
    const { from, act } = keys.get(key)!;
    return from === '' ? [act] : [...trailOf(from), act];
  };
  let level = [[keyOf(first), first] as const];
  while (level.length > 0 && keys.size < options.mostStates) {
    const next: typeof level = [];
    for (const [from, world] of level) {
      const ended = model.brokenAtTheEnd(world);
      if (ended !== undefined)
        return { states: keys.size, isWhole: false, broken: { promise: ended, trail: trailOf(from) } };
      for (const [act, successor, promise] of model.successors(world)) {
        if (promise !== undefined)
          return { states: keys.size, isWhole: false, broken: { promise, trail: [...trailOf(from), act] } };
        const key = keyOf(successor);
        if (keys.has(key)) continue;
        keys.set(key, { from, act });
        next.push([key, successor]);
      }
    }
    level = next;
  }
  return { states: keys.size, isWhole: level.length === 0 };
}

/** A digest: the text of a million worlds does not fit into memory. */
const keyOf = (world: World): string =>
  createHash('sha256')
    .update(textWithoutTimes(JSON.stringify(world)))
    .digest('base64');

/** Only the order of times matters. */
function textWithoutTimes(text: string): string {
  const times = [...new Set(text.match(timePattern))].sort();
  return text.replace(timePattern, (time) => String(times.indexOf(time)));
}

type Successor = [act: string, world: World, broken?: string | undefined];

class Model {
  readonly #options: Exploration;
  readonly #rules;
  /** Worlds whose end is good, and those that end complete, by what the end depends on. */
  readonly #ends = { good: new Set<string>(), complete: new Set<string>() };

  constructor(options: Exploration) {
    this.#options = options;
    const strategy = { ...options.strategy, ...limits };
    this.#rules = readRules({ selector: {}, config: { overlay: { maxPods: 60 } }, strategy });
  }

  start(): World {
    const nodes = Object.fromEntries(names.map((name) => [name, { state: 'local' as const, isReady: true }]));
    const { left, hasConflicts = true } = this.#options;
    return { revision: 'a', status: {}, nodes, writes: [], late: [], left, hasConflicts };
  }

  successors(world: World): Successor[] {
    return [
      ...this.#leader(world),
      ...world.late.map((write, at): Successor => {
        const late = world.late.toSpliced(at, 1);
        const next = { ...world, late };
        return [`late: ${textOf(write)}`, written(next, write), this.#brokenBy(next, write)];
      }),
      ...names.flatMap((name) => nodeSteps(world, name)),
      ...people(world),
    ];
  }

  /** The next step of the leader, or another leader instead of it. */
  #leader(world: World): Successor[] {
    const { writes, left } = world;
    const { read: _, ...others } = world;
    const idle: World = { ...others, writes: [] };
    const moved: Successor[] = [];
    if (left.leaders > 0 && (world.read !== undefined || writes.length > 0)) {
      const after = { ...idle, left: { ...left, leaders: left.leaders - 1 } };
      const mostLate = this.#options.lateWrites ?? 1;
      for (let count = 0; count <= Math.min(mostLate, writes.length); count++)
        moved.push([
          `the lease moves, ${count} writes are late`,
          { ...after, late: [...world.late, ...writes.slice(0, count)] },
        ]);
    }
    const [write, ...rest] = writes;
    if (write !== undefined) {
      // After a conflict about its status the pass is over; a NodeConfig that has changed is left to the next pass.
      if (write.isStale) return [['conflict', write.kind === 'claim' ? { ...idle, writes: rest } : idle], ...moved];
      const next = written({ ...idle, writes: rest }, write);
      return [[textOf(write), next, this.#brokenBy(idle, write)], ...moved];
    }
    if (world.read === undefined) return [['read nodes', { ...world, read: world.nodes }]];
    const { plan: planned, writes: next } = this.#planned(world, world.read);
    return [['plan', { ...idle, writes: next }, this.#brokenByPlan(world, world.read, planned)], ...moved];
  }

  /** Promise that a new batch breaks, by what the leader has read. */
  #brokenByPlan({ status }: World, read: Nodes, { state: { intent } }: Plan): string | undefined {
    if (intent === undefined || intent.at === status.intent?.at || intent.wave === 0) return undefined;
    const { revision, wave } = intent;
    const isFailed = (name: string) =>
      ['rejected', 'rolled back'].includes(read[name]!.state) && read[name]!.claim?.revision === revision;
    const failed = names.filter(isFailed);
    const others = intent.names.filter((name) => !intent.exempt?.includes(name));
    if (failed.length > 0 && others.length > 0) return `${others.join()} after ${failed.join()} has failed`;
    const isApproved = status.rollout?.approve?.revision === revision;
    return wave > 1 && others.length > 0 && !isApproved ? `wave ${wave} without an approval` : undefined;
  }

  #planned(world: World, read: Nodes): { plan: Plan; writes: Write[] } {
    const { status, revision } = world;
    const nodes = names.map((name) => seenAs(name, read[name]!));
    const source = (attempt: number) => parseRef(`n/${revision}-${attempt}/k`)!;
    const input: PlanInput = {
      set: 'gpu',
      rules: this.#rules,
      state: stateIn(status),
      desired: { revision, summary: '', source },
      nodes,
      nowMs: nowIn(world),
    };
    const planned = (this.#options.decide ?? plan)(input);
    const stored = storedState(planned.state);
    const isChanged = JSON.stringify(stored) !== JSON.stringify(status);
    const { intent } = planned.state;
    const left = givenUp(stateIn(status).intent, intent, nodes);
    if (left.length > 0 && this.#options.endsBatches !== false) {
      const { at } = stateIn(status).intent!;
      const marks = left.map(({ name }) => ({ kind: 'given up' as const, node: name, at }));
      return { plan: planned, writes: marks.map((write) => asRead(world, read, write)) };
    }
    const open = nodes.filter(
      (node) => intent?.names.includes(node.name) && mayGet(node, intent) && !isWritten(node, intent),
    );
    const claims = open.map(({ name, previous }): Write => {
      const { revision: of, wave, at } = intent!;
      const given: ConfigRef | undefined = intent!.source === 'previous' ? previous : intent!.source;
      const exempt = intent!.exempt?.includes(name) && { exempt: true as const };
      const claim = { set: 'gpu', revision: of, source: given, wave, at, previous, ...exempt };
      return asRead(world, read, { kind: 'claim', node: name, claim });
    });
    const writes: Write[] = [...(isChanged ? [{ kind: 'status' as const, status: stored }] : []), ...claims];
    return { plan: planned, writes: this.#options.assignsFirst ? writes.reverse() : writes };
  }

  /** Promise that this write breaks, if it arrives. */
  #brokenBy(before: World, write: Write): string | undefined {
    if (write.isStale || write.kind !== 'claim') return undefined;
    const { nodes } = written(before, write);
    const now = nowIn(before);
    const ours = names.map((name) => seenAs(name, nodes[name]!)).filter(({ claim }) => claim && !claim.exempt);
    const waiting = ours.filter(({ state }) => state === 'waiting').map(({ name }) => name);
    if (!write.claim.exempt && waiting.length > limits.maxUnavailable) return `unavailable by us: ${waiting.join()}`;
    const trial = ours
      .filter((node) => isUnsettled(node) && !hasFailed(node, this.#rules, now))
      .map(({ name }) => name);
    const state = stateIn(before.status);
    if (!write.claim.exempt && !state.rollingBack && trial.length > limits.maxInTrial)
      return `in trial: ${trial.join()}`;
    const sameRevision = names
      .map((name) => nodes[name]!)
      .filter((node) => node.claim?.revision === write.claim.revision);
    const isFirst =
      this.#rules.waves.length === 1 ||
      sameRevision.length === 1 ||
      sameRevision.some(({ state }) => state === 'active');
    if (write.claim.wave > 0 && !write.claim.exempt && !isFirst)
      return `${write.node} before the first node has passed its trial`;
    return undefined;
  }

  /** Promise that is broken once nothing fails any more and people approve: the rollout ends, and a retry completes it. */
  brokenAtTheEnd(world: World): string | undefined {
    return this.#brokenAfter(world, this.#ends.good, (healed, planned) => {
      const state = stateIn(healed.status);
      const outcome = updateOf(state)?.outcome;
      const left = names.filter((name) => healed.nodes[name]!.claim?.revision === state.rejectedRevision);
      if (isRejected(state) && outcome !== 'Aborted' && left.length > 0)
        return `left behind with ${state.rejectedRevision}: ${left.join()}`;
      if (planned.progress.condition === 'Ready') return incomplete(healed);
      const broken = this.#brokenAfter(requested(healed, 'Retry'), this.#ends.complete, incomplete);
      return broken && `after a retry: ${broken}`;
    });
  }

  /** `check` of the world at its end. Worlds on the way there have the same end. */
  #brokenAfter(
    given: World,
    good: Set<string>,
    check: (world: World, planned: Plan) => string | undefined,
  ): string | undefined {
    let world: World = { ...given, writes: [], late: [] };
    for (const name of names) world = changed(world, name, { isReady: true });
    for (const write of given.late) world = written(world, write);
    const way: string[] = [];
    let planned: Plan | undefined;
    for (let round = 0; round < 60; round++) {
      const key = textWithoutTimes(JSON.stringify([world.revision, world.status, world.nodes]));
      const pass = good.has(key) ? undefined : this.#planned(world, world.nodes);
      planned = pass?.plan;
      const isSettled = names.every((name) => !isUnsettled(seenAs(name, world.nodes[name]!)));
      const isEnd = isSettled && pass?.writes.length === 0 && planned?.progress.condition !== 'Reconciling';
      const broken = isEnd ? check(world, planned!) : undefined;
      if (broken !== undefined) return broken;
      way.push(key);
      if (pass === undefined || isEnd) {
        for (const passed of way) good.add(passed);
        return undefined;
      }
      for (const write of pass.writes) world = written(world, write);
      for (const name of names) world = nodeSteps({ ...world, left: nothing }, name)[0]?.[1] ?? world;
      const { progress } = pass.plan;
      if (progress.condition === 'Reconciling' && progress.kind === 'approval') world = approved(world);
    }
    return `does not end: ${JSON.stringify(planned?.progress)}`;
  }
}

function incomplete({ nodes, revision }: World): string | undefined {
  const others = names.filter((name) => nodes[name]!.claim?.revision !== revision || nodes[name]!.state !== 'active');
  return others.length === 0 ? undefined : `complete, but not on ${others.join()}`;
}

/** A write of an object that has changed since it was read has a conflict. */
const asRead = (world: World, read: Nodes, write: Write & { node: string }): Write => {
  const apart = (nodes: Nodes) => JSON.stringify({ ...nodes[write.node], isReady: true });
  return !world.hasConflicts || apart(read) === apart(world.nodes) ? write : { ...write, isStale: true };
};

const nothing: World['left'] = { edits: 0, requests: 0, failures: 0, outages: 0, leaders: 0 };

const seenAs = (name: string, node: Nodes[string]): SetNode => ({
  name,
  labels: {},
  createdAtMs: 0,
  isCordoned: false,
  isControlPlane: false,
  isPicked: false,
  previous: node.claim?.previous,
  ...node,
});

/** A second after everything that has happened. */
function nowIn({ status, nodes }: World): number {
  const times = JSON.stringify([status, nodes]).match(timePattern) ?? [];
  return Math.max(startMs, ...times.map((time) => Date.parse(time))) + 1000;
}

const textOf = (write: Write): string =>
  write.kind === 'status'
    ? `write status: ${JSON.stringify(write.status.intent ?? 'no batch')}`
    : `write ${write.node}: ${write.kind === 'claim' ? write.claim.revision : 'given up'}`;

/** After a write, if it is not stale: other writes that read the object before it are. */
function written(world: World, write: Write): World {
  if (write.isStale) return world;
  switch (write.kind) {
    case 'status':
      return { ...staleIn(world, ({ kind }) => kind === 'status'), status: write.status };
    case 'claim':
      return changed(world, write.node, { claim: write.claim, state: 'waiting' });
    case 'given up':
      return changed(world, write.node, { givenUp: write.at });
  }
}

const staleIn = (world: World, isOf: (write: Write) => boolean): World => {
  if (!world.hasConflicts) return world;
  const marked = (writes: Write[]) =>
    writes.map((write) => (isOf(write) ? { ...write, isStale: true as const } : write));
  return { ...world, writes: marked(world.writes), late: marked(world.late) };
};

/** A Node that is not ready does not change its NodeConfig. */
function changed(world: World, name: string, change: Partial<Nodes[string]>): World {
  const next = { ...world, nodes: { ...world.nodes, [name]: { ...world.nodes[name]!, ...change } } };
  return change.isReady === undefined ? staleIn(next, (write) => 'node' in write && write.node === name) : next;
}

function nodeSteps(world: World, name: string): Successor[] {
  const { state, isReady, claim } = world.nodes[name]!;
  const { left } = world;
  const to = (next: SetNode['state'], failures = 0): Successor => [
    `${name} ${next}`,
    changed({ ...world, left: { ...left, failures: left.failures - failures } }, name, { state: next }),
  ];
  const outages = left.outages - (isReady ? 1 : 0);
  const ready: Successor[] =
    outages >= 0 && left.outages + (isReady ? 0 : 1) > 0 && (isReady ? left.outages > 0 : true)
      ? [
          [
            `${name} ${isReady ? 'NotReady' : 'Ready'}`,
            changed({ ...world, left: { ...left, outages } }, name, { isReady: !isReady }),
          ],
        ]
      : [];
  const mayFail = left.failures > 0 && claim?.source !== undefined;
  if (state === 'waiting') {
    const done = claim?.source === undefined ? to('local') : to('trial');
    return [done, ...(mayFail ? [to('rejected', 1)] : []), ...ready];
  }
  if (state === 'trial') return [to('active'), ...(mayFail ? [to('rolled back', 1)] : []), ...ready];
  return ready;
}

const requested = (world: World, action: RolloutAction): World => {
  const { updateRevision: revision = '', rollout } = world.status;
  const status = { ...world.status, rollout: { ...rollout, request: { action, revision } } };
  return written(world, { kind: 'status', status });
};

const approved = (world: World): World => {
  const { updateRevision: revision = '', rollout } = world.status;
  return written(world, {
    kind: 'status',
    status: { ...world.status, rollout: { ...rollout, approve: { revision, wave: 2 } } },
  });
};

function people(world: World): Successor[] {
  const { left, status } = world;
  const edited: Successor[] =
    left.edits > 0
      ? [
          [
            'edit',
            staleIn(
              { ...world, revision: 'b', left: { ...left, edits: left.edits - 1 } },
              ({ kind }) => kind === 'status',
            ),
          ],
        ]
      : [];
  if (status.updateRevision === undefined) return edited;
  const { approve } = status.rollout ?? {};
  const isApproved = approve?.revision === status.updateRevision;
  const asked: World = { ...world, left: { ...left, requests: left.requests - 1 } };
  const actions: RolloutAction[] =
    left.requests > 0 && status.rollout?.request === undefined ? ['Abort', 'Undo', 'Retry'] : [];
  return [
    ...edited,
    ...(isApproved ? [] : [['approve', approved(world)] as Successor]),
    ...actions.map((action): Successor => [action, requested(asked, action)]),
  ];
}

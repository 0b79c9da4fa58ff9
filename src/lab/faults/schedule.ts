/** A schedule: what happens to a cluster, and when. Made from a seed, plain data, so that parts of it can be left out. */

import { type SeededRandom, seededRandom } from '../../rehearsal/simulation/seeded-random.js';
import { behaviours, type ConfigClass, type ConfigVersion, notSigned } from './configs.js';

export type Operation =
  /** By hand; a node of the set then belongs to a person, who is respected. */
  | { kind: 'assign'; node: string; config: string }
  | { kind: 'create'; config: ConfigVersion }
  /** In place: every node that has it follows. */
  | { kind: 'edit'; config: ConfigVersion }
  | { kind: 'reset'; node: string }
  /** Creates the NodeConfigSet, or changes its config: a new revision that rolls out. */
  | { kind: 'roll-out'; config: ConfigVersion; onFailure: 'Halt' | 'Rollback'; expiresAfter?: string }
  /** A new node with the labels of the set. */
  | { kind: 'join'; node: string }
  /** A person retries the rollout, which has halted or was rolled back. */
  | { kind: 'retry' };

export type InjectedFault =
  /** Killed before or after its n-th effect from now: a write to the disk, a request, a start or a stop of the kubelet. */
  | { kind: 'crash-agent'; node: string; halfSteps: number }
  | { kind: 'crash-controller'; controller: string; halfSteps: number }
  /** Stopped (SIGSTOP) before or after its n-th effect, at once for 0, and continued later with what it was about to do. */
  | { kind: 'pause-agent'; node: string; halfSteps: number; forMs: number }
  /** With `of`, effects count that are requests with this text. */
  | { kind: 'pause-controller'; controller: string; halfSteps: number; of?: string; forMs: number }
  /** As a virtual machine whose host has no time for it: agent and kubelet are stopped together. */
  | { kind: 'pause-machine'; node: string; forMs: number }
  | { kind: 'lose-power'; node: string; offMs: number }
  | { kind: 'kill-kubelet'; node: string }
  /** The kubelet answers nobody for a while. */
  | { kind: 'hang'; node: string; forMs: number }
  | { kind: 'disk-full'; node: string; forMs: number }
  /** A file is gone that this config needs: the kubelet crashes with it from now on. One that runs with it is killed. */
  | { kind: 'spoil'; node: string; config: string }
  | { kind: 'cut-off'; client: string; forMs: number }
  | { kind: 'lost-answers'; client: string; share: number; forMs: number }
  | { kind: 'unanswered'; client: string; share: number; forMs: number }
  | { kind: 'late-events'; client: string; lateMs: number; forMs: number }
  | { kind: 'break-watches'; client: string }
  /** The cache of a second API server gets nothing any more. The client is connected to it after a while; its cache catches up in the end. */
  | { kind: 'lagging-server'; client: string; afterMs: number; forMs: number }
  /** The API server is away, and has forgotten the history of its objects when it is back. */
  | { kind: 'restart-server'; forMs: number }
  /** Watches that resume have to list again. */
  | { kind: 'compact' }
  /** The wall clock of a node is set forward or back. */
  | { kind: 'jump-clock'; node: string; byMs: number }
  /** A node claims in its status that it runs a config of others. */
  | { kind: 'lie'; node: string; config: string };

export type Action = { atMs: number } & (Operation | InjectedFault);

/** Limits of the set. Its first wave has one node, and no node may fail. */
export interface SetLimits {
  maxUnavailable: number;
  maxInTrial: number;
}

export interface Schedule {
  seed: string;
  nodes: string[];
  /** The nodes of the set; the others are assigned configs by hand. */
  inSet: string[];
  limits: SetLimits;
  /** Every node of the set is drained before it is changed. */
  isDrained: boolean;
  /** Every host has a trust file, and most configs are signed. */
  isSigned?: boolean;
  /** Each wave is observed for five minutes, and compared with the nodes that do not have its config yet. */
  isAnalyzed?: boolean;
  /** A rollout that is stalled once everything has healed is retried, and must then complete. */
  isRetried?: boolean;
  controllers: number;
  trialMs: number;
  /** Requests and answers take up to this. */
  latencyMs: number;
  actions: Action[];
  /** Then everything heals. */
  faultsEndMs: number;
}

export const isFault = ({ kind }: Action): boolean =>
  !['assign', 'create', 'edit', 'reset', 'roll-out', 'join', 'retry'].includes(kind);

const warmUpMs = 20_000;

/** One in five is signed. Its randomness is its own: the others are as they were before there were signatures. */
export function makeSchedule(seed: string): Schedule {
  const random = seededRandom(`signatures ${seed}`);
  const schedule = withStops(seed, withLag(seed, makeUnsigned(seed)));
  if (random.chance(0.2)) return withTime(seed, signed(random, schedule));
  return seededRandom(`analysis ${seed}`).chance(0.05) ? { ...schedule, isAnalyzed: true } : schedule;
}

/** In one of fourteen, clients are connected to an API server whose cache is behind. */
function withLag(seed: string, schedule: Schedule): Schedule {
  const random = seededRandom(`second server ${seed}`);
  if (!random.chance(0.07)) return schedule;
  return withFaults(random, schedule, () => {
    const afterMs = random.below(30_000);
    const client = random.pick([random.pick(schedule.nodes), 'controller-1', '*']);
    return { kind: 'lagging-server', client, afterMs, forMs: afterMs + random.below(90_000) };
  });
}

/** In one of fourteen, processes are stopped for longer than a lease and the deadline of a trial, or not so long. Then two controllers run. */
function withStops(seed: string, schedule: Schedule): Schedule {
  const random = seededRandom(`stops ${seed}`);
  if (!random.chance(0.07)) return schedule;
  const controllers = 2;
  const stopped = withFaults(random, { ...schedule, controllers }, () => {
    const node = random.pick(schedule.nodes);
    const [halfSteps, forMs] = [random.below(40), 5000 + random.below(150_000)];
    const controller = `controller-${1 + random.below(controllers)}`;
    const of = random.pick(writesOfController);
    return random.pick<InjectedFault>([
      { kind: 'pause-agent', node, halfSteps, forMs },
      { kind: 'pause-controller', controller, halfSteps, forMs },
      { kind: 'pause-controller', controller, halfSteps: 2 * random.below(4), of, forMs },
      { kind: 'pause-controller', controller, halfSteps: 2 * random.below(4), of, forMs },
      { kind: 'hang', node, forMs },
      { kind: 'pause-machine', node, forMs },
    ]);
  });
  const stop = stopped.actions.find((one) => one.kind === 'pause-controller');
  const config = configsOf(stopped.actions)[0]!;
  const isTaken = stopped.actions.some((one) => one.kind === 'assign' && stopped.inSet.includes(one.node));
  if (stop === undefined || isTaken || random.chance(0.5)) return stopped;
  // A person takes a node while a controller is stopped that was perhaps about to change it.
  const atMs = Math.min(stop.atMs + random.below(stop.forMs), stopped.faultsEndMs);
  const taking: Action = { atMs, kind: 'assign', node: random.pick(stopped.inSet), config };
  return { ...stopped, actions: [...stopped.actions, taking].sort(byTime) };
}

const writesOfController = ['PATCH /apis/relet.dev/v1alpha1/nodeconfigs/', 'PATCH /api/v1/nodes/', 'PATCH'];

function withFaults(random: SeededRandom, schedule: Schedule, make: () => InjectedFault): Schedule {
  const operations = schedule.actions.filter((one) => !isFault(one));
  const faults = Array.from({ length: 1 + random.below(3) }, () => aimed(random, make(), { ...schedule, operations }));
  return { ...schedule, actions: [...schedule.actions, ...faults].sort(byTime) };
}

function signed(random: SeededRandom, { actions, faultsEndMs, ...schedule }: Schedule): Schedule {
  const operations = sign(random, actions);
  const rollOuts = operations.flatMap((one) => (one.kind === 'roll-out' ? [one] : []));
  const [first, last] = [rollOuts[0]!, rollOuts.at(-1)!];
  if (random.chance(0.3)) last.expiresAfter = '2m';
  const { config } = first === last || random.chance(0.5) ? last : first;
  const again = { ...last, config, atMs: last.atMs + random.below(4 * schedule.trialMs) };
  // An undo of the second revision, or other signatures under the same bytes.
  if (['good', 'slow'].includes(config.class))
    operations.push(config === last.config ? { ...again, config: { ...config, isRenewed: true } } : again);
  const endMs = Math.max(faultsEndMs, operations.at(-1)!.atMs);
  return { ...schedule, isSigned: true, actions: operations.sort(byTime), faultsEndMs: endMs };
}

/** The statement of a revision may end, before or after nodes have it; a node may join; and a rollout may be retried. */
function withTime(seed: string, { actions, nodes, inSet, faultsEndMs, ...schedule }: Schedule): Schedule {
  const random = seededRandom(`time of signatures ${seed}`);
  const ending = random.pick(actions.flatMap((one) => (one.kind === 'roll-out' ? [one] : [])));
  const endsAtMs = random.chance(0.5) ? ending.atMs + random.below(3 * schedule.trialMs) - 5000 : undefined;
  const withEnd = (action: Action): Action =>
    action.kind === 'roll-out' && action.config.version === ending.config.version && !action.config.isRenewed
      ? { ...action, config: { ...action.config, ...(endsAtMs && { endsAtMs }) } }
      : action;
  const joining = random.chance(0.5) ? [`node-${nodes.length + 1}`] : [];
  const joinAtMs = ending.atMs + random.below(120_000);
  const joins = joining.map((node): Action => ({ atMs: joinAtMs, kind: 'join', node }));
  const all = [...actions.map(withEnd), ...joins].sort(byTime);
  return {
    ...schedule,
    nodes: [...nodes, ...joining],
    inSet: [...inSet, ...joining],
    actions: all,
    isRetried: mustComplete(all),
    faultsEndMs: Math.max(faultsEndMs, ...joins.map(({ atMs }) => atMs)),
  };
}

/** Every node of the set can run the last revision, once nothing is wrong any more. */
function mustComplete(actions: readonly Action[]): boolean {
  const last = actions.findLast((one) => one.kind === 'roll-out');
  if (last?.kind !== 'roll-out' || last.expiresAfter !== undefined || last.config.endsAtMs !== undefined) return false;
  const isSpoilt = actions.some((one) => one.kind === 'spoil' && one.config === last.config.name);
  return !isSpoilt && ['good', 'slow'].includes(last.config.class);
}

/** Nobody has signed some of the configs. */
function sign(random: SeededRandom, actions: readonly Action[]): Action[] {
  return actions.map((action) => {
    if (!('config' in action) || typeof action.config === 'string' || !random.chance(0.25)) return action;
    return { ...action, config: { ...action.config, class: random.pick(notSigned) } } as Action;
  });
}

function makeUnsigned(seed: string): Schedule {
  const random = seededRandom(`schedule ${seed}`);
  const nodes = Array.from({ length: random.chance(0.3) ? 3 : 4 }, (_, index) => `node-${index + 1}`);
  const controllers = Array.from({ length: 1 + random.below(2) }, (_, index) => `controller-${index + 1}`);
  const trialMs = random.pick([12_000, 20_000, 40_000]);
  const inSet = nodes.slice(1);
  const limits = { maxUnavailable: 1, maxInTrial: 1 + random.below(2) };
  const isDrained = random.chance(0.3);
  const byHand = makeOperations(random, nodes[0]!, trialMs);
  const rollOuts = makeRollOuts(random, inSet, trialMs, configsOf(byHand));
  const operations = [...byHand, ...rollOuts].sort(byTime);
  const faultsEndMs = operations.at(-1)!.atMs + trialMs + random.below(2 * trialMs);
  const parts = { nodes, controllers, configs: configsOf(operations) };
  const faults = Array.from({ length: 3 + random.below(5) }, () =>
    aimed(random, makeFault(random, parts), { operations, trialMs, faultsEndMs }),
  );
  const actions = [...operations, ...faults].sort(byTime);
  const latencyMs = random.pick([0, 5, 80]);
  const set = { inSet, limits, isDrained };
  return { seed, nodes, ...set, controllers: controllers.length, trialMs, latencyMs, actions, faultsEndMs };
}

const byTime = (a: Action, b: Action) => a.atMs - b.atMs;

const configsOf = (operations: readonly Action[]) =>
  operations.flatMap((operation) => (operation.kind === 'create' ? [operation.config.name] : []));

/** Most faults hit what has just begun, or is about to. */
function aimed(
  random: SeededRandom,
  fault: InjectedFault,
  { operations, trialMs, faultsEndMs }: { operations: readonly Action[]; trialMs: number; faultsEndMs: number },
): Action {
  const within = (atMs: number) => Math.max(0, Math.min(faultsEndMs, atMs));
  const isOfSet = 'controller' in fault || ('client' in fault && fault.client.startsWith('controller'));
  const targets = operations.filter(({ kind }) => !isOfSet || kind === 'roll-out');
  const { atMs } = random.pick(targets);
  // A server that has just come back is met by a change.
  if (fault.kind === 'restart-server') return { ...fault, atMs: within(atMs - fault.forMs - random.below(8000)) };
  // A config that has worked, mostly: one that fails from the start is nothing special.
  const choice = fault.kind === 'spoil' ? 0.6 + 0.4 * random.number() : random.number();
  if (choice < 0.3) return { ...fault, atMs: within(atMs - random.below(4000)) };
  if (choice < 0.6) return { ...fault, atMs: within(atMs + random.below(10_000)) };
  // Around the end of a trial, when the next nodes of a set are assigned.
  if (choice < 0.8) return { ...fault, atMs: within(atMs + trialMs + 2000 + random.below(10_000)) };
  return { ...fault, atMs: random.below(faultsEndMs) };
}

/** Makes the operations on a node that is not in the set. */
function makeOperations(random: SeededRandom, node: string, trialMs: number): Action[] {
  const operations: Action[] = [];
  const versions = new Map<string, ConfigVersion>();
  let atMs = warmUpMs;
  for (let count = 1 + random.below(4); count > 0; count--) {
    const known = [...versions.values()];
    const choice = known.length === 0 ? 0 : random.number();
    if (choice < 0.45) {
      const config = newConfig(random, `c${versions.size + 1}`);
      versions.set(config.name, config);
      operations.push({ atMs, kind: 'create', config }, { atMs, kind: 'assign', node, config: config.name });
    } else if (choice < 0.55) {
      const before = random.pick(known);
      const config = { ...before, version: before.version + 1, class: pickClass(random) };
      versions.set(config.name, config);
      operations.push({ atMs, kind: 'edit', config });
    } else if (choice < 0.65) operations.push({ atMs, kind: 'assign', node, config: random.pick(known).name });
    else {
      // The local config may be the one that fails.
      if (random.chance(0.6)) operations.push({ atMs, kind: 'spoil', node, config: 'local.test' });
      operations.push({ atMs, kind: 'reset', node });
    }
    atMs += pauseAfter(random, trialMs);
  }
  return operations;
}

/** While the config is started, while it is on trial, or after that. */
function pauseAfter(random: SeededRandom, trialMs: number): number {
  return random.pick([() => random.below(6000), () => 4000 + random.below(trialMs), () => random.below(3 * trialMs)])();
}

/** One or two revisions, the second perhaps while the first is still rolling out; now and then a person takes a node. */
function makeRollOuts(random: SeededRandom, inSet: readonly string[], trialMs: number, configs: string[]): Action[] {
  const revisions = 1 + random.below(2);
  const onFailure = random.pick(['Halt', 'Rollback'] as const);
  const operations: Action[] = [];
  let atMs = warmUpMs;
  for (let version = 1; version <= revisions; version++) {
    const config = { name: 's', version, class: pickClass(random), isOverlay: true };
    operations.push({ atMs, kind: 'roll-out', config, onFailure });
    atMs += random.below(4 * trialMs);
  }
  if (random.chance(0.15)) operations.push({ atMs, kind: 'assign', node: random.pick(inSet), config: configs[0]! });
  return operations;
}

function newConfig(random: SeededRandom, name: string): ConfigVersion {
  return { name, version: 1, class: pickClass(random), isOverlay: random.chance(0.4) };
}

function pickClass(random: SeededRandom): ConfigClass {
  return random.chance(0.5) ? 'good' : random.pick(behaviours);
}

interface FaultParts {
  nodes: readonly string[];
  controllers: readonly string[];
  configs: readonly string[];
}

function makeFault(random: SeededRandom, { nodes, controllers, configs }: FaultParts): InjectedFault {
  const node = random.pick(nodes);
  const controller = random.pick(controllers);
  const config = random.pick(configs);
  const client = random.pick([node, node, controller, '*']);
  const forMs = 1000 + random.below(90_000);
  const makers: (() => InjectedFault)[] = [
    () => ({ kind: 'crash-agent', node, halfSteps: random.below(80) }),
    () => ({ kind: 'crash-agent', node, halfSteps: random.below(200) }),
    () => ({ kind: 'crash-controller', controller, halfSteps: random.below(20) }),
    () => ({ kind: 'crash-controller', controller, halfSteps: random.below(60) }),
    () => ({ kind: 'lose-power', node, offMs: 5000 + random.below(60_000) }),
    () => ({ kind: 'lose-power', node, offMs: 5000 + random.below(150_000) }),
    () => ({ kind: 'kill-kubelet', node }),
    () => ({ kind: 'kill-kubelet', node: nodes[0]! }),
    () => ({ kind: 'hang', node, forMs: forMs }),
    () => ({ kind: 'disk-full', node, forMs }),
    () => ({ kind: 'spoil', node, config: node !== nodes[0] ? 's' : random.chance(0.5) ? config : 'local.test' }),
    () => ({ kind: 'cut-off', client, forMs }),
    () => ({ kind: 'lost-answers', client, share: 0.3, forMs }),
    () => ({ kind: 'unanswered', client, share: 0.2, forMs }),
    () => ({ kind: 'late-events', client, lateMs: 15_000, forMs }),
    () => ({ kind: 'late-events', client: controller, lateMs: 15_000, forMs }),
    () => ({ kind: 'break-watches', client }),
    () => ({ kind: 'restart-server', forMs: 10_000 + random.below(30_000) }),
    () => ({ kind: 'compact' }),
    () => ({ kind: 'jump-clock', node, byMs: (random.chance(0.5) ? 1 : -1) * random.below(7_200_000) }),
    () => ({ kind: 'lie', node, config }),
  ];
  return random.pick(makers)();
}

/** A schedule: what happens to a cluster, and when. Made from a seed, plain data, so that parts of it can be left out. */
import { behaviours, type ConfigClass, type ConfigVersion } from './configs.js';
import { type SeededRandom, seededRandom } from './seeded-random.js';

export type Operation =
  | { kind: 'assign'; node: string; config: string }
  | { kind: 'create'; config: ConfigVersion }
  /** In place: every node that has it follows. */
  | { kind: 'edit'; config: ConfigVersion }
  | { kind: 'reset'; node: string }
  /** Creates the NodeConfigSet, or changes its config: a new revision that rolls out. */
  | { kind: 'roll-out'; config: ConfigVersion; onFailure: 'Halt' | 'Rollback' };

export type InjectedFault =
  /** Killed before or after its n-th effect from now: a write to the disk, a request, a start or a stop of the kubelet. */
  | { kind: 'crash-agent'; node: string; halfSteps: number }
  | { kind: 'crash-controller'; controller: string; halfSteps: number }
  | { kind: 'lose-power'; node: string; offMs: number }
  | { kind: 'kill-kubelet'; node: string }
  /** The kubelet answers nobody for a while. */
  | { kind: 'hang'; node: string; forMs: number }
  | { kind: 'disk-full'; node: string; forMs: number }
  /** A file is gone that this config needs, and the kubelet is killed: it crashes with this config from now on. */
  | { kind: 'spoil'; node: string; config: string }
  | { kind: 'cut-off'; client: string; forMs: number }
  | { kind: 'lost-answers'; client: string; share: number; forMs: number }
  | { kind: 'unanswered'; client: string; share: number; forMs: number }
  | { kind: 'late-events'; client: string; lateMs: number; forMs: number }
  | { kind: 'break-watches'; client: string }
  /** The API server is away, and has forgotten the history of its objects when it is back. */
  | { kind: 'restart-server'; forMs: number }
  /** Watches that resume have to list again. */
  | { kind: 'compact' }
  /** A node claims in its status that it runs a config of others. */
  | { kind: 'lie'; node: string; config: string };

export type Action = { atMs: number } & (Operation | InjectedFault);

export interface Schedule {
  seed: string;
  nodes: string[];
  /** The nodes of the set; the others are assigned configs by hand. */
  inSet: string[];
  controllers: number;
  trialMs: number;
  /** Requests and answers take up to this. */
  latencyMs: number;
  actions: Action[];
  /** Then everything heals. */
  faultsEndMs: number;
}

export const isFault = ({ kind }: Action): boolean => !['assign', 'create', 'edit', 'reset', 'roll-out'].includes(kind);

const warmUpMs = 60_000;
const pauseMs = 45_000;

export function makeSchedule(seed: string): Schedule {
  const random = seededRandom(`schedule ${seed}`);
  const nodes = Array.from({ length: 4 }, (_, index) => `node-${index + 1}`);
  const controllers = Array.from({ length: 1 + random.below(2) }, (_, index) => `controller-${index + 1}`);
  const trialMs = random.pick([20_000, 45_000, 90_000]);
  const inSet = nodes.slice(1);
  const rollOuts = makeRollOuts(random);
  const operations = [...makeOperations(random, nodes.slice(0, 1)), ...rollOuts].sort((a, b) => a.atMs - b.atMs);
  const faultsEndMs = operations.at(-1)!.atMs + random.below(2 * trialMs);
  const faults = Array.from({ length: 3 + random.below(6) }, (): Action => {
    const fault = makeFault(random, nodes, controllers, configsOf(operations));
    const { atMs } = random.pick(operations);
    // A server that has just come back is met by a change.
    if (fault.kind === 'restart-server')
      return { ...fault, atMs: Math.max(0, atMs - fault.forMs - random.below(8000)) };
    // Most faults hit what has just begun.
    return {
      ...fault,
      atMs: random.chance(0.7) ? Math.min(faultsEndMs, atMs + random.below(20_000)) : random.below(faultsEndMs),
    };
  });
  const actions = [...operations, ...faults].sort((a, b) => a.atMs - b.atMs);
  const latencyMs = random.pick([0, 5, 80]);
  return { seed, nodes, inSet, controllers: controllers.length, trialMs, latencyMs, actions, faultsEndMs };
}

const configsOf = (operations: readonly Action[]) =>
  operations.flatMap((operation) => (operation.kind === 'create' ? [operation.config.name] : []));

function makeOperations(random: SeededRandom, nodes: readonly string[]): Action[] {
  const operations: Action[] = [];
  const versions = new Map<string, ConfigVersion>();
  let atMs = warmUpMs;
  for (let count = 1 + random.below(4); count > 0; count--) {
    const known = [...versions.values()];
    const node = random.pick(nodes);
    const choice = known.length === 0 ? 0 : random.number();
    if (choice < 0.5) {
      const config = {
        name: `c${versions.size + 1}`,
        version: 1,
        class: pickClass(random),
        isOverlay: random.chance(0.4),
      };
      versions.set(config.name, config);
      operations.push({ atMs, kind: 'create', config });
      const targets = random.chance(0.4) ? nodes : [node];
      for (const target of targets) operations.push({ atMs, kind: 'assign', node: target, config: config.name });
    } else if (choice < 0.6) {
      const before = random.pick(known);
      const config = { ...before, version: before.version + 1, class: pickClass(random) };
      versions.set(config.name, config);
      operations.push({ atMs, kind: 'edit', config });
    } else if (choice < 0.75) operations.push({ atMs, kind: 'assign', node, config: random.pick(known).name });
    else operations.push({ atMs, kind: 'reset', node });
    atMs += random.chance(0.3) ? random.below(3000) : random.below(3 * pauseMs);
  }
  return operations;
}

/** One or two revisions, the second perhaps while the first is still rolling out. */
function makeRollOuts(random: SeededRandom): Action[] {
  const revisions = 1 + random.below(2);
  const onFailure = random.pick(['Halt', 'Rollback'] as const);
  return Array.from({ length: revisions }, (_, index) => {
    const config = { name: 's', version: index + 1, class: pickClass(random), isOverlay: true };
    return { atMs: warmUpMs + index * random.below(4 * pauseMs), kind: 'roll-out' as const, config, onFailure };
  });
}

function pickClass(random: SeededRandom): ConfigClass {
  return random.chance(0.5) ? 'good' : random.pick(behaviours);
}

function makeFault(
  random: SeededRandom,
  nodes: readonly string[],
  controllers: readonly string[],
  configs: readonly string[],
): InjectedFault {
  const node = random.pick(nodes);
  const controller = random.pick(controllers);
  const config = random.pick(configs);
  const client = random.pick([node, node, controller, '*']);
  const forMs = 1000 + random.below(90_000);
  const makers: (() => InjectedFault)[] = [
    () => ({ kind: 'crash-agent', node, halfSteps: random.below(80) }),
    () => ({ kind: 'crash-agent', node, halfSteps: random.below(200) }),
    () => ({ kind: 'crash-controller', controller, halfSteps: random.below(40) }),
    () => ({ kind: 'lose-power', node, offMs: 5000 + random.below(60_000) }),
    () => ({ kind: 'lose-power', node, offMs: 5000 + random.below(60_000) }),
    () => ({ kind: 'kill-kubelet', node }),
    () => ({ kind: 'hang', node, forMs: forMs }),
    () => ({ kind: 'disk-full', node, forMs }),
    () => ({ kind: 'spoil', node, config: node !== nodes[0] ? 's' : random.chance(0.5) ? config : 'local.test' }),
    () => ({ kind: 'cut-off', client, forMs }),
    () => ({ kind: 'lost-answers', client, share: 0.3, forMs }),
    () => ({ kind: 'unanswered', client, share: 0.2, forMs }),
    () => ({ kind: 'late-events', client, lateMs: 15_000, forMs }),
    () => ({ kind: 'break-watches', client }),
    () => ({ kind: 'restart-server', forMs: 20_000 + random.below(30_000) }),
    () => ({ kind: 'compact' }),
    () => ({ kind: 'lie', node, config }),
  ];
  return random.pick(makers)();
}

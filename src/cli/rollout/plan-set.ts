/**
 * What a set would do from now on, if its spec were this: read from the cluster, decided by the same functions as in the controller, and
 * with what each node would get, as the verbs that change single nodes show it.
 */
import { nodeConfigSource, parseRef } from '../../api/config-ref.js';
import { type NodeConfig, nodeConfigs } from '../../api/node-config.js';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { selectorText } from '../../api/selector-object.js';
import { CannotRun } from '../../cannot-run.js';
import { keptNode } from '../../controller/cluster-view.js';
import { todoOf } from '../../controller/set-batch.js';
import { SetCases } from '../../controller/set-cases.js';
import { type ClusterObjects, membersOf } from '../../controller/set-members.js';
import type { ClusterNode } from '../../controller/set-nodes.js';
import { type Plan, plan, type Stalled } from '../../controller/set-plan.js';
import { desiredRevision, payloadOf } from '../../controller/set-revision.js';
import { InvalidSpec, readRules, type SetRules } from '../../controller/set-spec.js';
import { stateIn } from '../../controller/set-state.js';
import { readPayload } from '../../fleet/config-maps.js';
import { type ConfiguredNode, nodeLists } from '../../fleet/configured-node.js';
import { listFieldPolicies } from '../../fleet/field-policies.js';
import { readClaims } from '../../fleet/node-claims.js';
import { expectedMs } from '../../fleet/rollout-estimate.js';
import { letItDrain } from '../../fleet/rollout-step.js';
import { nodes } from '../../kube/resource-type.js';
import { type Plan as NodePlan, planChange, readNow } from '../change/plan.js';
import type { Session } from '../session.js';
import { type PlannedDrains, planDrains } from './plan-drains.js';
import { listSets } from './read-set.js';

export interface PlannedWave {
  wave: number;
  /** In the order in which they are assigned. */
  names: string[];
  soakMs: number;
  approve: boolean;
}

export interface SetPlan {
  set: NodeConfigSet;
  revision: string;
  summary: string;
  decided: Plan;
  waves: PlannedWave[];
  /** Why it would be stalled; undefined where it would roll out. */
  stalled: Stalled | undefined;
  /** What each node would get. Of a large fleet only the first. */
  changes: NodePlan[];
  /** Of those that are looked at. */
  drains: PlannedDrains;
  /** Nodes that are not in `changes`, because there are too many. */
  notShown: number;
  /** The field policies could not be read. */
  withoutPolicies: boolean;
  /** Resources of other systems that could not be read: whether they claim nodes is not known. */
  withoutClaims: string[];
  /** Undefined where a budget of 0 lets nothing happen. */
  expectedMs: number | undefined;
}

/** The pods and configs of each node are read; of more nodes than this only those that come first. */
const mostRead = 200;

export async function planSet(
  session: Session,
  set: NodeConfigSet,
  { trialMs }: { trialMs: number },
): Promise<SetPlan> {
  const rules = rulesOf(set);
  const text = await payloadIn(session, set);
  const desired = desiredRevision(set.metadata.name, text);
  const claims = await readClaims(session.client, { signal: session.signal });
  const members = membersOf(set, { ...(await readObjects(session)), claims });
  const policies = await listFieldPolicies(session.client, session.signal);
  const view = { fieldPolicies: { values: () => (policies === 'forbidden' ? [] : policies) } };
  const cases = new SetCases({ client: session.client, signal: session.signal, view });
  const problem = await cases.problem(set, { text, desired }, members);
  const nowMs = Date.now();
  const input = { set: set.metadata.name, rules, state: stateIn(set.status), desired, nowMs };
  const decided = plan({ ...input, problem, nodes: members.map(({ node }) => node) });
  const waves = plannedWaves(decided, rules, nowMs);
  const names = waves.flatMap((wave) => wave.names);
  const now = await readNow(session, await configured(session, set, names.slice(0, mostRead)));
  const source = parseRef(desired.source(1))!;
  const target = { kind: 'stored' as const, source: nodeConfigSource(source), text };
  const changes =
    problem?.kind === 'invalidConfig'
      ? []
      : now.map((one) => planChange(session, { now: one, target }, { validate: false }));
  const toRead = new Set(names.slice(0, mostRead));
  const planned = members.filter(({ node }) => toRead.has(node.name));
  const drains = await planDrains(session, problem === undefined ? planned : [], { cases, rules, text });
  const { inTrial: mostInTrial, unavailable: mostUnavailable } = decided.survey.allowed;
  const works = waves.map(({ names: { length }, soakMs }) => ({ nodes: length, soakMs: length === 0 ? 0 : soakMs }));
  return {
    set,
    revision: desired.revision,
    summary: desired.summary,
    decided,
    waves,
    stalled: problem ?? stalledByDrains(drains, rules) ?? stalledIn(decided),
    drains,
    changes,
    notShown: Math.max(0, names.length - mostRead),
    withoutPolicies: policies === 'forbidden',
    withoutClaims: claims.forbidden,
    expectedMs: expectedMs(works, { mostInTrial, mostUnavailable, trialMs }),
  };
}

function rulesOf(set: NodeConfigSet): SetRules {
  try {
    return readRules(set.spec);
  } catch (error) {
    if (error instanceof InvalidSpec)
      throw new CannotRun(`the set ${set.metadata.name} cannot be used: ${error.message}`);
    throw error;
  }
}

async function payloadIn(session: Session, { spec: { config }, metadata }: NodeConfigSet): Promise<string> {
  const own = payloadOf(config);
  if (own !== undefined) return own;
  if (config.configMap === undefined)
    throw new CannotRun(`the set ${metadata.name} has no config: write overlay, whole or configMap under spec.config`);
  return (await readPayload(session, config.configMap)).text;
}

/** As the controller has them in its cache. Equal local configs are one object. */
async function readObjects(session: Session): Promise<ClusterObjects> {
  const { client, signal } = session;
  const locals = new Map<string, NonNullable<NodeConfig['status']>['localConfig']>();
  const objects = new Map<string, NodeConfig>();
  for await (const { items } of client.pages<NodeConfig>(nodeConfigs, { signal }))
    for (const item of items) objects.set(item.metadata.name, withSharedLocal(item, locals));
  const cluster: ClusterNode[] = [];
  for await (const { items } of client.pages(nodes, { ...nodeLists, signal })) cluster.push(...items.map(keptNode));
  const sets = await listSets(session);
  return { sets: { values: () => sets }, nodes: { values: () => cluster }, nodeConfigs: objects };
}

function withSharedLocal(
  object: NodeConfig,
  locals: Map<string, NonNullable<NodeConfig['status']>['localConfig']>,
): NodeConfig {
  const { status } = object;
  if (status?.localConfig === undefined) return object;
  const text = JSON.stringify(status.localConfig);
  const localConfig = locals.get(text) ?? status.localConfig;
  locals.set(text, localConfig);
  return { ...object, status: { ...status, localConfig } };
}

/** Who gets it in which wave, if nothing fails. */
export function plannedWaves({ survey, waves: { waves } }: Plan, rules: SetRules, nowMs: number): PlannedWave[] {
  const queue = todoOf(survey, rules, nowMs).map(({ node }) => node.name);
  const assigned = survey.eligible.length - queue.length;
  let taken = 0;
  return waves.map(({ wave, nodes: target }) => {
    const names = queue.slice(taken, Math.max(taken, target - assigned));
    taken += names.length;
    const { soakMs = 0, approve = false } = wave < waves.length ? (rules.waves[wave - 1] ?? {}) : {};
    return { wave, names, soakMs, approve };
  });
}

async function configured(session: Session, { spec }: NodeConfigSet, names: string[]): Promise<ConfiguredNode[]> {
  const labelSelector = selectorText(spec.selector);
  const found = new Map<string, ConfiguredNode>();
  if (names.length === 0) return [];
  const scope = { ...(labelSelector && { labelSelector }), signal: session.signal };
  for await (const page of session.references.pages(scope)) for (const node of page) found.set(node.name, node);
  return names.flatMap((name) => found.get(name) ?? []);
}

function stalledByDrains({ drains, mayDrain }: PlannedDrains, { drain }: SetRules): Stalled | undefined {
  const [first] = drains;
  if (first !== undefined && mayDrain === false)
    return { kind: 'mayNotDrain', message: `${first.node} must be drained; ${letItDrain}` };
  const stuck = drain.onUndrainable === 'Halt' ? drains.find((one) => one.undrainable !== undefined) : undefined;
  return stuck && { kind: 'undrainable', message: `${stuck.node} (${stuck.undrainable})` };
}

function stalledIn({ standing }: Plan): Stalled | undefined {
  return standing.condition === 'Stalled' ? { kind: standing.kind, message: standing.message ?? '' } : undefined;
}

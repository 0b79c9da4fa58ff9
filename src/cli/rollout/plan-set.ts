/**
 * Plans the rollout of a set with a given spec: reads the cluster, decides with the controller's own functions, and adds what each node
 * would get, as the verbs that change single nodes show it.
 */
import { nodeConfigSource } from '../../api/config-ref.js';
import { type MeasuredNodeConfig, measured } from '../../api/local-config.js';
import { nodeConfigs } from '../../api/node-config.js';
import { isEmptyWave, type NodeConfigSet, type SignedConfig } from '../../api/node-config-set.js';
import type { KubeObject } from '../../api/object.js';
import { selectorText } from '../../api/selector-object.js';
import { CannotRun } from '../../cannot-run.js';
import { rfc3339 } from '../../clock.js';
import { readClaims } from '../../controller/claim-view.js';
import { readPayload, tryReadPayload } from '../../fleet/config-maps.js';
import { type ConfiguredNode, nodeLists } from '../../fleet/configured-node.js';
import { listFieldPolicies } from '../../fleet/field-policies.js';
import { nodes } from '../../kube/resource-type.js';
import type { NodeRejection } from '../../rehearsal/rejections.js';
import { drainRoleRemedy } from '../../rollout/assessment.js';
import { todoOf } from '../../rollout/batch.js';
import { SetCases } from '../../rollout/cases.js';
import type { ClusterNode } from '../../rollout/cluster-node.js';
import { keptNode, sharedLocals } from '../../rollout/cluster-node.js';
import { analysisMs, remainingMs, reportedTrialMs, usualTrialMs } from '../../rollout/estimate.js';
import { type ClusterObjects, membersOf } from '../../rollout/members.js';
import { type Plan, plan, type Stalled } from '../../rollout/plan.js';
import { desiredRevision, payloadOf, setConfigMap } from '../../rollout/revision.js';
import { signedIn } from '../../rollout/signed-config.js';
import { readRules, type SetRules } from '../../rollout/spec.js';
import { InvalidSpec } from '../../rollout/spec-values.js';
import { stateIn } from '../../rollout/state.js';
import { statusOf } from '../../rollout/status.js';
import { type PlannedChange, planChange, readNow } from '../change/plan.js';
import type { Session } from '../session.js';
import { type PlannedDrains, planDrains } from './plan-drains.js';
import { belongingTo, planRejections } from './plan-rejections.js';
import { type PlannedSigners, signatureRejections, signersOf, undoRejections } from './plan-signatures.js';
import { listSets } from './read-set.js';

export interface PlannedWave {
  wave: number;
  /** In the order in which they are assigned. */
  names: string[];
  soakMs: number;
  approve: boolean;
  /** The wave has no nodes, so it neither soaks nor waits for approval. */
  isEmpty: boolean;
}

export interface SetPlan {
  set: NodeConfigSet;
  revision: string;
  summary: string;
  decided: Plan;
  waves: PlannedWave[];
  /** Why it would be stalled; undefined if it would roll out. */
  stalled: Stalled | undefined;
  /** Nodes that would reject the config; equal ones are one entry. */
  rejections: NodeRejection[];
  /** Nodes that would reject for its signature what an undo returns them to. */
  undone: NodeRejection[];
  /** Statement and signatures; undefined if it has none. */
  signed: PlannedSigners | undefined;
  /** Change of each node. In a large fleet only of the first ones. */
  changes: PlannedChange[];
  /** Drains of the nodes that were assessed. */
  drains: PlannedDrains;
  /** Nodes that are not in `changes`, because there are too many. */
  notShown: number;
  /** The field policies could not be read. */
  withoutPolicies: boolean;
  /** Resources of other systems that could not be read: whether they claim nodes is not known. */
  withoutClaims: string[];
  /** How long a trial takes, and from whom that is known. */
  trial: { ms: number; from: 'given' | 'nodes' | 'assumed' };
  /** Undefined if a budget of 0 lets nothing happen. */
  expectedMs: number | undefined;
}

/** The pods and configs of each node are read; of more nodes than this only those that come first. */
const mostRead = 200;

export async function planSet(
  session: Session,
  set: NodeConfigSet,
  { trialMs: given }: { trialMs?: number | undefined } = {},
): Promise<SetPlan> {
  const rules = rulesOf(set);
  const { text, signed } = await payloadIn(session, set);
  const desired = desiredRevision(set.metadata.name, text, signed);
  const claims = await readClaims(session.client, { signal: session.signal });
  const selected = membersOf(set, { ...(await readObjects(session)), claims });
  const reported = reportedTrialMs(selected.map(({ object }) => object));
  const trialMs = given ?? reported ?? usualTrialMs;
  const policies = await listFieldPolicies(session.client, session.signal);
  const cases = new SetCases({
    fieldPolicies: { values: () => (policies === 'forbidden' ? [] : policies) },
    readPayload: (ref) => tryReadPayload(session, ref),
    turn: () => session.client.clock.sleep(0, session.signal),
  });
  const { problem, members } = await cases.assess(set, { text, desired }, selected);
  const nowMs = Date.now();
  const configMap = setConfigMap(set.metadata.name, text, 1, signed);
  const own = belongingTo(members);
  const rejections = [...(await planRejections(set, text, members)), ...signatureRejections(configMap, own, nowMs)];
  const input = { set: set.metadata.name, rules, state: stateIn(set.status), desired, nowMs };
  const decided = plan({ ...input, problem, nodes: members.map(({ node }) => node) });
  const waves = plannedWaves(decided, rules, nowMs);
  const names = waves.flatMap((wave) => wave.names);
  const now = await readNow(session, await configured(session, set, names.slice(0, mostRead)));
  const target = { kind: 'stored' as const, source: nodeConfigSource(desired.source(1)), text };
  const undone = await undoRejections(session, { set, revision: desired.revision, configMap, members: own, nowMs });
  const changes =
    problem?.kind === 'invalidConfig'
      ? []
      : now.map((one) => planChange(session, { now: one, target }, { validate: false }));
  const toRead = new Set(names.slice(0, mostRead));
  const planned = members.filter(({ node }) => toRead.has(node.name));
  const drains = await planDrains(session, problem === undefined ? planned : [], { cases, rules, text });
  return {
    set,
    revision: desired.revision,
    summary: desired.summary,
    decided,
    waves,
    stalled: problem ?? stalledByDrains(drains, rules) ?? stalledIn(decided),
    rejections,
    undone,
    signed: signed && signersOf(configMap, desired, own),
    drains,
    changes,
    notShown: Math.max(0, names.length - mostRead),
    withoutPolicies: policies === 'forbidden',
    withoutClaims: claims.forbidden,
    trial: { ms: trialMs, from: given !== undefined ? 'given' : reported !== undefined ? 'nodes' : 'assumed' },
    expectedMs: remainingMs({
      status: statusOf(set, decided, members, rfc3339(nowMs)),
      soaksMs: rules.waves.map(({ soakMs }) => soakMs),
      analysisMs: analysisMs(set.spec.strategy?.analysis),
      trialMs,
      nowMs,
    }),
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

async function payloadIn(
  session: Session,
  { spec: { config }, metadata }: NodeConfigSet,
): Promise<{ text: string; signed: SignedConfig | undefined }> {
  const own = payloadOf(config);
  if (own !== undefined) return { text: own, signed: config.signed };
  if (config.configMap === undefined)
    throw new CannotRun(
      `the set ${metadata.name} has no config: write overlay, whole, configMap or signed under spec.config`,
    );
  const { text, configMap } = await readPayload(session, config.configMap);
  return { text, signed: signedIn(configMap, text) };
}

/** As the controller has them in its cache. Equal local configs are one object. */
async function readObjects(session: Session): Promise<ClusterObjects> {
  const { client, signal } = session;
  const shared = sharedLocals();
  const objects = new Map<string, MeasuredNodeConfig>();
  for await (const { items } of client.pages(nodeConfigs, { signal }))
    for (const item of items) objects.set(item.metadata.name, shared(measured(item)));
  const cluster: ClusterNode[] = [];
  for await (const { items } of client.pages(nodes, { ...nodeLists, signal })) cluster.push(...items.map(withCapacity));
  const sets = await listSets(session);
  return { sets: { values: () => sets }, nodes: { values: () => cluster }, nodeConfigs: objects };
}

/** Validation depends on it. */
function withCapacity(node: KubeObject): ClusterNode {
  const kept = keptNode(node);
  const { capacity } = (node.status ?? {}) as { capacity?: Record<string, string> };
  return capacity === undefined ? kept : ({ ...kept, status: { ...kept.status, capacity } } as ClusterNode);
}

/** Nodes by wave, if nothing fails. */
export function plannedWaves({ survey, waves: { waves } }: Plan, rules: SetRules, nowMs: number): PlannedWave[] {
  const queue = todoOf(survey, rules, nowMs).map(({ node }) => node.name);
  const assigned = survey.eligible.length - queue.length;
  let taken = 0;
  return waves.map(({ wave, nodes: target }, at) => {
    const names = queue.slice(taken, Math.max(taken, target - assigned));
    taken += names.length;
    const isEmpty = isEmptyWave(waves, at);
    const hasPause = !isEmpty && wave < waves.length;
    const { soakMs = 0, approve = false } = hasPause ? (rules.waves[wave - 1] ?? {}) : {};
    return { wave, names, soakMs, approve, isEmpty };
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
    return { kind: 'mayNotDrain', message: `${first.node} must be drained; ${drainRoleRemedy}` };
  const stuck = drain.onUndrainable === 'Halt' ? drains.find((one) => one.undrainable !== undefined) : undefined;
  return stuck && { kind: 'undrainable', message: `${stuck.node} (${stuck.undrainable})` };
}

function stalledIn({ progress }: Plan): Stalled | undefined {
  return progress.condition === 'Stalled' ? { kind: progress.kind, message: progress.message ?? '' } : undefined;
}

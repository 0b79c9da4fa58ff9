/** Checks of `relet doctor` about nodes: agents, states, permissions to read configs, pinned fields, clocks. */
import { upgradeReasons } from '../../api/condition-reasons.js';
import { refOf } from '../../api/config-ref.js';
import { type OwedAction, owedActions } from '../../api/node-annotations.js';
import type { KubeObject } from '../../api/object.js';
import { isForbidden } from '../../api/status.js';
import { DecodeError, decode } from '../../config/decode.js';
import { getField, type KubeletConfig, type Minor } from '../../config/model.js';
import { isOverlay } from '../../config/overlay.js';
import { sameValue } from '../../config/same-value.js';
import { type AgentPresence, agentPresence } from '../../fleet/agent-presence.js';
import {
  type ConfigState,
  type ConfiguredNode,
  configState,
  errorOutcome,
  membershipOf,
} from '../../fleet/configured-node.js';
import { nodeConfigReader } from '../../fleet/node-configs.js';
import { readOverlay } from '../../fleet/payload.js';
import { releaseHint } from '../../fleet/state-text.js';
import { leases } from '../../kube/resource-type.js';
import { byNaturalOrder } from '../../natural-order.js';
import type { Session } from '../session.js';
import { type Diagnosis, someOf } from './diagnosis.js';

/** Limit of nodes for checks that send requests per node. */
const mostAsked = 50;

export function checkAgents(nodes: ConfiguredNode[], nowMs: number): Diagnosis[] {
  const missing = (kind: AgentPresence['kind']) => nodes.filter((node) => agentPresence(node, nowMs).kind === kind);
  const [without, silent] = [missing('NoAgent'), missing('Silent')];
  const neverReported = without.filter(({ configSource }) => configSource !== undefined).map(({ name }) => name);
  const versions = new Map<string, string[]>();
  for (const { agentVersion, name } of nodes)
    if (agentVersion !== undefined) versions.set(agentVersion, [...(versions.get(agentVersion) ?? []), name]);
  const found: Diagnosis[] = [];
  if (neverReported.length > 0)
    found.push({
      level: 'error',
      what: `assigned a config, and nothing there ever reported about it: ${someOf(neverReported)}`,
      remedy: "run 'relet kubelet --dynamic-config-dir=…' in front of the kubelet there, or 'relet reset' them",
    });
  const named = (some: ConfiguredNode[]) => someOf(some.map(({ name }) => name).sort(byNaturalOrder));
  if (without.length > 0)
    found.push({
      level: 'warning',
      what: `no agent has ever reported from ${without.length} of ${nodes.length} nodes, so nobody knows what they run: ${named(without)}`,
      remedy:
        "look whether it runs there: 'kubectl -n relet-system get pods -o wide', or the service of relet on the host; nodes of a provider, of Talos or of OpenShift need no agent: 'relet export' writes what their owner applies (docs/install.md)",
    });
  if (silent.length > 0)
    found.push({
      level: 'warning',
      what: `the agents of ${silent.length} of ${nodes.length} nodes are silent, so nobody knows what they run now: ${named(silent)}`,
      remedy: forNodes(
        "'relet describe NODE' shows since when; look at the agent on the host, and whether it reaches the API server",
        silent.map(({ name }) => name),
      ),
    });
  const reporting = nodes.length - without.length - silent.length;
  if (reporting === nodes.length)
    found.push({ level: 'ok', what: `${reporting} of ${reporting} nodes report their config` });
  if (versions.size === 1)
    found.push({ level: 'ok', what: `relet on the nodes is version ${[...versions.keys()][0]}` });
  if (versions.size > 1)
    found.push({
      level: 'warning',
      what: `nodes run different versions or builds of relet: ${[...versions].map(([version, names]) => `${version} (${someOf(names)})`).join(', ')}`,
      remedy: 'fine during an upgrade; finish it',
    });
  return found;
}

const failed = {
  alone: "'relet describe NODE' shows why, and how to return; 'relet edit NODE' corrects the config",
  ofSet:
    "'relet describe NODE' shows why; correct the config of the set SET, or 'relet rollout undo SET' takes it back",
};

const remedies: Partial<Record<ConfigState, string>> = {
  rejected: failed.alone,
  'rolled back': failed.alone,
  waiting: "'relet describe NODE' shows what it waits for",
  trial: "'relet wait NODE --for=lastKnownGood' waits for the end of the trial",
};

const owedWhat: Record<OwedAction, string> = {
  drain: 'have pods of before a change that needs a drain',
  'state-file': 'need a state file of the kubelet removed for the config that they are assigned',
  reboot: 'need a reboot after a change',
};

const dismissHint = "'relet describe NODE' shows for which fields, 'relet dismiss NODE' drops it";

const owedRemedies: Record<OwedAction, string> = {
  drain: `'kubectl drain' and 'kubectl uncordon' them; ${dismissHint}`,
  'state-file': `drain them, and remove the file under the root directory of the kubelet; ${dismissHint}`,
  reboot: `drain and reboot them; ${dismissHint}`,
};

/** With the name of the node, where it is only one. */
const forNodes = (remedy: string, names: string[]): string =>
  names.length === 1 ? remedy.replaceAll('NODE', names[0]!) : remedy;

/** The set that decides what the node runs. */
function setOf(node: ConfiguredNode): string | undefined {
  const membership = membershipOf(node);
  return membership === undefined || membership.isTaken ? undefined : membership.claim.set;
}

export function checkStates(nodes: ConfiguredNode[], nowMs: number): Diagnosis[] {
  // Nodes without a report are handled by checkAgents.
  const known = nodes.filter((node) => agentPresence(node, nowMs).kind === 'Present');
  const byState = new Map<string, { state: ConfigState; set: string | undefined; names: string[] }>();
  for (const node of known) {
    const state = configState(node);
    const remedy = remedies[state];
    const set = remedy === failed.alone ? setOf(node) : undefined;
    const group = byState.get(`${state} ${set}`) ?? { state, set, names: [] };
    byState.set(`${state} ${set}`, { ...group, names: [...group.names, node.name] });
  }
  const levels: Partial<Record<ConfigState, Diagnosis['level']>> = {
    rejected: 'error',
    'rolled back': 'error',
    waiting: 'warning',
  };
  const found: Diagnosis[] = [];
  for (const { state, set, names } of byState.values()) {
    const remedy = set === undefined ? remedies[state] : failed.ofSet.replaceAll('SET', set);
    if (remedy !== undefined)
      found.push({
        level: levels[state] ?? 'ok',
        what: `${state}: ${someOf(names)}${set === undefined ? '' : ` (set ${set})`}`,
        remedy: forNodes(remedy, names),
      });
  }
  const held = nodes.filter((node) => node.held !== undefined).map(({ name }) => name);
  if (held.length > 0)
    found.push({
      level: 'warning',
      what: `held, and follow no new assignment: ${someOf(held)}`,
      remedy: forNodes(`'relet describe NODE' shows since when and why; ${releaseHint}`, held),
    });
  const holds = nodes.filter((node) => node.hold !== undefined).map(({ name }) => name);
  if (holds.length > 0)
    found.push({
      level: 'warning',
      what: `held through the API, so that no set changes them: ${someOf(holds)}`,
      remedy: forNodes("'relet describe NODE' shows why, 'relet release NODE' releases it", holds),
    });
  for (const action of owedActions) {
    const owing = nodes.filter(({ owed }) => owed?.left === action).map(({ name }) => name);
    if (owing.length > 0)
      found.push({
        level: 'warning',
        what: `${owedWhat[action]}: ${someOf(owing)}`,
        remedy: forNodes(owedRemedies[action], owing),
      });
  }
  const cannot = nodes.filter(
    ({ status, condition }) => status.error && errorOutcome(status.error, condition) === 'not followed',
  );
  for (const { name, status } of cannot.slice(0, 5))
    found.push({
      level: 'error',
      what: `${name} cannot follow its reference: ${status.error}`,
      remedy: 'see the checks of ConfigMaps and access below',
    });
  if (found.length > 0 || known.length === 0) return found;
  const which = known.length === nodes.length ? 'no node' : `none of the ${known.length} nodes that report`;
  return [{ level: 'ok', what: `${which} is on trial, waiting, rejected or rolled back` }];
}

/** Before the next boot of their hosts. */
export function checkBoots(nodes: ConfiguredNode[]): Diagnosis[] {
  const names = nodes.filter(({ bootRisk }) => bootRisk !== undefined).map(({ name }) => name);
  if (names.length === 0) return [];
  const what = `their config crashed at a boot, and has not survived one since: ${someOf(names)}`;
  const remedy = "'relet describe NODE' shows the kubelet's error; correct the host or the config before the next boot";
  return [{ level: 'warning', what, remedy: forNodes(remedy, names) }];
}

/** Before the next start of their kubelets. */
export function checkUpgrades(nodes: ConfiguredNode[]): Diagnosis[] {
  return [upgradeReasons.rejected, upgradeReasons.changes].flatMap(({ reason }): Diagnosis[] => {
    const names = nodes.filter(({ upgradeRisk }) => upgradeRisk?.reason === reason).map(({ name }) => name);
    if (names.length === 0) return [];
    const isRejected = reason === upgradeReasons.rejected.reason;
    const what = isRejected
      ? 'their kubelet was replaced by one that would not start with their config'
      : 'their kubelet was replaced by one that takes their config in another way';
    const remedy = "'relet describe NODE' shows the fields; correct them before the kubelet is restarted";
    return [
      { level: isRejected ? 'error' : 'warning', what: `${what}: ${someOf(names)}`, remedy: forNodes(remedy, names) },
    ];
  });
}

/** Changes that others made to the units of kubelets. */
export function checkUnits(nodes: ConfiguredNode[]): Diagnosis[] {
  return nodes
    .filter(({ unitNotice }) => unitNotice !== undefined)
    .slice(0, 5)
    .map(({ name, unitNotice }) => ({
      level: 'warning',
      what: `${name}: ${unitNotice!.message}`,
      remedy: `docs/attached-mode.md, under ${unitNotice!.reason}, shows what relet does then`,
    }));
}

/** Warnings of the nodes themselves, such as a value that only the local file has: the one thing `kubeadm upgrade` cannot reach. */
export function checkWarnings(nodes: ConfiguredNode[]): Diagnosis[] {
  return nodes
    .filter(({ warnings }) => warnings.length > 0)
    .slice(0, 5)
    .map(({ name, warnings: [first, ...others] }) => ({
      level: 'warning',
      what: `${name}: ${first}${others.length === 0 ? '' : `; and ${others.length} more`}`,
      remedy: `'relet describe ${name}' shows all of them`,
    }));
}

/** The controller makes one for each Node within moments. */
export function checkNodeConfigs(nodes: ConfiguredNode[]): Diagnosis[] {
  const without = nodes.filter(({ version }) => version === '').map(({ name }) => name);
  if (without.length === 0) return [];
  const remedy = "look whether the controller runs: 'kubectl -n relet-system get pods', or 'relet controller' by hand";
  return [
    { level: 'warning', what: `have no NodeConfig, and nobody grants them anything: ${someOf(without)}`, remedy },
  ];
}

/** As the node itself: its ConfigMap must be readable with the kubelet's own credential. */
export async function checkNodeAccess(session: Session, nodes: ConfiguredNode[]): Promise<Diagnosis[]> {
  const assigned = nodes.filter(({ configSource }) => refOf(configSource) !== undefined);
  const denied: string[] = [];
  for (const node of assigned.slice(0, mostAsked)) {
    const { namespace, name } = refOf(node.configSource)!;
    if (!(await mayRead(session, node))) denied.push(`${node.name} (${namespace}/${name})`);
  }
  if (denied.length > 0)
    return [
      {
        level: 'error',
        what: `may not read the ConfigMap they are assigned: ${someOf(denied)}`,
        remedy:
          'grant get on it with a Role with resourceNames and a RoleBinding to user system:node:NAME; servers from 1.11 on with the Node authorizer do so themselves while they keep spec.configSource',
      },
    ];
  if (assigned.length === 0) return [];
  const asked = Math.min(assigned.length, mostAsked);
  return [
    {
      level: 'ok',
      what: `${asked === assigned.length ? 'every assigned node' : `each of ${asked} assigned nodes asked about`} may read its ConfigMap`,
    },
  ];
}

/** The server is asked; who may not ask that is shown what the controller reports. */
async function mayRead({ client, signal }: Session, { name, configSource, granted }: ConfiguredNode): Promise<boolean> {
  const { namespace, name: configMap } = refOf(configSource)!;
  const spec = {
    user: `system:node:${name}`,
    groups: ['system:nodes', 'system:authenticated'],
    resourceAttributes: { verb: 'get', resource: 'configmaps', namespace, name: configMap },
  };
  try {
    const { status } = await client.create<KubeObject>(
      { group: 'authorization.k8s.io', version: 'v1', resource: 'subjectaccessreviews' },
      {},
      { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
      { signal },
    );
    return (status as { allowed?: boolean } | undefined)?.allowed === true;
  } catch (error) {
    if (!isForbidden(error) || granted === undefined) throw error;
    return granted;
  }
}

/** If the kubelets may not be queried, their agents report the same as warnings. */
export async function checkPinned(session: Session, nodes: ConfiguredNode[]): Promise<Diagnosis[]> {
  const pinned: { node: string; fields: PinnedField[] }[] = [];
  const reader = nodeConfigReader(session);
  const dynamic = nodes.filter(({ status, pinnedByFlags }) => status.active !== undefined && pinnedByFlags?.length);
  for (const node of dynamic.slice(0, mostAsked)) {
    const running = await reader.askRunning(node);
    const { activeText, minor } = await reader.read(node);
    if (running === undefined || activeText === undefined || activeText === 'gone') continue;
    const written = writtenIn(activeText, minor);
    const fields = node.pinnedByFlags!.map((path) => ({
      path,
      written: getField(written, path),
      runs: getField(running, path),
    }));
    pinned.push({ node: node.name, fields });
  }
  return pinnedWithEffect(pinned);
}

export interface PinnedField {
  path: string;
  /** The value in the payload, if any, and the value that runs nevertheless. */
  written: unknown;
  runs: unknown;
}

/** Fields that a payload sets; none if it cannot be read. */
function writtenIn(text: string, minor: Minor): KubeletConfig {
  try {
    return isOverlay(text) ? readOverlay(text, minor).config : decode(text, { minor, strict: false }).config;
  } catch (error) {
    if (error instanceof DecodeError) return {};
    throw error;
  }
}

/** Only where a config wants another value than the flag's: kubeadm pins fields on every node, and nobody is harmed. */
export function pinnedWithEffect(pinned: readonly { node: string; fields: PinnedField[] }[]): Diagnosis[] {
  const nodesByFields = new Map<string, string[]>();
  for (const { node, fields } of pinned) {
    const overruled = fields.filter(
      ({ path, written, runs }) => written !== undefined && !sameValue(written, runs, path),
    );
    if (overruled.length === 0) continue;
    const paths = someOf(overruled.map(({ path }) => path));
    nodesByFields.set(paths, [...(nodesByFields.get(paths) ?? []), node]);
  }
  return [...nodesByFields].map(([paths, names]) => ({
    level: 'warning',
    what: `${someOf(names)}: flags of the kubelet pin ${paths}; the config has another value there, without effect`,
    remedy: forNodes(
      "take the flags off the command line of the kubelet, or the fields out of the config: 'relet set NODE FIELD-'",
      names,
    ),
  }));
}

/** A Lease renewed in the future can only come from a clock that is ahead; one that is behind looks the same as a late renewal. */
export async function checkNodeClocks({ client, signal }: Session, nodes: ConfiguredNode[]): Promise<Diagnosis[]> {
  const { headers } = await client.raw({ method: 'GET', path: '/version', signal });
  const serverMs = Date.parse(headers.date ?? '');
  const known = new Set(nodes.map(({ name }) => name));
  const ahead: string[] = [];
  for await (const { items } of client.pages(leases, { namespace: 'kube-node-lease', signal }))
    for (const { metadata, spec } of items) {
      const renewed = Date.parse((spec as { renewTime?: string } | undefined)?.renewTime ?? '');
      const seconds = Math.round((renewed - serverMs) / 1000);
      if (known.has(metadata.name) && seconds > 10) ahead.push(`${metadata.name} (${seconds}s)`);
    }
  if (ahead.length === 0) return [];
  return [{ level: 'warning', what: `clocks ahead of the server's: ${someOf(ahead)}`, remedy: 'set them with NTP' }];
}

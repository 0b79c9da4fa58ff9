/** One node in `relet get`: as a table row, and as an object for `-o json` and its kin. Pure. */
import { type ConfigRef, formatRef, refOf } from '../../api/config-ref.js';
import { type AgentPresence, agentPresence } from '../../fleet/agent-presence.js';
import { type ConfiguredNode, membershipOf } from '../../fleet/configured-node.js';
import { configuredAt, isHeld, type Known, nodeState, stateText, troubleOf } from '../../fleet/state-text.js';
import { ageOf, type Column } from '../terminal/output.js';
import { createPaint, type Paint } from '../terminal/terminal.js';

/** The object that templates and sorting see. docs/cli.md describes it. */
export interface NodeObject {
  apiVersion: 'cli.relet.dev/v1';
  kind: 'NodeConfigSummary';
  metadata: { name: string; creationTimestamp: string; labels: Record<string, string> };
  spec: { configSource?: ConfiguredNode['configSource'] };
  status: ConfiguredNode['status'] & {
    state: string;
    cause?: string;
    held?: ConfiguredNode['held'];
    hold?: ConfiguredNode['hold'];
    owed?: ConfiguredNode['owed'];
    upgradeRisk?: ConfiguredNode['upgradeRisk'];
    /** The set that the node belongs to. */
    set?: string;
    /** A person assigned another config than the set did. */
    takenFromSet?: true;
    /** When the reference was changed last, as far as it is known. */
    configuredAt?: string;
    trialEndsAt?: string;
    ready: string;
    kubeletVersion: string;
    agentVersion?: string;
    signing?: ConfiguredNode['signing'];
    /** Whether the agent is there. Where it is not, active and lastKnownGood are what it reported last, if anything. */
    agent: AgentPresence['kind'];
  };
}

export function nodeObject(node: ConfiguredNode, known: Known): NodeObject {
  const { configSource, trialEndsAt, agentVersion } = node;
  const state = nodeState(node, known);
  const agent = agentPresence(node, known.nowMs).kind;
  return {
    apiVersion: 'cli.relet.dev/v1',
    kind: 'NodeConfigSummary',
    metadata: { name: node.name, creationTimestamp: node.createdAt, labels: node.labels },
    spec: { ...(configSource && { configSource }) },
    status: {
      state: isHeld(node) && agent === 'Present' ? 'held' : state,
      ...node.status,
      ...(node.cause !== undefined && { cause: node.cause }),
      ...(node.held !== undefined && { held: node.held }),
      ...(node.hold !== undefined && { hold: node.hold }),
      ...(node.owed !== undefined && { owed: node.owed }),
      ...(node.upgradeRisk !== undefined && { upgradeRisk: node.upgradeRisk }),
      ...setCells(node),
      ...optional('configuredAt', configuredAt(node)),
      ...(state === 'trial' && trialEndsAt && { trialEndsAt }),
      ready: node.ready,
      kubeletVersion: node.kubeletVersion,
      ...(agentVersion && { agentVersion }),
      ...(node.signing !== undefined && { signing: node.signing }),
      agent,
    },
  };
}

function setCells(node: ConfiguredNode): Pick<NodeObject['status'], 'set' | 'takenFromSet'> {
  const membership = membershipOf(node);
  if (membership === undefined) return {};
  return { set: membership.claim.set, ...(membership.isTaken && { takenFromSet: true as const }) };
}

const optional = (key: 'configuredAt', value: string | undefined) => (value === undefined ? {} : { [key]: value });

/** Only what is shown; thousands of these are kept at once. */
export interface NodeRow {
  name: string;
  state: string;
  /** In parentheses where the node was taken from it. */
  set: string;
  assigned: string;
  active: string;
  lastKnownGood: string;
  age: string;
  error: string;
  /** One word for the error, such as `CrashLoop`, where there is one. */
  reason: string | undefined;
  ready: string;
  version: string;
  /** Persons whose signatures its config has; empty on a host that needs none. */
  signed: string;
  labels: string;
}

export function nodeRow(
  node: ConfiguredNode,
  known: Known,
  { wide = false, labels = false, short = false } = {},
): NodeRow {
  const { configSource, status } = node;
  const { nowMs } = known;
  const name = (source: ConfigRef | undefined) =>
    source === undefined ? 'local' : wide ? formatRef(source, 'short') : source.name;
  const isKnown = agentPresence(node, nowMs).kind === 'Present';
  const reported = (source: ConfiguredNode['configSource']) => (isKnown ? name(refOf(source)) : 'unknown');
  return {
    name: node.name,
    state: short ? stateText(node, known).replace(/ left$/, '') : stateText(node, known),
    set: setText(node),
    assigned: node.unset ? reported(status.assigned) : name(refOf(configSource)),
    active: reported(status.active),
    lastKnownGood: reported(status.lastKnownGood),
    age: ageOf(configuredAt(node), nowMs),
    ...troubleOf(node),
    ready: node.ready,
    version: node.kubeletVersion,
    signed: node.signing === undefined ? '' : (node.signing.signers?.join(',') ?? 'no'),
    labels: labels
      ? Object.entries(node.labels)
          .map(([key, value]) => `${key}=${value}`)
          .join(',')
      : '',
  };
}

function setText(node: ConfiguredNode): string {
  const { set = '', takenFromSet } = setCells(node);
  return takenFromSet ? `(${set})` : set;
}

/** Hashes tell configs apart, so a name keeps its end; the last known good is in the state already. */
export function rowColumns({
  wide = false,
  labels = false,
  sets = false,
  signed = false,
  paint = createPaint(false),
} = {}): Column<NodeRow>[] {
  return [
    { title: 'NODE', cell: ({ name }) => name, gives: 'middle' },
    {
      title: 'STATE',
      cell: ({ state }) => state,
      // `trial ending`; on a terminal nothing is longer.
      reserve: 12,
      paint: (text) => paintState(text, paint),
    },
    ...(sets ? [{ title: 'SET', cell: ({ set }: NodeRow) => set, gives: 'end' as const, reserve: 6 }] : []),
    { title: 'ASSIGNED', cell: ({ assigned }) => assigned, gives: 'start', reserve: 25 },
    { title: 'ACTIVE', cell: ({ active }) => active, gives: 'start', reserve: 25 },
    {
      title: 'LAST-KNOWN-GOOD',
      cell: ({ lastKnownGood }) => lastKnownGood,
      gives: 'start',
      reserve: 25,
      optional: true,
    },
    ...(wide
      ? [
          { title: 'READY', cell: ({ ready }: NodeRow) => ready },
          { title: 'VERSION', cell: ({ version }: NodeRow) => version || '<unknown>' },
          ...(signed ? [{ title: 'SIGNED', cell: (row: NodeRow) => row.signed }] : []),
        ]
      : []),
    { title: 'AGE', cell: ({ age }) => age, reserve: 5 },
    { title: 'ERROR', cell: ({ error }) => error, brief: ({ reason }) => reason, gives: 'end', reserve: 40 },
    ...(labels ? [{ title: 'LABELS', cell: ({ labels: text }: NodeRow) => text }] : []),
  ];
}

/** Red: the node does not run its assigned config. Yellow: not yet, or unknown. */
export function paintState(text: string, paint: Paint): string {
  if (/^(rejected|rolled back)/.test(text)) return paint.red(text);
  return /^(waiting|trial|held|outdated|no agent|silent)/.test(text) ? paint.yellow(text) : paint.green(text);
}

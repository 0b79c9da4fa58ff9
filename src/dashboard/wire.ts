/**
 * Messages between the page and the server of the dashboard, as JSON. Both sides import this file; it imports only types and names of
 * the API. Times are milliseconds since the epoch. All paths are relative to the base path.
 *
 *   POST api/login {token} or {once}      → Me                 POST api/logout
 *   GET  api/me                           → Me                 401: log in
 *   GET  api/stream                       → events, see StreamEvents
 *   GET  api/nodes/NAME                   → NodeDetails        GET api/nodes/NAME/diff?from=&to= → ConfigDiff
 *   POST api/nodes/NAME/VERB NodeAction   → ActionResult       VERB: one of nodeVerbs
 *   GET  api/sets/NAME                    → SetDetails
 *   POST api/sets/NAME/VERB SetAction     → ActionResult       VERB: one of setVerbs
 *   POST api/sets {yaml, base?, dryRun?}  → ActionResult       creates a set; with a SetBase, replaces the spec of that one
 *   POST api/sets/plan {yaml, base?}      → PlanAnswer
 *   POST api/sets/rehearse RehearseRequest → lines of JSON, RehearsalLine
 *   GET  api/configs → ConfigSummary[]    GET api/configs/NAMESPACE/NAME → ConfigDetails   GET api/configs/diff?a=&b=&kubelet= → ConfigDiff
 *   GET  api/select?selector=             → Selection          GET api/labels → LabelKey[]
 *   GET  api/timeline?hours=              → Timeline           GET api/upgrade-check?to=1.37 → UpgradeAnswer
 *   GET  api/inventory                    → InventoryAnswer    GET api/audit → AuditAnswer
 *
 * Every POST has the header `x-relet-csrf` with the value of Me, but for login; a GET may have it. Where it is not that of the session,
 * the answer is CSRFTokenMissing. An answer of 400 and more is a Problem.
 */

import type { NodeConfigSetStatus, SetRevision, WaveStatus } from '../api/node-config-set.js';
import type { HistoryEntry } from '../fleet/config-history.js';
import type { Inventory, Pool } from '../fleet/inventory.js';
import type { ImpactSentence, Preview } from '../fleet/preview.js';
import type { ShownState } from '../fleet/state-text.js';
import type { RolloutPlan } from '../rollout/plan-output.js';

export type {
  ApprovalPreview,
  PlannedFieldChange,
  RolloutPlan,
  RolloutPlanNode,
  RolloutPlanWave,
} from '../rollout/plan-output.js';

/** Class of a change on a live node. */
export type Needs = Preview['needs'];

export const csrfHeader = 'x-relet-csrf';

/** Why a request was not answered. `remedy` and `command` are for people: what to do next. */
export interface Problem {
  /** CamelCase: a reason of the API server such as Forbidden, or one of docs/dashboard.md. */
  reason: string;
  message: string;
  remedy?: string;
  command?: string;
}

/** Rights of this person by RBAC, and of the server by --read-only. A false one is absent from the page. */
export interface May {
  /** The fleet: `list` and `watch` of nodes and, where there are, of nodeconfigs. */
  seeFleet: boolean;
  seeSets: boolean;
  seeConfigs: boolean;
  /** approve, abort, retry, undo: `patch` of nodeconfigsets/status. */
  steerSets: boolean;
  /** pause, resume: `patch` of nodeconfigsets. */
  changeSets: boolean;
  createSets: boolean;
  /** set, undo, reset … of one node: `patch` of nodeconfigs, or of nodes. */
  changeNodes: boolean;
}

export interface Me {
  user: string;
  groups: string[];
  readOnly: boolean;
  csrf: string;
  server: { version: string; kubernetes: string };
  /** The kind of object that holds the reference, and the name of the cluster or its address. */
  cluster: { mode: 'NodeConfig' | 'Node'; name: string };
  may: May;
  /** How the person logged in; a proxy logs in and out by itself. */
  login: 'token' | 'kubeconfig' | 'proxy';
}

/** One node in the fleet. Short names of configs: `local`, the name of the ConfigMap, or `unknown` where no agent reports. */
export interface Row {
  name: string;
  state: ShownState;
  assigned: string;
  active: string;
  lastKnownGood: string;
  /** Empty: none. */
  set: string;
  /** 0: outside of waves. */
  wave: number;
  /** A person assigned another config than its set did. */
  taken: boolean;
  zone: string;
  kubelet: string;
  ready: boolean;
  /** On its host, or through the API. */
  held: boolean;
  /** When the reference was changed last, as far as it is known; 0: not known. */
  since: number;
  /** 0: not in trial, or not reported. */
  trialEndsAt: number;
  /** When its agent reported last, where it is silent; else 0. */
  silentSince: number;
  /** One clause; empty: none. */
  error: string;
}

const textColumns = ['state', 'assigned', 'active', 'lastKnownGood', 'set', 'zone', 'kubelet', 'error'] as const;
const numberColumns = ['wave', 'since', 'trialEndsAt', 'silentSince'] as const;
const flagColumns = ['taken', 'ready', 'held'] as const;

/** Rows by column. Texts that many rows share are once in `texts`, and by number in their column. */
export interface PackedRows {
  name: string[];
  texts: string[];
  columns: Record<
    (typeof textColumns)[number] | (typeof numberColumns)[number] | (typeof flagColumns)[number],
    number[]
  >;
}

export function packRows(rows: readonly Row[]): PackedRows {
  const numbers = new Map<string, number>();
  const number = (text: string): number => {
    const known = numbers.get(text) ?? numbers.size;
    numbers.set(text, known);
    return known;
  };
  const columns = {} as PackedRows['columns'];
  for (const column of textColumns) columns[column] = rows.map((row) => number(row[column]));
  for (const column of numberColumns) columns[column] = rows.map((row) => row[column]);
  for (const column of flagColumns) columns[column] = rows.map((row) => (row[column] ? 1 : 0));
  return { name: rows.map(({ name }) => name), texts: [...numbers.keys()], columns };
}

export function unpackRows({ name, texts, columns }: PackedRows): Row[] {
  return name.map((name, at) => {
    const row: Record<string, unknown> = { name };
    for (const column of textColumns) row[column] = texts[columns[column][at]!];
    for (const column of numberColumns) row[column] = columns[column][at];
    for (const column of flagColumns) row[column] = columns[column][at] === 1;
    return row as unknown as Row;
  });
}

/** The name of each event of the stream, and its data. A stream that is opened again begins with a new snapshot. */
export interface StreamEvents {
  /** The snapshot in parts, the first is 0: then the page forgets the rows that it had. The fleet is complete after `parts`. */
  fleet: { part: number; parts: number; at: number; rows: PackedRows };
  /** Changes after the snapshot, a few times a second. */
  rows: { at: number; upsert: Row[]; remove: string[] };
  /** All sets, whenever one changes. */
  sets: { at: number; sets: SetSummary[] };
  /** The data is as old as `since`, and why; each is sent again when `why` changes. */
  stale: { since: number; why: string };
  fresh: { at: number };
  /** Permissions changed: the page reads api/me again. A snapshot follows if the user may read the fleet. */
  access: { may: May };
  /** The credential has expired or was revoked: the stream ends, and the page logs in again. Not for a proxy, which has a new one. */
  login: Problem;
  /** There are too many streams already: it ends. As an event, since a page is not shown the status of an answer. */
  rejected: Problem;
  /** Every 4 s. */
  heartbeat: { at: number };
}

export interface SetSummary {
  name: string;
  paused: boolean;
  /** `unseen`: the controller has not seen the newest spec or request. */
  assessment: 'unseen' | 'progressing' | 'complete' | 'stopped';
  /** CamelCase, such as AwaitingApproval; empty where it is unseen. */
  reason: string;
  message: string;
  /** Reason why it waits, in a sentence; empty: it does not. */
  waiting: string;
  /** `2/4`; empty before the first wave. */
  wave: string;
  /** Counts of nodes. */
  nodes: { selected: number; updated: number; inTrial: number; pending: number; failed: number; excluded: number };
  /** How far it is, in a clause; empty until nodes are counted. */
  completion: string;
  /** The revision that is rolled out, or was last; empty before the first. */
  revision: string;
  summary: string;
  startedAt: number;
  /** When the revision ended, complete or not; 0: not yet. */
  endedAt: number;
  /** Since when it has halted or waits for a person; 0: it does not, or not known. */
  since: number;
  /** When it is expected to end; 0: not known. */
  expectedEndAt: number;
  /** Up to three of the nodes on which it failed. */
  failures: SetFailure[];
  /** Only while a wave waits for approval: that wave, and in a sentence or two what follows until the next stop. */
  approval?: { wave: number; follows: string };
  budgets: { unavailable?: BudgetUse; failed?: BudgetUse };
}

export interface SetFailure {
  node: string;
  reason: string;
  message: string;
  /** The kubelet's own error line; empty if unknown. */
  line: string;
}

export interface BudgetUse {
  used: number;
  allowed: number;
}

/** Base of a draft: it is written only while the set is still that one, with the same spec. */
export interface SetBase {
  name: string;
  uid: string;
  generation: number;
}

export interface SetDetails extends SetSummary {
  uid: string;
  generation: number;
  /** As a manifest, without status and managed fields. */
  yaml: string;
  /** Bounded, as the controller writes it: waves, budgets with their nodes, failed and excluded nodes with reasons. */
  status: NodeConfigSetStatus;
  waves: (WaveStatus & { soak: string; approve: boolean })[];
  /**
   * Newest first. `document`: the payload; absent where the ConfigMap is gone or may not be read. `decided`: who let it continue or ended
   * it, and why; empty: nobody.
   */
  revisions: (SetRevision & { document?: string; decided: string })[];
  /** Newest first: `ann aborted revision 59d0d247cf: "wrong value"`. */
  steps: { at: number; text: string }[];
  /** In minutes, for the nodes that were updated so far; 0: not known. */
  nodesPerMinute: number;
  /** The next step for a person, with commands; empty: none. */
  next: string;
  /** The name of who applies it from Git; empty: nobody does. Then a change here is undone by the next sync. */
  fromGit: string;
  /** The verbs that make sense now and are allowed, each with the command that its button runs. */
  actions: SetCommand[];
}

export interface Command<V extends string = string> {
  verb: V;
  /** To be copied. */
  command: string;
}

/** An approval names the wave, and what follows until the next stop, in a sentence or two. */
export type SetCommand =
  | Command<Exclude<SetVerb, 'approve'>>
  | (Command<'approve'> & { wave: number; follows: string });

export const setVerbs = ['approve', 'pause', 'resume', 'abort', 'retry', 'undo'] as const;
export type SetVerb = (typeof setVerbs)[number];
export interface SetAction {
  /** approve, abort, retry, undo: only if this is the revision that is rolled out, or was last. */
  revision?: string;
  wave?: number;
  why?: string;
  /** approve: only the preview of what would follow, as an ApprovalPreview. */
  dryRun?: boolean;
}

export const nodeVerbs = ['set', 'undo', 'reset', 'hold', 'release', 'dismiss'] as const;
export type NodeVerb = (typeof nodeVerbs)[number];
export interface NodeAction {
  /** set: FIELD=VALUE, as on the command line. */
  fields?: string[];
  /** undo: to this revision of its history. */
  to?: number;
  accept?: string[];
  takeFromSet?: boolean;
  why?: string;
  /** Only the preview of what would be changed. */
  dryRun?: boolean;
}

/** Result of a button: the command that ran, and its output. */
export interface ActionResult {
  command: string;
  /** 0: done; 1: rejected or declined; 2: could not run; 3: timed out. */
  code: number;
  output: string;
  /** Its output with -o json, if it has one. */
  result?: unknown;
}

export type ConfigName = 'assigned' | 'active' | 'lastKnownGood' | 'local' | 'effective';

/** One of the configs of a node, as far as the API has it. */
export interface ConfigDocument {
  /** `NAMESPACE/NAME/KEY`, or `local`. */
  source: string;
  /** From the ConfigMap; relet generates the text of `local` and `effective`. Absent if unknown. */
  text?: string;
  /** Why there is no text. */
  problem?: string;
  isOverlay?: boolean;
}

/** One entry of the history of a node. `by`: `ann (unverified)` where the API server has not checked the name. */
export interface NodeChange extends Omit<HistoryEntry, 'result'> {
  /** `rolled back (CrashLoop): the kubelet kept crashing`; empty: not known. */
  result: string;
  isFailed: boolean;
}

export interface NodeDetails {
  row: Row;
  labels: Record<string, string>;
  agentVersion: string;
  /** How relet drives the kubelet: process, systemd, or the program that it is a part of; empty where it is not reported. */
  driver: string;
  /** The state in sentences, with the next step and its commands. */
  sentence: string;
  error?: { reason: string; message: string; cause?: string; remedy: string };
  /** On its host: it is released there. */
  held?: { since?: string; who?: string; why?: string };
  /** Through the API, by `relet hold`; the text has the reason and the person. */
  hold?: string;
  owed?: { text: string; since: string };
  /** By whom its config is signed, and what its host requires. */
  signed?: string;
  notices: { reason: string; message: string }[];
  pinnedByFlags: string[];
  warnings: string[];
  configs: Record<ConfigName, ConfigDocument>;
  /** The last lines of the kubelet that the error is about. */
  kubeletLog: string[];
  /** Newest first. */
  history: NodeChange[];
  /** Oldest first. */
  events: { at: string; reason: string; message: string }[];
  commands: Command[];
  /** `to`, of undo: the revision of the history that it goes to. Absent where the config is older than the history, or local. */
  actions: (Command<NodeVerb> & { to?: number })[];
}

/** By meaning, as the kubelet of `minor` reads them. */
export interface ConfigDiff {
  from: string;
  to: string;
  changes: FieldDiff[];
  impact: ImpactSentence;
}

export interface FieldDiff {
  path: string;
  /** Absent: not set. */
  from?: unknown;
  to?: unknown;
  needs: Needs;
  why: string;
  risk?: string;
  /** The new config does not set it, so it gets the default of the kubelet. */
  dropped?: boolean;
  /** A flag of the kubelet wins, so this does not change. */
  pinnedByFlag?: boolean;
}

export interface ConfigSummary {
  namespace: string;
  name: string;
  createdAt: number;
  /** Nodes that have it assigned, active or last known good. */
  nodes: number;
  /** Nodes that have it in their history only. */
  inHistory: number;
  sets: string[];
  /** True if `relet gc` would remove it. */
  unused: boolean;
}

export interface ConfigDetails extends ConfigSummary {
  /** By key. */
  documents: Record<string, { text: string; isOverlay: boolean }>;
  /** Up to 100 of the nodes that use it. */
  nodeNames: string[];
  /** When nodes changed from and to it, newest first; up to 100. */
  history: TimelineChange[];
}

export interface Selection {
  count: number;
  /** Up to 50. */
  names: string[];
  /** Counts by version, and by the set that has them. */
  kubelets: Record<string, number>;
  sets: Record<string, number>;
}

export interface LabelKey {
  key: string;
  /** The most frequent 50. */
  values: { value: string; nodes: number }[];
}

/** Nodes by name: all of them are counted, and up to 100 named. */
export interface NodeNames {
  count: number;
  names: string[];
}

interface FleetReading {
  at: number;
  /** One or two sentences. */
  summary: string;
  /** Nodes that could not be read, by reason; up to 50 reasons. */
  unread: { reason: string; nodes: NodeNames }[];
  /** Commands that give the right without which nodes were not read. */
  rightCommands?: string[];
}

/** As `relet inventory` finds it. `fields` has every field, also those that have the default everywhere. */
export interface InventoryAnswer extends FleetReading, Pick<Inventory, 'pools'> {
  fields: { field: string; isDefault: boolean; values: { value: string; from: string; nodes: NodeNames }[] }[];
  /** Nodes that differ in the same way are one; up to 200. */
  outliers: (Omit<Inventory['outliers'][number], 'node'> & { nodes: NodeNames })[];
}

/** As `relet audit` finds it, without waivers: failing first. */
export interface AuditAnswer extends FleetReading {
  pools: (Pick<Pool, 'name' | 'nodes'> & { findings: AuditFinding[] })[];
}

export interface AuditFinding {
  check: string;
  /** As benchmarks have it. */
  ids: string[];
  title: string;
  why: string;
  /** The value that decides, and where it comes from. */
  found: string;
  origin: string;
  /** `high`, `cannot-tell`, `pass`. */
  result: string;
  /** Effort and risk of a fix; empty if the check does not fail. */
  fix: string;
  nodes: NodeNames;
}

/** One change by one person, at one time, of one or many nodes. */
export interface TimelineChange {
  at: number;
  by: string;
  verb: string;
  why?: string;
  /** Short names of configs. */
  from: string;
  to: string;
  set?: string;
  nodes: number;
  /** Up to 10. */
  names: string[];
  failed: number;
}

export interface Timeline {
  from: number;
  to: number;
  /** Newest first; up to 500. */
  changes: TimelineChange[];
}

/** The answer of `relet rollout plan -o json`, and the command that gives it. */
export interface PlanAnswer {
  command: string;
  /** Absent if it could not run; `problem` has the reason. */
  plan?: RolloutPlan;
  problem?: string;
}

export interface RehearseRequest {
  yaml: string;
  seed?: number;
  /** Simulated nodes in place of those of the cluster. */
  nodes?: number;
  /** Faults, as the flags of `relet rollout rehearse` name them. */
  flags?: Record<string, string | number | boolean>;
}

/** `progress` while it runs; the last line has the result or the problem. */
export type RehearsalLine =
  | { kind: 'started'; command: string }
  | { kind: 'progress'; text: string }
  | { kind: 'result'; result: unknown }
  | { kind: 'problem'; problem: Problem };

export interface UpgradeAnswer {
  command: string;
  /** As `relet config upgrade-check --all -o json` prints it. */
  reports?: unknown;
  problem?: string;
}

/** The state of a node for people: in one word, and in a sentence with the next step. Pure. */
import { exclusionReasons, owedReasons } from '../api/condition-reasons.js';
import type { ConfigErrorReason } from '../api/config-error.js';
import { formatRef, refOf, sameConfig } from '../api/config-ref.js';
import type { Owed, OwedAction } from '../api/node-annotations.js';
import type { HeldState } from '../api/node-config.js';
import type { SigningStatus } from '../api/signing.js';
import { shortDuration } from '../go/short-duration.js';
import { agentPresence } from './agent-presence.js';
import { failureOf, goodRevision, newestChange, readHistory, undoTarget } from './config-history.js';
import {
  type ConfiguredNode,
  configState,
  configStates,
  errorOutcome,
  errorReason,
  errorText,
  type Hold,
  membershipOf,
} from './configured-node.js';
import { whoText } from './node-history.js';

/** `by ann@example.com, serial 1795030000; the host requires 2 people, pool gpu, serials from 1795020000 on`. */
export function signingText({
  required,
  signers,
  serial,
  floor,
  pool,
  threshold = 1,
  notAfter,
}: SigningStatus): string {
  const until = notAfter === undefined ? '' : `, until ${notAfter}`;
  const runs =
    signers === undefined ? 'what it runs is not signed' : `by ${signers.join(', ')}, serial ${serial}${until}`;
  if (!required) return `${runs}; the host requires no signature now`;
  const demands = [
    threshold === 1 ? 'a signature' : `signatures of ${threshold} people`,
    ...(pool === undefined ? [] : [`pool ${pool}`]),
    ...(floor ? [`serials from ${floor} on`] : []),
  ];
  return `${runs}; the host requires ${demands.join(', ')}`;
}

/**
 * The state of a node: that of its config, where it is known. Without an agent that reports, nobody knows what it runs. `outdated`: it
 * runs what it was assigned, and its set wants another revision there.
 */
export const nodeStates = ['no agent', 'silent', ...configStates, 'outdated'] as const;
export type ShownState = (typeof nodeStates)[number];

export interface Known {
  nowMs: number;
  /** Whether its set wants another revision on the node (rollout/target.ts); without it no node is outdated. */
  isOutdated?: ((node: ConfiguredNode) => boolean) | undefined;
}

export function nodeState(node: ConfiguredNode, { nowMs, isOutdated }: Known): ShownState {
  const { kind } = agentPresence(node, nowMs);
  if (kind !== 'Present') return kind === 'NoAgent' ? 'no agent' : 'silent';
  const state = configState(node);
  return (state === 'active' || state === 'local') && isOutdated?.(node) ? 'outdated' : state;
}

/** `trial 4m12s left`, where the node reports when it ends; `held` whatever it runs, since it follows nothing new; `silent 20m`. */
export function stateText(node: ConfiguredNode, known: Known): string {
  const { nowMs } = known;
  const presence = agentPresence(node, nowMs);
  if (presence.kind === 'Silent') return `silent ${shortDuration(nowMs - presence.sinceMs)}`;
  const state = nodeState(node, known);
  if (isHeld(node) && state !== 'no agent') return 'held';
  const ends = Date.parse(node.trialEndsAt ?? '');
  if (state !== 'trial' || Number.isNaN(ends)) return state;
  return ends > nowMs ? `trial ${shortDuration(ends - nowMs)} left` : 'trial ending';
}

/** On its host, or through the API. */
export const isHeld = ({ held, hold }: Pick<ConfiguredNode, 'held' | 'hold'>): boolean =>
  held !== undefined || hold !== undefined;

/** `held through the API: repairs (ann, 2026-…)`. A text that kubectl wrote, or an earlier relet, may name anybody. */
export const holdText = ({ why, verified = false }: Hold): string =>
  `held through the API${why === '' ? '' : `: ${why}${verified ? '' : ' (unverified)'}`}`;

/** `held since … by ann (unverified): repairs`, as far as it is known: the host reports it. */
export function heldText({ since, who, why }: HeldState): string {
  return `held${since ? ` since ${since}` : ''}${who ? ` by ${whoText({ by: who })}` : ''}${why ? `: ${why}` : ''}`;
}

export const releaseHint = "run 'relet node release' on its host to release it";

const actions: Record<OwedAction, string> = {
  drain: 'drain',
  'state-file': 'removal of a state file, then a drain',
  reboot: 'reboot',
};

/** `left to do on its host: reboot (for cgroupDriver)`. */
export function owedText({ needs, fields }: Pick<Owed, 'needs' | 'fields'>, left = needs.at(-1)!): string {
  return `left to do on its host: ${actions[left]}${fields.length > 0 ? ` (for ${fields.join(', ')})` : ''}`;
}

export function stateSentence(node: ConfiguredNode, nowMs: number): string {
  const { held, hold, name } = node;
  const onHost = held && `It is ${heldText(held)}. It follows no new assignment until it is released: ${releaseHint}.`;
  const throughApi = hold && `It is ${holdText(hold)}. No set changes it until 'relet release ${name}'.`;
  const own = held !== undefined && configState(node) === 'waiting' ? undefined : sentence(node);
  return [onHost, throughApi, absence(node, nowMs) ?? own].filter((text) => text !== undefined).join(' ');
}

/** Undefined if its agent reports. */
function absence(node: ConfiguredNode, nowMs: number): string | undefined {
  const presence = agentPresence(node, nowMs);
  if (presence.kind === 'Present') return undefined;
  const wanted = formatRef(refOf(node.configSource), 'short');
  const assigned =
    wanted === 'local' ? '' : ` It is assigned ${wanted}, and nothing changes on it until an agent runs.`;
  if (presence.kind === 'NoAgent')
    return `No agent of relet has ever reported from it, so what its kubelet runs is not known.${assigned} The DaemonSet relet-agent, or 'relet kubelet --dynamic-config-dir=…' in front of its kubelet, must run there${assigned === '' ? '' : `; 'relet reset ${node.name}' takes the assignment back`}.`;
  const last = formatRef(refOf(node.status.active), 'short');
  return `Its agent has not reported for ${shortDuration(nowMs - presence.sinceMs)}: it is stopped, or cut off from the API server. What runs there now is not known; the last report was ${last === 'local' ? 'its local config' : last}.${assigned} The log of the agent on the host, or 'relet node status' there, shows why.`;
}

function sentence(node: ConfiguredNode): string {
  const { name, status } = node;
  const wanted = formatRef(refOf(node.configSource), 'short');
  const runs = formatRef(refOf(status.active), 'short');
  const fallback = runs === 'local' ? 'its local config' : runs;
  const sync = status.error !== undefined && errorOutcome(status.error, node.condition) === 'not followed';
  const following = sync
    ? ` It cannot follow its reference, though (${status.error}); it keeps trying. 'relet doctor ${name}' looks for the reason.`
    : '';
  switch (configState(node)) {
    case 'local':
      return `It runs its local config. 'relet edit ${name}' or 'relet set ${name} FIELD=VALUE' changes it.${following}`;
    case 'detached':
      return `It runs its local config, and relet has removed its files from the host ('relet detach'). A new assignment attaches it again.`;
    case 'active':
      return `It runs the config that it is assigned, and its trial is over: it is the last known good. ${nextStep(node)}${following}`;
    case 'trial':
      return `It runs the config that it is assigned, on trial. ${isSameDocument(node) ? 'The config changes nothing on this node: its kubelet ran with the same document before and was not restarted. ' : ''}When it has been healthy long enough, the config becomes the last known good; until then a rollback goes to ${formatRef(refOf(status.lastKnownGood), 'short')}. 'relet wait ${name} --for=lastKnownGood' waits for the end of the trial, 'relet undo ${name}' ends it.${following}`;
    case 'rejected':
      return `${wanted} was rejected before the kubelet was restarted; the node still runs ${fallback}. ${correction(node)}`;
    case 'rolled back':
      return `${wanted} failed its trial${trialFailure(node)}; the node rolled back to ${fallback}. ${correction(node)}`;
    case 'waiting':
      return waiting(node, wanted, following);
  }
}

/** Known of overlays, which is what a set assigns. */
function isSameDocument({ status }: ConfiguredNode): boolean {
  const merged = refOf(status.active)?.mergedDigest;
  return merged !== undefined && merged === refOf(status.lastKnownGood)?.mergedDigest;
}

/** On a node of a set, `edit` and `undo` of the node alone would take it from its set. */
function correction(node: ConfiguredNode): string {
  const membership = membershipOf(node);
  if (membership === undefined || membership.isTaken)
    return `Correct it with 'relet edit ${node.name}'; ${undoHint(node, 'returns to the config before it')}.`;
  const { set } = membership.claim;
  return `Correct the config of the set ${set}; 'relet rollout undo ${set}' takes it back from all nodes that have it.`;
}

function nextStep({ owed, unusableReport, upgradeRisk, bootRisk }: ConfiguredNode): string {
  if (owed !== undefined) return `But there is something ${owedText(owed, owed.left)}.`;
  if (unusableReport !== undefined)
    return `But ${unusableReport}. No agent of relet writes such a status: find out what runs on that host.`;
  if (upgradeRisk !== undefined) return 'But its kubelet was replaced; read about the upgrade before it is restarted.';
  if (bootRisk !== undefined) return 'But it crashed at a boot; correct the host or the config before the next one.';
  return 'There is nothing to do.';
}

/** Ways past an `undo` that would assign a config again that failed on this node. */
export function undoHint(node: ConfiguredNode, does: string): string {
  const { name } = node;
  const history = readHistory(node);
  const now = refOf(node.configSource);
  const target = undoTarget(history, now);
  const failed = target && failureOf(history, target.to);
  if (failed === undefined) return `'relet undo ${name}' ${does}`;
  const revision = goodRevision(history, now);
  const other = revision === undefined ? '' : `, 'relet undo ${name} --to ${revision}' to revision ${revision}`;
  return `'relet reset ${name}' returns to its local config${other} ('relet undo ${name}' would assign ${target!.to} again, which was ${failed.outcome} before)`;
}

/** The status is about an assignment before the present one; only a NodeConfig shows that. */
const isOld = ({ generation, observedGeneration = generation }: ConfiguredNode): boolean =>
  generation !== undefined && observedGeneration! < generation;

export const aboutBefore = (node: ConfiguredNode): string =>
  isOld(node) ? ', for the assignment before this one' : '';

const failures: Partial<Record<ConfigErrorReason, string>> = {
  CrashLoop: ' (the kubelet kept crashing)',
  NotHealthy: ' (the kubelet was not healthy in time)',
  APIServerLost: ' (the node lost the API server)',
};

function trialFailure({ status, condition }: ConfiguredNode): string {
  const reason = errorReason(status.error ?? '', condition);
  return (reason && failures[reason]) ?? '';
}

function waiting(node: ConfiguredNode, wanted: string, following: string): string {
  if (node.restartDelayedUntil !== undefined)
    return `It is assigned ${wanted} and does not run it yet: its config changed several times in a short time, so the restart of its kubelet is delayed until ${node.restartDelayedUntil}. Then it uses the newest config.`;
  if (node.status.error !== undefined && errorOutcome(node.status.error, node.condition) === 'crashing')
    return `Its kubelet crashed and is started again. If it keeps crashing, the node rolls back automatically. The kubelet's own lines in the log on the host show the cause.`;
  if (following !== '') return `It is assigned ${wanted} and does not run it yet.${following}`;
  const wait = `Wait for it with 'relet wait ${node.name} --for=active'`;
  if (sameConfig(refOf(node.configSource), refOf(node.status.assigned), 'name'))
    return `It has accepted ${wanted} and does not run it yet: its kubelet is restarting. ${wait}.`;
  return `It is assigned ${wanted} and has not accepted it yet: it may be fetching or validating it, waiting for permission to read the ConfigMap, or cut off from the API. ${wait}; if it takes long, 'relet doctor ${node.name}' looks for the reason.`;
}

/** `rolled back: the kubelet kept crashing with the assigned config`. */
export const failureText = (
  state: string,
  { status, condition }: Pick<ConfiguredNode, 'status' | 'condition'>,
): string => `${state}: ${errorText(status.error ?? '', condition)}`;

/**
 * The error in one clause and one word; where there is none, what is left to do on the host, a report that cannot be used, or what the
 * next start of its kubelet risks.
 */
export function troubleOf({ status, condition, owed, upgradeRisk, bootRisk, unusableReport }: ConfiguredNode): {
  error: string;
  reason: string | undefined;
} {
  if (status.error !== undefined)
    return { error: errorText(status.error, condition), reason: errorReason(status.error, condition) };
  if (owed !== undefined) return { error: owedText(owed, owed.left), reason: owedReasons[owed.left].reason };
  if (unusableReport !== undefined) return { error: unusableReport, reason: exclusionReasons.unusable.reason };
  const risk = upgradeRisk ?? bootRisk;
  return { error: risk?.message ?? '', reason: risk?.reason };
}

/** How old the config is: since relet changed the reference, else since the node took it, else as old as a node on its local config. */
export function configuredAt(node: ConfiguredNode): string | undefined {
  const { configSource, condition, createdAt } = node;
  const newest = newestChange(readHistory(node));
  const now = formatRef(refOf(configSource), 'short');
  if (newest?.to === now) return newest.at;
  return now === 'local' && newest === undefined ? createdAt : condition?.since;
}

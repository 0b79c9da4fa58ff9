/**
 * Annotations on Nodes and NodeConfigs: reports of a node for which Node.status has no field (a NodeConfig has them in its status),
 * actions that are owed after a change, and the set that has claimed the node.
 */

import { parseObject } from '../json.js';
import { type ConfigRef, formatRef, type NodeConfigStatus, parseRef } from './config-ref.js';
import type { HeldState } from './node-config.js';
import type { KubeObject } from './object.js';

/** When the trial under way will be over if all stays well; absent when there is none. */
export const trialEndsAnnotation = 'relet.dev/trial-ends';
/** Until when the restart with the newest config is delayed because configs keep changing; absent when it is not. */
export const restartDelayedAnnotation = 'relet.dev/restart-delayed-until';
/** relet's version on the node. */
export const agentVersionAnnotation = 'relet.dev/agent-version';
/** The cause of status.config.error; absent when there is no error. */
export const causeAnnotation = 'relet.dev/cause';
/** Present while the node is held: it follows no new assignment. */
export const heldAnnotation = 'relet.dev/held';
/** Fields that flags of its kubelet set, separated by commas; absent when there are none. */
export const pinnedByFlagsAnnotation = 'relet.dev/pinned-by-flags';

/**
 * On a NodeConfig or a NodeConfigSet: the user who made the newest change with relet. The guard relet-who-is-named lets a user write
 * only the own name, also where the history changes, so the name of the newest entry is the API server's.
 */
export const byAnnotation = 'relet.dev/by';

/** With the error and the config it belongs to: others write status.config too, such as an older relet, and leave this. */
export function causeText(status: NodeConfigStatus, cause: string): string {
  return JSON.stringify({ ...about(status), cause });
}

/** Undefined if it is about another error or another config than the status. */
export function readCause(text: string | undefined, status: NodeConfigStatus): string | undefined {
  const { error, config, cause } = parse(text);
  const present = about(status);
  const isAbout = status.error !== undefined && error === present.error && config === present.config;
  return isAbout && typeof cause === 'string' ? cause : undefined;
}

export function readHeld(text: string | undefined): HeldState | undefined {
  if (text === undefined) return undefined;
  const held = parse(text);
  const field = (name: keyof HeldState) => (typeof held[name] === 'string' ? { [name]: held[name] } : {});
  return { ...field('since'), ...field('why'), ...field('who') };
}

function about({ error, assigned }: NodeConfigStatus) {
  const { uid, resourceVersion } = assigned?.configMap ?? {};
  return { error, config: uid === undefined ? 'local' : `${uid}/${resourceVersion}` };
}

function parse(text: string | undefined): Record<string, unknown> {
  try {
    return Object(JSON.parse(text ?? '{}'));
  } catch {
    return {};
  }
}

/**
 * Actions left to do on a node after a change that was accepted with `--accept`: a drain, the removal of a state file, a reboot. The
 * command line writes it as an annotation of the NodeConfig (of the Node, where that has the reference) together with the reference;
 * the node reports it in the condition ActionOwed until it is done; `relet dismiss` removes it.
 *
 *   relet.dev/owed: '{"needs":["reboot"],"fields":["cgroupDriver"],"at":"2026-03-01T10:00:00Z"}'
 */
export const owedAnnotation = 'relet.dev/owed';

/** Mildest first. */
export const owedActions = ['drain', 'state-file', 'reboot'] as const;
export type OwedAction = (typeof owedActions)[number];

/** Values of `--accept`. Nothing is left to do after a daemon-reload: it is a part of the change itself. */
export const impacts = [...owedActions, 'daemon-reload'] as const;
export type AcceptedImpact = (typeof impacts)[number];

export interface Owed {
  needs: OwedAction[];
  /** The fields whose change needs it. */
  fields: string[];
  /** When the change was accepted. */
  at: string;
  /** The node was drained for it: the agent removes state files. */
  drained?: true;
}

/** Undefined for an annotation that is not there, or has nothing in it that is understood. */
export function readOwed(text: string | undefined): Owed | undefined {
  const { needs, fields, at, drained } = parseObject(text) ?? {};
  if (!Array.isArray(needs) || typeof at !== 'string') return undefined;
  const known = owedActions.filter((one) => needs.includes(one));
  if (known.length === 0) return undefined;
  return {
    needs: known,
    fields: Array.isArray(fields) ? fields.filter((field) => typeof field === 'string') : [],
    at,
    ...(drained === true && { drained }),
  };
}

/** After another change: what was left to do stays so. */
export function addOwed(present: Owed | undefined, next: Owed | undefined): Owed | undefined {
  if (present === undefined || next === undefined) return next ?? present;
  return {
    needs: owedActions.filter((one) => present.needs.includes(one) || next.needs.includes(one)),
    fields: [...new Set([...present.fields, ...next.fields])],
    at: next.at,
    ...(next.drained && { drained: true }),
  };
}

/** On a NodeConfig: the text of a Claim. Written in the same request as the reference. */
export const claimAnnotation = 'relet.dev/claim';

/** The set that has a node, since when, and with which config. An undefined reference is the local config. */
export interface Claim {
  set: string;
  revision: string;
  source: ConfigRef | undefined;
  /** The first is 1; 0 for a node that joined, or was caught up with, outside of a rollout. */
  wave: number;
  at: string;
  /** The config of the node before the first claim; a rollback without a current revision goes back to it. */
  previous: ConfigRef | undefined;
  /** The node had failed before: a correction costs no budget. */
  exempt?: true;
  /** The node was drained for the change: its pods are not those that ran before. */
  drained?: true;
  /** The set has let the node go (`onLeave: Keep`): any set may claim it. */
  released?: true;
}

/** Undefined if there is none. A pass of the controller asks for those of all nodes: each object is read once. */
export function claimOf(object: Pick<KubeObject, 'metadata'> | undefined): Readonly<Claim> | undefined {
  const text = object?.metadata.annotations?.[claimAnnotation];
  if (object === undefined || text === undefined) return undefined;
  const known = claims.get(object);
  if (known !== undefined && known.text === text) return known.claim;
  const claim = readClaim(text);
  claims.set(object, { text, claim });
  return claim;
}

const claims = new WeakMap<object, { text: string; claim: Claim | undefined }>();

/** JSON with references as NAMESPACE/NAME/KEY, or `local`. */
export const claimText = (claim: Claim): string =>
  JSON.stringify({
    ...claim,
    source: formatRef(claim.source, 'short'),
    previous: formatRef(claim.previous, 'short'),
  });

/** Undefined for an annotation that is not there, or is not a claim. */
export function readClaim(text: string | undefined): Claim | undefined {
  const { set, revision, source, wave, at, previous, exempt, drained, released } = parseObject(text) ?? {};
  if (![set, revision, at].every((one) => typeof one === 'string') || typeof wave !== 'number') return undefined;
  if (!isRefText(source) || !isRefText(previous)) return undefined;
  const refs = { source: parseRef(source), previous: parseRef(previous) };
  const marks = {
    ...(exempt === true && { exempt }),
    ...(drained === true && { drained }),
    ...(released === true && { released }),
  };
  return { set, revision, ...refs, wave, at, ...marks } as Claim;
}

const isRefText = (text: unknown): text is string =>
  typeof text === 'string' && (text === 'local' || parseRef(text) !== undefined);

/**
 * The report of a node about its config, and its conversion to each API form: status.config (DKC beta) and the condition ConfigOK (DKC
 * alpha, NodeConfig). Pure.
 */
import { okReasons } from '../../api/condition-reasons.js';
import type { ConfigError } from '../../api/config-error.js';
import { type ExactRef, type NodeConfigStatus, nodeConfigSource, sameConfig } from '../../api/config-ref.js';
import type { OwedAction } from '../../api/node-annotations.js';
import type { HeldState, KubeletFlag, LocalConfig, TrialState } from '../../api/node-config.js';
import type { Observed } from '../../api/observe.js';
import type { RejectedPods } from '../../api/rejected-pods.js';
import type { SigningStatus } from '../../api/signing.js';
import { alphaReason, betaError } from '../../api/upstream-words.js';
import { causesOf } from '../../error-causes.js';
import { shorten } from '../../shorten.js';
import type { Notice } from '../drivers/driver.js';
import type { BootCrash } from '../trial/boot-crash.js';

export interface Report {
  assigned: ExactRef | undefined;
  active: ExactRef | undefined;
  lastKnownGood: ExactRef | undefined;
  /** Why the assigned config does not run. */
  configError?: ConfigError;
  /** Why the reference could not be followed; shown before `configError` while it lasts. */
  syncError?: ConfigError;
  /** Generation of the NodeConfig that the last finished pass was about: `syncError` is its result. */
  observedGeneration?: number;
  /** Warnings for a person about a config that runs nevertheless. */
  warnings: string[];
  /** By the first kubelet with the config that runs. */
  rejectedPods?: RejectedPods;
  /** State of the trial, if one is running. */
  trial?: TrialState;
  /** Fields that flags set: a config cannot change them. */
  pinnedByFlags?: string[];
  /** Configs changed in quick succession, so the kubelet is restarted with the newest one only at this time. */
  restartDelayedUntil?: string;
  /** How long a config is on trial here. */
  trialSeconds?: number;
  /** How the agent drives the kubelet. */
  driver?: string;
  /** Changes of others to the unit of the kubelet. */
  notices?: Notice[];
  /** Config of the next kubelet start, if it is not `active`: NAMESPACE/NAME/KEY or local. */
  nextStart?: string;
  /** The last lines of the kubelet that `configError` is about. */
  kubeletLog?: string[];
  /** Snapshot from the last kubelet start or assignment. */
  localConfig?: LocalConfig;
  kubeletFlags?: KubeletFlag[];
  /** The node follows no new assignment. */
  held?: HeldState;
  /** relet has left the host. */
  detached?: true;
  /** Actions left to do on the host by the change of that time, and those still left. */
  owed?: OwedReport;
  /** The kubelet's binary was replaced by another version, which has not been healthy yet. */
  upgrade?: UpgradeReport;
  /** The last known good config crashed at a boot, and has not survived one since. */
  bootCrash?: BootCrash;
  /** Absent on a host that never had a trust file. */
  signing?: SigningReport;
  /** Answer to the newest request of an analysis. */
  observed?: Observed;
  /** The node was given an init config (`--init-config-dir`): local is then called `init`. */
  initConfig: boolean;
}

export interface OwedReport {
  at: string;
  isDone: boolean;
  /** Absent also while another config runs than the assigned one. */
  left?: OwedAction;
}

export interface UpgradeReport {
  /** Such as v1.34.1. */
  from: string;
  to: string;
  /** `rejected`: the new kubelet would not start with the config. `changes`: it starts, and some of the config means something else. */
  risk: 'rejected' | 'changes' | 'none';
  /** Fields and flags, and what happens to each. */
  details: string[];
}

export interface SigningReport {
  status: SigningStatus;
  /** Why the trust file cannot be used. */
  problem?: string;
  /** Since when the statement of the active config has expired. */
  expiredAt?: string;
  /** Until when, by whom and why configs pass without a signature. */
  unsigned?: string;
}

export interface ConditionText {
  status: 'True' | 'False';
  reason: string;
  message: string;
}

export function statusConfig(report: Report): NodeConfigStatus {
  const error = report.syncError ?? report.configError;
  return {
    ...(report.assigned && { assigned: nodeConfigSource(report.assigned) }),
    ...(report.active && { active: nodeConfigSource(report.active) }),
    ...(report.lastKnownGood && { lastKnownGood: nodeConfigSource(report.lastKnownGood) }),
    ...(error && { error: betaError(error) }),
  };
}

/** Enough for every message of a kubelet; a rule may quote a value of any length. */
const longestCause = 2000;

/** Why, in detail, for the error of statusConfig. */
export function statusCause({ syncError, configError }: Report): string | undefined {
  const error = syncError ?? configError;
  return error && (shorten(causesOf(error), longestCause) || undefined);
}

export function configOk(report: Report): ConditionText {
  const { assigned, active, configError, syncError } = report;
  const name = (source: ExactRef | undefined) => alphaName(source, report.initConfig);
  // A config that was just rolled back runs until its kubelet has ended.
  const isLocalInstead = active === undefined && configError !== undefined && configError.reason !== 'KubeletCrashed';
  const isGood = sameConfig(report.lastKnownGood, active, 'document');
  // The same overlay, merged before the local file or the kubelet changed.
  const isMergedBefore = isGood && active?.mergedDigest !== undefined && configError?.reason !== 'KubeletCrashed';
  const isInstead = isLocalInstead || (configError !== undefined && isMergedBefore);
  const isCurrent = sameConfig(assigned, active, 'version') && !isInstead;
  // Neither: what was on trial runs until its kubelet has ended.
  const message = `using ${isCurrent ? 'current ' : isGood ? 'last-known-good ' : ''}${name(active)}`;
  if (syncError !== undefined) return { status: 'False', reason: alphaReason(syncError, name(assigned)), message };
  if (configError !== undefined) return { status: 'False', reason: alphaReason(configError, name(assigned)), message };
  if (active !== undefined) return { status: 'True', reason: 'passing all checks', message };
  const init = report.initConfig ? 'an init config was provided' : 'no init config was provided';
  return { status: 'True', reason: `current is set to the local default, and ${init}`, message };
}

/** ConfigOK of a NodeConfig: the same answer, as the conventions of Kubernetes want it. */
export function configCondition({ assigned, active, configError, syncError, detached }: Report): ConditionText {
  const error = syncError ?? configError;
  if (error !== undefined) return { status: 'False', reason: error.reason, message: error.message };
  if (!sameConfig(assigned, active, 'version')) return { status: 'True', ...okReasons.pending };
  return { status: 'True', ...okReasons[active !== undefined ? 'active' : detached ? 'detached' : 'local'] };
}

/** `v1.34.1 to v1.37.0: eventRecordQPS: 0 means no limit …; failCgroupV1: …`. */
export const upgradeText = ({ from, to, details }: UpgradeReport): string => `${from} to ${to}: ${details.join('; ')}`;

/** `(UID: "…")`, `(init)` or `(default)`. */
export function alphaName(source: ExactRef | undefined, initConfig: boolean): string {
  if (source !== undefined) return `(UID: ${JSON.stringify(source.uid)})`;
  return initConfig ? '(init)' : '(default)';
}

/** A person wrote it, and may have written any length. */
export function boundedHeld({ since, why, who }: HeldState): HeldState {
  return { ...(since && { since }), ...(why && { why: shorten(why, 1000) }), ...(who && { who: shorten(who, 250) }) };
}

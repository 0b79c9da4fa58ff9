/** Builds the row of a node and the summary of a set for the page. Short, since there may be 15,000 of them. Pure. */
import { setProgressReasons, setStalledReasons } from '../../api/condition-reasons.js';
import { refOf } from '../../api/config-ref.js';
import type { Budget, NodeConfigSet } from '../../api/node-config-set.js';
import { agentPresence } from '../../fleet/agent-presence.js';
import { type ConfiguredNode, membershipOf } from '../../fleet/configured-node.js';
import { configuredAt, isHeld, type Known, nodeState, troubleOf } from '../../fleet/state-text.js';
import { assess, completionText, waitingWave } from '../../rollout/assessment.js';
import { leftMs, soakMs } from '../../rollout/estimate.js';
import { nextStopText, untilNextStop } from '../../rollout/next-stop.js';
import { newestStep } from '../../rollout/steps.js';
import { shorten } from '../../shorten.js';
import { oneLine } from '../../visible-text.js';
import type { BudgetUse, Row, SetFailure, SetSummary } from '../wire.js';

/** A node writes its own status. */
const longestText = 300;
const text = (value: string | undefined): string => shorten(oneLine(value ?? ''), longestText);
const zoneLabels = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'];

export function rowOf(node: ConfiguredNode, known: Known): Row {
  const membership = membershipOf(node);
  const state = nodeState(node, known);
  const presence = agentPresence(node, known.nowMs);
  const name = (source: ConfiguredNode['configSource']) => text(refOf(source)?.name ?? 'local');
  const reported = (source: ConfiguredNode['configSource']) => (presence.kind === 'Present' ? name(source) : 'unknown');
  const { status } = node;
  return {
    name: node.name,
    state,
    assigned: node.unset ? reported(status.assigned) : name(node.configSource),
    active: reported(status.active),
    lastKnownGood: reported(status.lastKnownGood),
    set: text(membership?.claim.set),
    wave: membership?.claim.wave ?? 0,
    taken: membership?.isTaken ?? false,
    zone: text(zoneLabels.map((label) => node.labels[label]).find((zone) => zone !== undefined)),
    kubelet: text(node.kubeletVersion),
    ready: node.ready === 'True',
    held: isHeld(node),
    since: timeOf(configuredAt(node)),
    silentSince: presence.kind === 'Silent' ? presence.sinceMs : 0,
    trialEndsAt: state === 'trial' ? timeOf(node.trialEndsAt) : 0,
    error: text(troubleOf(node).error),
  };
}

export const isSameRow = (a: Row, b: Row): boolean =>
  (Object.keys(a) as (keyof Row)[]).every((field) => a[field] === b[field]);

export const timeOf = (timestamp: string | undefined): number => Date.parse(timestamp ?? '') || 0;

/** Nodes by name, for what their kubelets printed. */
type KnownNodes = { get(name: string): Pick<ConfiguredNode, 'kubeletLog'> | undefined };

export function summaryOf(set: NodeConfigSet, nowMs: number, nodes: KnownNodes = new Map()): SetSummary {
  const { status = {}, spec, metadata } = set;
  const assessment = assess(set);
  const { updateRevision = '', revisions = [] } = status;
  const revision = revisions.find((one) => one.revision === updateRevision);
  const left = assessment.kind === 'progressing' ? leftMs(set, { nowMs }) : undefined;
  return {
    name: metadata.name,
    paused: spec.paused ?? false,
    assessment: assessment.kind,
    reason: assessment.kind === 'unseen' ? '' : text(assessment.reason),
    message: assessment.kind === 'unseen' ? '' : shorten(oneLine(assessment.message), 2000),
    waiting: shorten(oneLine(status.waiting ?? ''), 2000),
    wave: text(status.waveText),
    nodes: {
      selected: status.selectedNodes ?? 0,
      updated: status.updatedNodes ?? 0,
      inTrial: status.inTrialNodes ?? 0,
      pending: status.pendingNodes ?? 0,
      failed: status.failedNodes ?? 0,
      excluded: status.excludedNodes ?? 0,
    },
    completion: completionText(status) ?? '',
    revision: text(updateRevision),
    summary: text(revision?.summary),
    startedAt: timeOf(revision?.startedAt),
    endedAt: timeOf(revision?.endedAt),
    since: 'reason' in assessment ? sinceOf(set, assessment.reason) : 0,
    expectedEndAt: left === undefined ? 0 : Math.round(nowMs + left),
    failures: failuresOf(set, nodes),
    ...(assessment.kind === 'progressing' &&
      assessment.reason === setProgressReasons.approval.reason && { approval: approvalIn(set) }),
    budgets: { ...budget('unavailable', status.unavailable), ...budget('failed', status.failed) },
  };
}

function sinceOf({ spec, status = {} }: NodeConfigSet, reason: string): number {
  const { steps, waves, updateRevision } = status;
  switch (reason) {
    case setStalledReasons.halted.reason:
      return timeOf(newestStep(steps, ['Halted'], updateRevision)?.at);
    case setProgressReasons.paused.reason:
      return timeOf(newestStep(steps, ['Paused'])?.at);
    case setProgressReasons.approval.reason: {
      const wave = waitingWave(status);
      const endedAt = timeOf(waves?.find((one) => one.wave === wave)?.endedAt);
      return endedAt === 0 ? 0 : endedAt + soakMs(spec.strategy?.waves?.[wave - 1]?.soak);
    }
    default:
      return 0;
  }
}

function approvalIn(set: NodeConfigSet): { wave: number; follows: string } {
  const wave = waitingWave(set.status ?? {});
  return { wave, follows: nextStopText(untilNextStop(set, wave)) };
}

const budget = (name: string, found: Budget | undefined): Record<string, BudgetUse> =>
  found === undefined ? {} : { [name]: { used: found.used, allowed: found.allowed } };

const mostFailures = 3;

const failuresOf = ({ status }: NodeConfigSet, nodes: KnownNodes): SetFailure[] =>
  (status?.failedSamples ?? []).slice(0, mostFailures).map(({ name, reason, message }) => ({
    node: text(name),
    reason: text(reason),
    message: text(message),
    line: text(errorLine(nodes.get(name)?.kubeletLog ?? [])),
  }));

/** The last line that the kubelet logged as an error or before it exited; else its last line. */
const errorLine = (log: readonly string[]): string | undefined =>
  log.findLast((line) => /^[EF]\d{4} /.test(line)) ?? log.at(-1);

/** One node of the fleet as a row, and one set as a summary. Short: there may be 15,000 of them. Pure. */
import { refOf } from '../../api/config-ref.js';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { agentPresence } from '../../fleet/agent-presence.js';
import { type ConfiguredNode, membershipOf } from '../../fleet/configured-node.js';
import { configuredAt, isHeld, type Known, nodeState, troubleOf } from '../../fleet/state-text.js';
import { assess, completionText } from '../../rollout/assessment.js';
import { leftMs } from '../../rollout/estimate.js';
import { shorten } from '../../shorten.js';
import { oneLine } from '../../visible-text.js';
import type { Row, SetSummary } from '../wire.js';

/** A node writes its own status. */
const longestText = 300;
const text = (value: string | undefined): string => shorten(oneLine(value ?? ''), longestText);
const zoneLabels = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'];

export function rowOf(node: ConfiguredNode, known: Known): Row {
  const membership = membershipOf(node);
  const state = nodeState(node, known);
  const presence = agentPresence(node, known.nowMs);
  const name = (source: ConfiguredNode['configSource']) => text(refOf(source)?.name ?? 'local');
  const { status } = node;
  return {
    name: node.name,
    state,
    assigned: name(node.unset ? status.assigned : node.configSource),
    active: presence.kind === 'Present' ? name(status.active) : 'unknown',
    lastKnownGood: presence.kind === 'Present' ? name(status.lastKnownGood) : 'unknown',
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

export function summaryOf(set: NodeConfigSet, nowMs: number): SetSummary {
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
    expectedEndAt: left === undefined ? 0 : Math.round(nowMs + left),
  };
}

/** One node of the fleet as a row, and one set as a summary. Short: there may be 15,000 of them. Pure. */
import { refOf } from '../../api/config-ref.js';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { type ConfiguredNode, configState, membershipOf } from '../../fleet/configured-node.js';
import { assess } from '../../fleet/rollout-assessment.js';
import { leftMs } from '../../fleet/rollout-estimate.js';
import { configuredAt, isHeld, troubleOf } from '../../fleet/state-text.js';
import { shorten } from '../../shorten.js';
import { oneLine } from '../../visible-text.js';
import type { Row, SetSummary } from '../wire.js';

/** A node writes its own status. */
const longestText = 300;
const text = (value: string | undefined): string => shorten(oneLine(value ?? ''), longestText);
const zoneLabels = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'];

export function rowOf(node: ConfiguredNode): Row {
  const membership = membershipOf(node);
  const state = configState(node);
  const name = (source: ConfiguredNode['configSource']) => text(refOf(source)?.name ?? 'local');
  const { status } = node;
  return {
    name: node.name,
    state,
    assigned: name(node.unset ? status.assigned : node.configSource),
    active: name(status.active),
    lastKnownGood: name(status.lastKnownGood),
    set: text(membership?.claim.set),
    wave: membership?.claim.wave ?? 0,
    taken: membership?.isTaken ?? false,
    zone: text(zoneLabels.map((label) => node.labels[label]).find((zone) => zone !== undefined)),
    kubelet: text(node.kubeletVersion),
    ready: node.ready === 'True',
    held: isHeld(node),
    since: timeOf(configuredAt(node)),
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
    revision: text(updateRevision),
    summary: text(revision?.summary),
    startedAt: timeOf(revision?.startedAt),
    expectedEndAt: left === undefined ? 0 : Math.round(nowMs + left),
  };
}

/** Builds the status of a set from a plan: counts, a few names and conditions. Its size does not depend on the fleet. Pure. */
import {
  type ConditionReason,
  setNoteReasons,
  setProgressReasons,
  setReadyReasons,
  setStalledReasons,
} from '../api/condition-reasons.js';
import { type NodeConfigCondition, withConditions } from '../api/node-config.js';
import { mostNames, type NamedNode, type NodeConfigSet, type NodeConfigSetStatus } from '../api/node-config-set.js';
import { shorten } from '../shorten.js';
import { clauseOf } from '../visible-text.js';
import type { SetMember } from './members.js';
import type { Plan, RolloutProgress } from './plan.js';
import { list } from './sentences.js';
import { selfSetLabels } from './spec.js';
import { isRejected, storedState } from './state.js';
import type { Phase } from './survey.js';

export function statusOf(
  set: NodeConfigSet,
  plan: Plan,
  members: readonly Pick<SetMember, 'node'>[],
  now: string,
): NodeConfigSetStatus {
  const { state, survey, waves, progress, waiting } = plan;
  const count = (phase: Phase) => [...survey.phases.values()].filter((one) => one === phase).length;
  const { unavailable, inTrial, failed, excluded, allowed } = survey;
  // Nodes that no longer have a rejected revision do not count as failed; its entry in `revisions` keeps their names.
  const failedBefore = isRejected(state) ? [] : survey.failedBefore;
  const names = (nodes: { name: string }[]) => nodes.slice(0, mostNames).map(({ name }) => name);
  const budget = (limit: number, nodes: { name: string }[]) => ({
    allowed: limit,
    used: nodes.length,
    ...(nodes.length > 0 && { nodes: names(nodes) }),
  });
  const samples = (nodes: { node: { name: string }; why: ConditionReason }[]): NamedNode[] =>
    nodes.slice(0, mostNames).map(({ node, why }) => ({ name: node.name, ...why }));
  const draining = members.filter(({ node }) => node.drain?.state === 'Draining');
  const unavailableNodes = unavailable.map(({ node }) => node);
  return {
    observedGeneration: set.metadata.generation ?? 1,
    ...storedState(state),
    selectedNodes: members.length,
    excludedNodes: excluded.length,
    updatedNodes: count('updated'),
    inTrialNodes: count('trial'),
    pendingNodes: count('pending'),
    failedNodes: failed.length + failedBefore.length,
    unavailable: budget(allowed.unavailable, unavailableNodes),
    inTrial: budget(allowed.inTrial, inTrial),
    failed: budget(allowed.failed, [...failed.map(({ node }) => node), ...failedBefore.map((name) => ({ name }))]),
    ...(failed.length > 0 && {
      failedSamples: samples(failed.map(({ node, failure }) => ({ node, why: failure }))),
    }),
    ...(draining.length > 0 && {
      drainingNodes: draining.length,
      draining: samples(
        draining.map(({ node }) => ({
          node,
          why: { reason: setProgressReasons.draining.reason, message: shorten(node.drain?.message ?? '', 300) },
        })),
      ),
    }),
    ...(excluded.length > 0 && {
      excluded: samples(excluded.map(({ node, exclusion }) => ({ node, why: exclusion }))),
    }),
    ...(waves.waves.length > 0 && {
      wave: waves.present.wave,
      waveText: `${waves.present.wave}/${waves.waves.length}`,
    }),
    ...(waiting !== undefined && { waiting: shorten(waiting, 4000) }),
    conditions: conditionsOf(
      set,
      progress,
      excluded.map(({ node }) => node.name),
      now,
    ),
  };
}

/** While the spec cannot be used: what was so before, and why. */
export function stalledStatus(set: NodeConfigSet, progress: RolloutProgress, now: string): NodeConfigSetStatus {
  return {
    ...set.status,
    observedGeneration: set.metadata.generation ?? 1,
    waiting: progress.message ?? '',
    conditions: conditionsOf(set, progress, [], now),
  };
}

/** Exactly one of Ready, Reconciling and Stalled is True; all three have the same reason. */
function conditionsOf(
  set: NodeConfigSet,
  progress: RolloutProgress,
  excluded: string[],
  now: string,
): NodeConfigCondition[] {
  const { reason, message } = textOf(progress);
  const observedGeneration = set.metadata.generation ?? 1;
  const kstatus = (['Ready', 'Reconciling', 'Stalled'] as const).map((type) => ({
    type,
    status: type === progress.condition ? ('True' as const) : ('False' as const),
    reason,
    message,
    observedGeneration,
  }));
  const own = selfSetLabels(set.spec.selector);
  const note = (type: string, why: ConditionReason, detail: string) => ({
    type,
    status: 'True' as const,
    reason: why.reason,
    message: `${clauseOf(why.message)}: ${detail}.`,
    observedGeneration,
  });
  const notes = [
    ...(excluded.length > 0 ? [note('NodesExcluded', setNoteReasons.excluded, list(excluded, mostNames))] : []),
    ...(own.length > 0 ? [note('SelectorWarning', setNoteReasons.selfLabelled, list(own, mostNames))] : []),
  ];
  const wanted = [...kstatus, ...notes];
  const kept = (set.status?.conditions ?? []).filter(({ type }) => wanted.some((one) => one.type === type));
  return withConditions(kept, wanted, now);
}

export function textOf(progress: RolloutProgress): ConditionReason {
  const { reason, message } =
    progress.condition === 'Ready'
      ? setReadyReasons[progress.kind]
      : progress.condition === 'Reconciling'
        ? setProgressReasons[progress.kind]
        : setStalledReasons[progress.kind];
  const detail = progress.message === undefined ? '' : ` ${progress.message}`;
  // The details name the person: 'ann aborted revision …', which says the same and more.
  const isNamed = progress.condition === 'Stalled' && ['aborted', 'undone'].includes(progress.kind) && detail !== '';
  return { reason, message: shorten(isNamed ? detail.trimStart() : `${message}${detail}`, 8000) };
}

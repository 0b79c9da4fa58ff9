/** The result of a rehearsal, as `-o json` prints it; docs/rehearsal.md describes it. Pure. */
import {
  type NodeConfigSet,
  type NodeConfigSetStatus,
  ownNodes,
  type WaveAnalysis,
  type WaveState,
} from '../api/node-config-set.js';
import { type PowerReport, powerOf } from '../rollout/analysis/power.js';
import { assess } from '../rollout/assessment.js';
import { readRules } from '../rollout/spec.js';
import type { Fleet } from './fleet.js';
import type { RecordedNode, RehearsalEvent, Sample } from './record.js';
import type { RehearsalRun } from './rehearse.js';
import type { NodeRejection } from './rejections.js';

/** Times are whole seconds from when the set was applied. */
export interface Rehearsal {
  apiVersion: 'cli.relet.dev/v1';
  kind: 'Rehearsal';
  set: string;
  revision?: string;
  seed: string;
  /** unfinished: neither complete nor stopped in time. */
  outcome: 'complete' | 'stopped' | 'unfinished';
  reason: string;
  message: string;
  /** Until it was complete or had stopped; of an unfinished one, all the time there was. */
  durationSeconds: number;
  /** Until no node had anything left to do. */
  quietSeconds: number;
  /** `unsettled`: in trial or not yet active. */
  nodes: Record<'selected' | 'updated' | 'unsettled' | 'failed' | 'returned' | 'excluded', number>;
  kubelets: Record<string, number>;
  /** The most at once beside what the strategy allows. */
  budgets: Record<'unavailable' | 'inTrial' | 'failed', { most: number; allowed: number }>;
  /** Nodes that were drained, drains that were given up, and pods that were evicted and ended. */
  drains: { started: number; failed: number; podsMoved: number };
  waves: RehearsedWave[];
  /** The effect that the waves could notice, of a set with analysis. */
  power?: PowerReport;
  rejections: NodeRejection[];
  failed: RehearsedNode[];
  excluded: { name: string; reason: string; message?: string }[];
  faults: RehearsalRun['faulty'];
  assumptions: string[];
  events: { seconds: number; kind: RehearsalEvent['kind']; text: string }[];
  timeline: (Omit<Sample, 'atMs'> & { seconds: number })[];
  /** In the order in which they were assigned. */
  story: RehearsedNode[];
  status: NodeConfigSetStatus;
}

export interface RehearsedWave {
  wave: number;
  nodes: number;
  updated: number;
  failed: number;
  state: WaveState;
  startSeconds?: number;
  endSeconds?: number;
}

export interface RehearsedNode {
  name: string;
  wave: number;
  outcome: RecordedNode['outcome'];
  assignedSeconds: number;
  activeSeconds?: number;
  endedSeconds?: number;
  reason?: string;
  message?: string;
}

export interface ReportInput {
  run: RehearsalRun;
  fleet: Fleet;
  seed: string;
  rejections: NodeRejection[];
  /** Beside those of the fleet. */
  assumptions: string[];
}

export function reportOf({ run, fleet, seed, rejections, assumptions }: ReportInput): Rehearsal {
  const { record, set, quietMs, faulty } = run;
  const { status = {} } = set;
  const recorded = [...record.nodes.values()];
  const ordered = inOrder(recorded, record.order).map(rehearsed);
  const { unavailable, inTrial, failed } = status;
  const of = (outcome: RecordedNode['outcome']) => recorded.filter((one) => one.outcome === outcome).length;
  return {
    apiVersion: 'cli.relet.dev/v1',
    kind: 'Rehearsal',
    set: set.metadata.name,
    ...(status.updateRevision !== undefined && { revision: status.updateRevision }),
    seed,
    ...ending(set),
    durationSeconds: seconds(record.endedMs ?? quietMs),
    quietSeconds: seconds(quietMs),
    nodes: {
      selected: fleet.nodes.length,
      // Some nodes of a rollout under way were updated before.
      updated: status.updatedNodes ?? of('updated'),
      unsettled: (status.inTrialNodes ?? 0) + (status.pendingNodes ?? 0),
      failed: status.failedNodes ?? of('failed'),
      returned: of('returned'),
      excluded: status.excludedNodes ?? 0,
    },
    kubelets: countBy(fleet.nodes.map(({ kubeletVersion }) => kubeletVersion)),
    budgets: {
      unavailable: { most: record.most.unavailable, allowed: unavailable?.allowed ?? 0 },
      inTrial: { most: record.most.inTrial, allowed: inTrial?.allowed ?? 0 },
      failed: { most: Math.max(record.most.failed, failed?.used ?? 0), allowed: failed?.allowed ?? 0 },
    },
    drains: { ...record.drains, podsMoved: run.podsMoved },
    waves: wavesOf(set, recorded),
    ...powerIn(set, run.earlier),
    rejections,
    failed: ordered.filter(({ outcome, reason }) => outcome === 'failed' || (outcome === 'returned' && reason)),
    excluded: status.excluded ?? [],
    faults: faulty,
    assumptions: [...fleet.assumptions, ...assumptions],
    events: record.events.map(({ atMs, ...event }) => ({ seconds: seconds(atMs), ...event })),
    timeline: thinned(record.samples).map(({ atMs, ...counts }) => ({ seconds: seconds(atMs), ...counts })),
    story: ordered,
    status,
  };
}

const seconds = (ms: number): number => Math.round(ms / 1000);

function ending(set: NodeConfigSet): Pick<Rehearsal, 'outcome' | 'reason' | 'message'> {
  const assessment = assess(set);
  if (assessment.kind === 'unseen') return { outcome: 'unfinished', reason: '', message: 'the controller did nothing' };
  const { kind, reason, message } = assessment;
  return {
    outcome: kind === 'progressing' ? 'unfinished' : kind,
    reason,
    message: kind === 'progressing' ? (set.status?.waiting ?? message) : message,
  };
}

/** As the set decided; a node that it did not decide about comes last. */
function inOrder(recorded: readonly RecordedNode[], order: readonly string[]): RecordedNode[] {
  const places = new Map<string, number>();
  for (const [place, name] of order.entries()) if (!places.has(name)) places.set(name, place);
  const placeOf = ({ name }: RecordedNode) => places.get(name) ?? order.length;
  return [...recorded].sort((a, b) => placeOf(a) - placeOf(b));
}

function rehearsed({
  name,
  wave,
  outcome,
  assignedMs,
  activeMs,
  endedMs,
  reason,
  message,
}: RecordedNode): RehearsedNode {
  return {
    name,
    wave,
    outcome,
    assignedSeconds: seconds(assignedMs),
    ...(activeMs !== undefined && { activeSeconds: seconds(activeMs) }),
    ...(endedMs !== undefined && { endedSeconds: seconds(endedMs) }),
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  };
}

function wavesOf({ status = {} }: NodeConfigSet, recorded: readonly RecordedNode[]): RehearsedWave[] {
  return (status.waves ?? []).map(({ wave, updated, failed, state }, at, all) => {
    const members = recorded.filter((one) => one.wave === wave);
    const ends = members.map(({ endedMs }) => endedMs);
    const isOver = members.length > 0 && ends.every((ms) => ms !== undefined);
    return {
      wave,
      nodes: ownNodes(all, at),
      updated,
      failed,
      state,
      ...(members.length > 0 && { startSeconds: seconds(least(members.map(({ assignedMs }) => assignedMs))) }),
      ...(isOver && { endSeconds: seconds(-least(ends.map((ms) => -ms!))) }),
    };
  });
}

function powerIn({ spec, status = {} }: NodeConfigSet, analyses: WaveAnalysis[]): { power?: PowerReport } {
  const { analysis } = readRules(spec);
  const { waves = [] } = status;
  const sizes = waves.map((_, at) => ownNodes(waves, at));
  const power = analysis && powerOf(analysis, sizes, { analyses });
  return power === undefined ? {} : { power };
}

const least = (numbers: readonly number[]): number =>
  numbers.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);

function countBy(values: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const mostSamples = 500;

/** The first and the last stay, and of each stretch in between the one with the most nodes unavailable. */
function thinned(samples: readonly Sample[]): Sample[] {
  if (samples.length <= mostSamples) return [...samples];
  const size = Math.ceil((samples.length - 2) / (mostSamples - 2));
  const kept = [samples[0]!];
  for (let at = 1; at < samples.length - 1; at += size)
    kept.push(
      samples
        .slice(at, Math.min(at + size, samples.length - 1))
        .reduce((a, b) => (b.unavailable > a.unavailable ? b : a)),
    );
  return [...kept, samples.at(-1)!];
}

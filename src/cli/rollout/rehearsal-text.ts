/** Formats a rehearsal for people: its result, the failures and what followed from them, and the assumptions. Pure. */
import { setStalledReasons } from '../../api/condition-reasons.js';
import { shortDuration } from '../../go/short-duration.js';
import type { Rehearsal, RehearsedWave } from '../../rehearsal/report.js';
import type { RehearsalSpread, Spread } from '../../rehearsal/spread.js';
import { isIdle } from '../../rollout/assessment.js';
import { list } from '../../rollout/sentences.js';
import { oneLine } from '../../visible-text.js';
import { factLines, nodesText, type TextRoom } from '../terminal/facts.js';
import { type Column, tableLines } from '../terminal/output.js';
import { newestAnalysisText, powerText } from './analysis-text.js';

/** `01:10:05` after the set was applied. */
export function stamp(seconds: number): string {
  const part = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${part(seconds / 3600)}:${part((seconds / 60) % 60)}:${part(seconds % 60)}`;
}

export const lasting = (seconds: number): string => shortDuration(seconds * 1000);

const nodesOf = (count: number): string => `${count} ${count === 1 ? 'node' : 'nodes'}`;

export function rehearsalText(rehearsal: Rehearsal, room: TextRoom): string {
  const { paint } = room;
  const { outcome } = rehearsal;
  const painted = outcome === 'complete' ? paint.green : outcome === 'stopped' ? paint.red : paint.yellow;
  const facts: [string, string | undefined][] = [
    ['Rehearsal', subjectText(rehearsal)],
    ['Result', painted(resultText(rehearsal))],
    ['Because', becauseText(rehearsal)],
    ['Then', thenText(rehearsal)],
    ['At most', budgetsText(rehearsal)],
    ['Drains', drainsText(rehearsal)],
    ['Injected', faultsText(rehearsal)],
    ['Not tried', outcome === 'complete' ? notTried : undefined],
    ['Assumed', oneLine(rehearsal.assumptions.join('; ')) || undefined],
  ];
  const failed = rehearsal.failed.map(({ name, wave, endedSeconds, reason = '', message }) => ({
    name: `${name} (wave ${wave}${endedSeconds === undefined ? '' : `, ${stamp(endedSeconds)}`})`,
    reason,
    ...(message !== undefined && { message }),
  }));
  const sections = [
    factLines(facts, room),
    rehearsal.waves.length === 0 || rehearsal.story.length === 0
      ? ''
      : tableLines(waveColumns, rehearsal.waves, room.width).join('\n'),
    powerText(rehearsal.power, room),
    newestAnalysisText(rehearsal.status, room),
    rejectionsText(rehearsal.rejections, room),
    nodesText('Failed', failed.slice(0, 10), rehearsal.nodes.failed, room),
    nodesText('Not changed for now', rehearsal.excluded, rehearsal.nodes.excluded, room),
  ];
  return sections.filter((text) => text !== '').join('\n\n');
}

/** A rehearsal that completes is not a promise. */
const notTried =
  'the kubelets are stand-ins: a port that is taken, a missing file or a broken runtime shows only on a node, in its trial';

export function subjectText({ set, revision, nodes, kubelets, seed }: Rehearsal): string {
  const versions = Object.entries(kubelets);
  const what =
    versions.length === 1
      ? kubeletText(versions[0]![0])
      : `kubelets ${versions.map(([version, count]) => `${version} (${count})`).join(', ')}`;
  const of = revision === undefined ? '' : `, revision ${revision}`;
  return oneLine(`${set}${of}, ${nodesOf(nodes.selected)}, ${what}, seed ${seed}`);
}

const kubeletText = (version: string): string =>
  version === '' ? 'a kubelet of unknown version' : `kubelet ${version}`;

export function resultText({ outcome, reason, durationSeconds }: Rehearsal): string {
  if (isIdle(reason)) return `nothing can be changed (${reason})`;
  return `${outcome === 'unfinished' ? 'not ended' : outcome} (${reason}) after ${lasting(durationSeconds)}`;
}

export function becauseText({ outcome, reason, message, failed }: Rehearsal): string | undefined {
  if (outcome === 'complete') return undefined;
  // The nodes that failed are listed, each with its reason.
  const { halted } = setStalledReasons;
  return reason === halted.reason && failed.length > 0 ? halted.message : oneLine(message);
}

/** Final outcome of the nodes. */
export function thenText({ outcome, nodes, durationSeconds, quietSeconds, story }: Rehearsal): string | undefined {
  const { selected, updated, unsettled, returned, excluded } = nodes;
  // Nodes that failed and returned are among the returned; a set that was undone counts none of them as failed.
  const returnedFailed = story.filter((one) => one.outcome === 'returned' && one.reason !== undefined).length;
  const failed = Math.max(0, nodes.failed - returnedFailed);
  const rest = selected - updated - failed - returned - unsettled - excluded;
  const parts = [
    [updated, 'updated'],
    [failed, 'failed'],
    [returned, 'given back what they had'],
    [unsettled, 'in trial or not yet active'],
    [excluded, 'excluded'],
    [rest, 'not changed'],
  ].flatMap(([count, what]) => (Number(count) > 0 ? [`${count} ${what}`] : []));
  const last = outcome === 'stopped' && quietSeconds > durationSeconds + 10 ? ` after ${lasting(quietSeconds)}` : '';
  return parts.length === 0 ? undefined : `${parts.join(', ')}${last}`;
}

/** Undefined if nothing was assigned: there is nothing to compare. */
export function budgetsText({ budgets, story }: Rehearsal): string | undefined {
  if (story.length === 0) return undefined;
  const { unavailable, inTrial, failed } = budgets;
  const one = ({ most, allowed }: { most: number; allowed: number }, what: string) => `${most} of ${allowed} ${what}`;
  return `${one(unavailable, 'allowed unavailable')}, ${one(inTrial, 'in trial')}, ${one(failed, 'failed')}`;
}

export function drainsText({ drains: { started, failed, podsMoved } }: Rehearsal): string | undefined {
  if (started === 0) return undefined;
  const moved = `${podsMoved} ${podsMoved === 1 ? 'pod' : 'pods'} moved`;
  return `${nodesOf(started)} drained, ${moved}${failed > 0 ? `, ${failed} given up` : ''}`;
}

export function faultsText({ faults: { fail, slow, notReady }, events }: Rehearsal): string | undefined {
  const crashes = events.filter(({ kind, text }) => kind === 'fault' && text.endsWith(' crashes')).length;
  const outages = events.filter(({ kind, text }) => kind === 'fault' && text.includes(' is away ')).length;
  const parts = [
    ...(fail.length > 0 ? [`fails on ${list(fail)}`] : []),
    ...(slow.length > 0 ? [`slow on ${list(slow)}`] : []),
    ...(notReady.length > 0 ? [`${list(notReady)} not Ready`] : []),
    ...(crashes > 0 ? [`${crashes} ${crashes === 1 ? 'crash' : 'crashes'} of a controller`] : []),
    ...(outages > 0 ? [`${outages} ${outages === 1 ? 'outage' : 'outages'} of the API server`] : []),
  ];
  return parts.length === 0 ? undefined : oneLine(parts.join('; '));
}

const time = (seconds: number | undefined): string => (seconds === undefined ? '' : stamp(seconds));

const waveColumns: Column<RehearsedWave>[] = [
  { title: 'WAVE', cell: ({ wave }) => String(wave) },
  { title: 'NODES', cell: ({ nodes }) => String(nodes) },
  { title: 'STARTS', cell: ({ startSeconds }) => time(startSeconds) },
  { title: 'ENDS', cell: ({ endSeconds }) => time(endSeconds) },
  { title: 'UPDATED', cell: ({ updated }) => String(updated) },
  { title: 'FAILED', cell: ({ failed }) => String(failed) },
];

/** An entry without nodes is of a kubelet that no selected node has. */
export function rejectionsText(rejections: Rehearsal['rejections'], room: TextRoom): string {
  const items = rejections.map(({ nodes, kubeletVersion, reason, message }) => ({
    name:
      nodes.length === 0
        ? kubeletText(kubeletVersion)
        : `${nodesOf(nodes.length)} with ${kubeletText(kubeletVersion)} (${list(nodes)})`,
    reason,
    message,
  }));
  return nodesText('Nodes that would reject it', items.slice(0, 10), items.length, room);
}

interface SpreadRow {
  what: string;
  spread: Spread | undefined;
  show(value: number): string;
}

const spreadColumns: Column<SpreadRow>[] = [
  { title: '', cell: ({ what }) => what },
  { title: 'BEST', cell: ({ spread, show }) => (spread ? show(spread.best) : '') },
  { title: 'MEDIAN', cell: ({ spread, show }) => (spread ? show(spread.median) : '') },
  { title: 'WORST', cell: ({ spread, show }) => (spread ? show(spread.worst) : '') },
  { title: 'SEED OF THE WORST', cell: ({ spread }) => spread?.worstSeed ?? '' },
];

export function spreadText(spread: RehearsalSpread, room: TextRoom): string {
  const outcomes = Object.entries(spread.outcomes)
    .sort(([, a], [, b]) => b - a)
    .map(([outcome, count]) => `${count} ${outcome}`);
  const facts: [string, string | undefined][] = [
    ['Rehearsals', oneLine(`${spread.seeds} of ${spread.set}`)],
    ['Results', outcomes.join(', ')],
    ['Assumed', oneLine(spread.assumptions.join('; ')) || undefined],
  ];
  const rows: SpreadRow[] = [
    { what: 'duration', spread: spread.durationSeconds, show: lasting },
    { what: 'failed nodes', spread: spread.failedNodes, show: String },
    { what: 'most unavailable', spread: spread.mostUnavailable, show: String },
    { what: 'most in trial', spread: spread.mostInTrial, show: String },
  ];
  const sections = [
    factLines(facts, room),
    tableLines(
      spreadColumns,
      rows.filter((row) => row.spread !== undefined),
      room.width,
    ).join('\n'),
    rejectionsText(spread.rejections, room),
  ];
  return sections.filter((text) => text !== '').join('\n\n');
}

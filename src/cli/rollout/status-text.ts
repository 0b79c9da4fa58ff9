/** Formats the rollout of a set for people: progress, time left, waves, nodes in trouble, next step. Pure. */

import { setProgressReasons, setStalledReasons } from '../../api/condition-reasons.js';
import {
  type Budget,
  isEmptyWave,
  type NodeConfigSet,
  type NodeConfigSetStatus,
  ownNodes,
  type WaveStatus,
} from '../../api/node-config-set.js';
import { shortDuration } from '../../go/short-duration.js';
import {
  type Assessment,
  assess,
  completionText,
  hasNoNodes,
  isIdle,
  nextStep,
  waitingWave,
} from '../../rollout/assessment.js';
import { leftMs, soakMs } from '../../rollout/estimate.js';
import { outcomeWords } from '../../rollout/sentences.js';
import { newestStep, stepText } from '../../rollout/steps.js';
import { oneLine } from '../../visible-text.js';
import { factLines, nodesText, type TextRoom } from '../terminal/facts.js';
import { type Column, tableLines } from '../terminal/output.js';
import { type Paint, wrapWords } from '../terminal/terminal.js';
import { newestAnalysisText } from './analysis-text.js';

export interface StatusTextOptions {
  terminal: TextRoom;
  nowMs: number;
  /** Trial length of one node, as it reports it; undefined if no node is in trial. */
  trialMs?: number | undefined;
}

/** The whole page. */
export function statusText(set: NodeConfigSet, options: StatusTextOptions): string {
  const { terminal, nowMs } = options;
  const { status = {} } = set;
  const assessment = assess(set);
  const facts: [string, string | undefined][] = [
    ['Set', set.metadata.name],
    ['Revision', revisionText(status)],
    ['Assessment', paintAssessment(assessmentText(set, assessment), assessment, terminal.paint)],
    ['Completion', completionText(status)],
    ['Duration', durationText(set, options)],
    ['Budgets', budgetsText(status)],
    ['Last step', lastStep(status, nowMs)],
    [assessment.kind === 'stopped' ? 'Because' : 'Waits for', waitsFor(set, assessment)],
    ['Next', nextStep(set, assessment)],
  ];
  const sections = [
    factLines(facts, terminal),
    wavesTree(set, nowMs, terminal),
    // An undo has no waves.
    status.waves?.some(({ wave }) => wave === status.wave)
      ? ''
      : changingTexts(status)
          .map((text) => wrapWords(oneLine(text), terminal, '    ').replace(/^ {4}/, '  - '))
          .join('\n'),
    waveOfFailures(status) === undefined
      ? nodesText('Nodes in trouble', status.failedSamples, status.failedNodes, terminal)
      : '',
    newestAnalysisText(status, terminal),
    nodesText('Not changed for now', status.excluded, status.excludedNodes, terminal),
  ];
  return sections.filter((text) => text !== '').join('\n\n');
}

/** Last step of a person, if the assessment does not name it: `ann approved wave 1 of revision 59d0d247cf, 5m ago`. */
function lastStep({ steps, updateRevision }: NodeConfigSetStatus, nowMs: number): string | undefined {
  const kinds = ['Approved', 'Retried', 'Resumed', 'Paused', 'Aborted', 'Undone'] as const;
  const step = newestStep(steps, kinds, updateRevision);
  if (step === undefined || ['Paused', 'Aborted', 'Undone'].includes(step.step)) return undefined;
  return `${stepText(step)}, ${shortDuration(Math.max(0, nowMs - Date.parse(step.at)))} ago`;
}

/** One line, for a pipe: `gpu: wave 2/4, 12 of 40 nodes updated, 3 in trial; waits for …`. */
export function statusLine(set: NodeConfigSet): string {
  const { status = {}, metadata } = set;
  const assessment = assess(set);
  // Nothing is listed below a line: it has the nodes that failed, and why, in its message.
  const waits = assessment.kind === 'stopped' ? assessment.message : waitsFor(set, assessment);
  const wave = status.waveText === undefined ? '' : `, wave ${status.waveText}`;
  const end = waits === undefined ? '' : `; ${assessment.kind === 'stopped' ? '' : 'waits for: '}${waits}`;
  const completion = completionText(status);
  return oneLine(
    `${metadata.name}: ${headline(assessment)}${wave}${completion === undefined ? '' : `, ${completion}`}${end}`,
  );
}

export function headline(assessment: Assessment): string {
  if (assessment.kind === 'unseen') return 'not seen by the controller yet';
  const { kind, reason } = assessment;
  const word = hasNoNodes(reason) ? 'no node selected' : isIdle(reason) ? 'waiting' : kind;
  return `${word} (${reason})`;
}

function assessmentText({ status = {} }: NodeConfigSet, assessment: Assessment): string {
  const isUnderWay = assessment.kind === 'progressing' && status.wave !== undefined && status.waves !== undefined;
  return isUnderWay ? `${headline(assessment)}, wave ${status.wave} of ${status.waves!.length}` : headline(assessment);
}

/** An undo that is over is what somebody wanted. */
function paintAssessment(text: string, assessment: Assessment, paint: Paint): string {
  const { kind } = assessment;
  const isWanted = 'reason' in assessment && assessment.reason === setStalledReasons.undone.reason;
  if (kind === 'stopped' && !isWanted) return paint.red(text);
  return kind === 'complete' && !hasNoNodes(assessment.reason) ? paint.green(text) : paint.yellow(text);
}

function revisionText({ updateRevision, rejectedRevision, revisions = [] }: NodeConfigSetStatus): string | undefined {
  if (updateRevision === undefined) return undefined;
  const summary = revisions.find(({ revision }) => revision === updateRevision)?.summary;
  const outcome = rejectedRevision === updateRevision ? ` (${outcomeWords[revisions[0]?.outcome ?? 'Aborted']})` : '';
  return oneLine(`${updateRevision}${outcome}${summary === undefined ? '' : `, ${summary}`}`);
}

function durationText(set: NodeConfigSet, { nowMs, trialMs }: StatusTextOptions): string | undefined {
  const { status = {} } = set;
  const [revision] = status.revisions ?? [];
  const startedMs = Date.parse(revision?.startedAt ?? '');
  if (Number.isNaN(startedMs)) return undefined;
  const endedMs = Date.parse(revision?.endedAt ?? '');
  const elapsed = Math.max(0, (Number.isNaN(endedMs) ? nowMs : endedMs) - startedMs);
  if (assess(set).kind !== 'progressing') return shortDuration(elapsed);
  const parts = [shortDuration(elapsed), ...paceText(status.updatedNodes ?? 0, elapsed)];
  const left = leftMs(set, { nowMs, trialMs });
  const end =
    left === undefined
      ? 'no estimate yet'
      : `about ${shortDuration(left)} left, until ${clockTime(nowMs + left, nowMs)}`;
  return `${parts.join(', ')}; ${end}${isHeldUp(set) ? ', not counting this wait' : ''}`;
}

function paceText(updated: number, elapsedMs: number): string[] {
  const perHour = Math.round((updated * 3_600_000) / Math.max(elapsedMs, 1));
  return updated === 0 || elapsedMs < 60_000 ? [] : [`${perHour} ${perHour === 1 ? 'node' : 'nodes'} an hour`];
}

/** `15:32 UTC`, with the day where it is not today. */
function clockTime(ms: number, nowMs: number): string {
  const [day, time] = new Date(ms).toISOString().slice(0, 16).split('T') as [string, string];
  return new Date(nowMs).toISOString().startsWith(day) ? `${time} UTC` : `${day} ${time} UTC`;
}

/** The rollout waits for a person, or for a time that cannot be estimated. */
function isHeldUp(set: NodeConfigSet): boolean {
  const { approval, paused, window } = setProgressReasons;
  const assessment = assess(set);
  return 'reason' in assessment && [approval, paused, window].some((one) => one.reason === assessment.reason);
}

function budgetsText({ unavailable, inTrial, failed }: NodeConfigSetStatus): string | undefined {
  const budgets: [string, Budget | undefined][] = [
    ['unavailable', unavailable],
    ['in trial', inTrial],
    ['failed', failed],
  ];
  const texts = budgets.flatMap(([what, one]) => (one === undefined ? [] : [`${what} ${one.used} of ${one.allowed}`]));
  return texts.length === 0 ? undefined : texts.join(', ');
}

/** Without the commands that are listed under Next. */
function waitsFor({ status = {} }: NodeConfigSet, assessment: Assessment): string | undefined {
  if (assessment.kind === 'unseen') return 'the controller, which has not seen the newest spec or request yet';
  if (assessment.reason === setProgressReasons.approval.reason)
    return `approval of wave ${waitingWave(status)} of revision ${status.updateRevision}`;
  if (assessment.kind === 'stopped') {
    const { aborted, undone } = setStalledReasons;
    const step = newestStep(status.steps, ['Aborted', 'Undone'], status.updateRevision);
    if (step && [aborted, undone].some(({ reason }) => reason === assessment.reason)) return stepText(step);
    // The nodes that failed are listed below, each with its reason.
    const { reason, message } = setStalledReasons.halted;
    const isListed = assessment.reason === reason && (status.failedSamples ?? []).length > 0;
    return isListed ? message : oneLine(assessment.message);
  }
  if (assessment.kind === 'complete') return hasNoNodes(assessment.reason) ? oneLine(assessment.message) : undefined;
  return status.waiting === undefined ? undefined : oneLine(status.waiting);
}

interface WaveRow extends WaveStatus {
  own: number;
}

const waveColumns = (state: (row: WaveRow) => string, paint: Paint): Column<WaveRow>[] => [
  { title: 'WAVE', cell: ({ wave }) => String(wave) },
  { title: 'NODES', cell: ({ own }) => String(own) },
  { title: 'ASSIGNED', cell: ({ assigned }) => String(assigned) },
  { title: 'UPDATED', cell: ({ updated }) => String(updated) },
  { title: 'FAILED', cell: ({ failed }) => String(failed), paint: (text) => (text === '0' ? text : paint.red(text)) },
  { title: 'STATE', cell: state },
];

/** Each wave, and below it the nodes that are being changed or that failed, as the status names them. */
function wavesTree(set: NodeConfigSet, nowMs: number, terminal: TextRoom): string {
  const { status = {}, spec } = set;
  const { waves = [] } = status;
  if (waves.length === 0) return '';
  const rows = waves.map((wave, at): WaveRow => ({ ...wave, own: ownNodes(waves, at) }));
  const isStopped = assess(set).kind === 'stopped';
  const state = ({ wave, state, endedAt, failed }: WaveRow) => {
    const soak = soakMs(spec.strategy?.waves?.[wave - 1]?.soak);
    const left = state === 'Soaking' ? Date.parse(endedAt ?? '') + soak - nowMs : Number.NaN;
    if (left > 0) return `Soaking, ${shortDuration(left)} left`;
    if (isEmptyWave(waves, wave - 1) && (state === 'Pending' || state === 'Done')) return 'Skipped, no nodes';
    if (state === 'Done' && failed > 0) return 'Done, with failures';
    return state === 'Rolling' && isStopped ? 'Stopped' : state;
  };
  const [titles, ...lines] = tableLines(waveColumns(state, terminal.paint), rows, terminal.width);
  return [titles, ...lines.flatMap((line, at) => [line, ...branches(status, rows[at]!.wave, terminal)])].join('\n');
}

function branches(status: NodeConfigSetStatus, wave: number, { paint, ...room }: TextRoom): string[] {
  const failed = waveOfFailures(status) === wave ? failedTexts(status) : [];
  const texts = [...failed, ...(wave === status.wave ? changingTexts(status) : [])];
  return texts.map((text, at) => {
    const isLast = at === texts.length - 1;
    const lines = wrapWords(oneLine(text), room, `${isLast ? ' ' : '│'}    `, `${isLast ? '└' : '├'}─ `);
    return at < failed.length ? paint.red(lines) : lines;
  });
}

/** Undefined if several waves have failures: the status does not show which node is of which. */
function waveOfFailures({ waves = [] }: NodeConfigSetStatus): number | undefined {
  const [first, ...others] = waves.filter(({ failed }) => failed > 0);
  return others.length === 0 ? first?.wave : undefined;
}

const failedTexts = ({ failedSamples = [], failedNodes = 0 }: NodeConfigSetStatus): string[] => [
  ...failedSamples.map(({ name, reason, message }) => `${name}, ${reason}${message ? `: ${message}` : ''}`),
  ...moreOf(failedNodes, failedSamples.length, 'failed'),
];

/** Nodes that are drained, with what each waits for; one that has just begun waits for nothing yet. Then those in trial, and others. */
function changingTexts(status: NodeConfigSetStatus): string[] {
  const { draining = [], drainingNodes = 0, inTrial, unavailable, failedSamples = [] } = status;
  const named = new Set([...failedSamples, ...draining].map(({ name }) => name));
  const listed = (budget: Budget | undefined, what: string): string[] => {
    const names = (budget?.nodes ?? []).filter((name) => !named.has(name));
    for (const name of names) named.add(name);
    return names.length === 0 ? [] : [`${what}: ${names.join(', ')}`];
  };
  return [
    ...draining.map(({ name, message }) => `${name}, being drained: ${message || 'cordoned'}`),
    ...moreOf(drainingNodes, draining.length, 'being drained'),
    ...listed(inTrial, 'in trial'),
    ...listed(unavailable, 'not available'),
  ];
}

const moreOf = (all: number, shown: number, what: string): string[] =>
  shown > 0 && all > shown ? [`and ${all - shown} more ${what}`] : [];

/** The waves of a rollout: their sizes, their progress, and the present one. Pure. */
import { isEmptyWave, type WaveState, type WaveStatus } from '../api/node-config-set.js';
import { rfc3339 } from '../clock.js';
import { type AnalysisGate, gateOf } from './analysis/analysis.js';
import { type SetRules, shareOf } from './spec.js';
import { isApproved, isComplete, isRejected, type SetState } from './state.js';
import { isHalted, type Survey } from './survey.js';

export interface WavePlan {
  waves: WaveStatus[];
  present: { wave: number; state: WaveState; room: number; soakEndsAtMs?: number };
  /** Every wave is done, and no node is left to be assigned. */
  isDone: boolean;
}

interface WavesInput {
  rules: SetRules;
  state: SetState;
  survey: Survey;
  nowMs: number;
}

export function wavesOf(input: WavesInput): WavePlan {
  const { state, survey } = input;
  const rules = waveRules(input);
  const done = isRejected(state) || state.updateRevision === undefined;
  const waves: WaveStatus[] = [];
  let present: WavePlan['present'] | undefined;
  let target = 0;
  for (const [index, { nodes }] of rules.entries()) {
    const isLast = index === rules.length - 1;
    const share = isLast ? survey.eligible.length : shareOf(nodes, survey.eligible.length, 'up');
    target = Math.min(survey.eligible.length, Math.max(target, share));
    const counted = countsOf(index + 1, target, survey);
    if (present !== undefined || done) {
      waves.push({ ...counted, state: 'Pending' });
      continue;
    }
    // A pause that has begun continues, even if all nodes of the wave have been removed since.
    const hasBegun = state.waves?.find((one) => one.wave === index + 1)?.endedAt !== undefined;
    const hasPause = !isLast && (hasBegun || !isEmptyWave([...waves, counted], index));
    // A rollback to the current revision has one wave, and no analysis.
    const analysis = rules === input.rules.waves ? gateOf(state, survey, input.rules, index + 1) : 'None';
    const { status, room, soakEndsAtMs } = progress({ ...input, rules }, counted, { hasPause, analysis });
    waves.push(status);
    if (status.state !== 'Done')
      present = { wave: index + 1, state: status.state, room, ...(soakEndsAtMs !== undefined && { soakEndsAtMs }) };
  }
  // Without eligible nodes there are no waves yet; waves that have begun stay.
  const hasBegun = (state.waves ?? []).some(({ assigned, endedAt }) => assigned > 0 || endedAt !== undefined);
  const hasWaves = !done && (survey.eligible.length > 0 || hasBegun);
  return {
    waves: hasWaves ? waves : [],
    present: present ?? { wave: rules.length, state: 'Done', room: 0 },
    // Without nodes nothing is proven: the first nodes that join are the first wave.
    isDone: !done && present === undefined && survey.eligible.length > 0,
  };
}

/** Back to the current revision, for example by a revert in Git: one wave, without soak and approval. */
function waveRules({ rules, state }: WavesInput): SetRules['waves'] {
  const isReturn = state.updateRevision === state.currentRevision && !isComplete(state);
  return isReturn ? [{ nodes: '100%', soakMs: 0, approve: false }] : rules.waves;
}

function countsOf(wave: number, nodes: number, { phases }: Survey): Omit<WaveStatus, 'state'> {
  const counts = { assigned: 0, updated: 0, failed: 0 };
  for (const [node, phase] of phases) {
    if (phase === 'todo' || node.claim?.wave !== wave) continue;
    counts.assigned++;
    if (phase === 'updated') counts.updated++;
    if (phase === 'failed') counts.failed++;
  }
  return { wave, nodes, ...counts };
}

/**
 * State of a wave. Done is final. Before that: Rolling while it has room, members without a result, or too many failures; then Soaking,
 * counted from the last result; then Analyzing; then AwaitingApproval. Without `hasPause` the last three are skipped.
 */
function progress(
  { rules, state, survey, nowMs }: Omit<WavesInput, 'rules'> & { rules: SetRules['waves'] },
  counted: Omit<WaveStatus, 'state'>,
  { hasPause, analysis }: { hasPause: boolean; analysis: AnalysisGate },
): { status: WaveStatus; room: number; soakEndsAtMs?: number } {
  const { wave, nodes } = counted;
  const before = state.waves?.find((one) => one.wave === wave);
  const endedAt = before?.endedAt;
  if (isComplete(state) || before?.state === 'Done')
    return { status: { ...counted, state: 'Done', ...(endedAt && { endedAt }) }, room: 0 };
  const members = [...survey.phases].filter(([node, phase]) => phase !== 'todo' && (node.claim?.wave ?? 0) <= wave);
  const isTodoLeft = survey.eligible.some((node) => survey.phases.get(node) === 'todo');
  const room = isTodoLeft ? Math.max(0, nodes - members.length) : 0;
  const isStopped = isHalted(survey) || analysis === 'Worse';
  const isRunning = members.some(([, phase]) => phase === 'pending' || phase === 'trial');
  const isOpen = survey.eligible.length === 0 || room > 0 || isRunning || isStopped;
  if (isOpen) return { status: { ...counted, state: 'Rolling' }, room };
  const ended = { ...counted, endedAt: endedAt ?? rfc3339(nowMs) };
  const { soakMs, approve } = rules[wave - 1]!;
  const soakEndsAtMs = Date.parse(ended.endedAt) + soakMs;
  if (hasPause && nowMs < soakEndsAtMs) return { status: { ...ended, state: 'Soaking' }, room: 0, soakEndsAtMs };
  if (hasPause && analysis === 'Observing') return { status: { ...ended, state: 'Analyzing' }, room: 0 };
  if (hasPause && (approve || analysis === 'Ask') && !isApproved(state, { wave }))
    return { status: { ...ended, state: 'AwaitingApproval' }, room: 0 };
  return { status: { ...ended, state: 'Done' }, room: 0 };
}

/** Formats the plan of a set for people. Pure. */
import { setNoteReasons, setStalledReasons } from '../../api/condition-reasons.js';
import { mostObserved } from '../../api/node-config-set.js';
import { selectorText } from '../../api/selector-object.js';
import { shortDuration } from '../../go/short-duration.js';
import { powerOf } from '../../rollout/analysis/power.js';
import type { PlannedSignatures, RolloutPlan, RolloutPlanNode } from '../../rollout/plan-output.js';
import { readRules, selfSetLabels } from '../../rollout/spec.js';
import { oneLine } from '../../visible-text.js';
import { planTexts } from '../change/change-to.js';
import type { PlannedChange } from '../change/plan.js';
import { statementText } from '../sign/statement.js';
import { factLines, nodesText, type TextRoom } from '../terminal/facts.js';
import { wrapWords } from '../terminal/terminal.js';
import { powerText } from './analysis-text.js';
import type { PlannedDrain, PlannedDrains } from './plan-drains.js';
import type { PlannedWave, SetPlan } from './plan-set.js';
import { signersText } from './plan-signatures.js';
import { rejectionsText } from './rehearsal-text.js';

/** `isWide`: with every name. */
export function planText(found: SetPlan, terminal: TextRoom, { isWide = false } = {}): string {
  const { set, decided, stalled, changes, notShown } = found;
  const { survey } = decided;
  const selected = survey.phases.size;
  const facts: [string, string | undefined][] = [
    ['Set', set.metadata.name],
    ['Revision', `${found.revision}, ${oneLine(found.summary)}`],
    ['Signed', found.signed && signersText(found.signed)],
    ['Nodes', nodesLine(found)],
    ['Outcome', outcomeText(found, terminal)],
    ['Drains', drainsLine(found)],
    ['Duration', stalled === undefined && found.rejections.length === 0 ? durationText(found) : undefined],
  ];
  const undrainable = found.drains.drains.filter((one) => one.undrainable !== undefined);
  const excluded = survey.excluded.map(({ node, exclusion }) => ({ name: node.name, ...exclusion }));
  const sections = [
    factLines(facts, terminal),
    ...found.waves
      .filter(({ names, isEmpty }) => names.length > 0 || isEmpty)
      .map((wave) => waveText(wave, found.drains, terminal, { isWide })),
    analysisText(found, terminal),
    nodesText(
      'Cannot be drained as things are',
      undrainable.slice(0, 10).map(({ node, undrainable: why = '' }) => ({ name: node, reason: why })),
      undrainable.length,
      terminal,
    ),
    rejectionsText(found.rejections, terminal),
    found.undone.length > 0 ? wrapWords(`Warning: ${undoneText(found.undone)}`, terminal) : '',
    ...planTexts(changes, terminal).map((text) => text.trimEnd()),
    notShown > 0
      ? wrapWords(
          `What changes was looked at on the first ${changes.length} nodes, not on the ${notShown} after them.`,
          terminal,
        )
      : '',
    found.withoutPolicies ? wrapWords('You may not list the field policies, so they were not checked.', terminal) : '',
    found.withoutClaims.length > 0
      ? wrapWords(
          `You may not list ${found.withoutClaims.join(' and ')}, so claims of other systems were not checked.`,
          terminal,
        )
      : '',
    nodesText('Not changed for now', excluded.slice(0, isWide ? undefined : 10), excluded.length, terminal),
  ];
  const labels = selfSetLabels(set.spec.selector);
  if (labels.length > 0) sections.push(wrapWords(`Warning: ${selectorWarning(labels)}`, terminal));
  if (selected === 0) sections.push('No node matches the selector.');
  return sections.filter((text) => text !== '').join('\n\n');
}

/** By which signals and controls the waves are compared, and what that can notice. */
function analysisText({ set, waves }: SetPlan, terminal: TextRoom): string {
  const { analysis } = readRules(set.spec);
  if (analysis === undefined) return '';
  const names = analysis.signals.map(({ name }) => name).join(', ');
  const what = `Analysis: the first ${mostObserved} nodes of each wave are compared with at most ${analysis.controls} nodes of the set that do not have the change yet, in windows of ${shortDuration(analysis.windowMs)}, by ${names}. Worse: ${analysis.onWorse}; cannot tell: ${analysis.onCannotTell}.`;
  const sizes = waves.map((wave) => wave.names.length);
  return [wrapWords(what, terminal), powerText(powerOf(analysis, sizes, set.status ?? {}), terminal)]
    .filter((text) => text !== '')
    .join('\n');
}

/** As the condition SelectorWarning of the set. */
const selectorWarning = (labels: string[]): string =>
  `${setNoteReasons.selfLabelled.message.slice(0, -1)}: ${labels.join(', ')}. Labels under node-restriction.kubernetes.io/ can be set by an administrator only.`;

function nodesLine({ set, decided: { survey }, waves }: SetPlan): string {
  const selector = selectorText(set.spec.selector) || 'all nodes';
  const left = waves.reduce((sum, { names }) => sum + names.length, 0);
  const parts = [
    `${survey.phases.size} selected (${oneLine(selector)})`,
    `${left} to change`,
    ...(survey.excluded.length > 0 ? [`${survey.excluded.length} excluded`] : []),
  ];
  return parts.join(', ');
}

function outcomeText({ stalled, rejections, waves, decided }: SetPlan, { paint }: TextRoom): string {
  if (stalled !== undefined) {
    const { reason, message } = setStalledReasons[stalled.kind];
    return paint.red(`would be stalled (${reason}). ${message} ${oneLine(stalled.message)}`);
  }
  if (rejections.length > 0) return paint.red(`would be rejected by ${rejectingText(rejections)}`);
  const own = waves.filter(({ names }) => names.length > 0).length;
  const { progress, waiting } = decided;
  if (progress.kind === 'noNodes') return paint.yellow('no node selected');
  if (progress.kind === 'nothing') return paint.yellow(`nothing can be changed now: ${oneLine(waiting ?? '')}`);
  if (own === 0) return paint.green('nothing to change');
  const empty = waves.filter(({ isEmpty }) => isEmpty).length;
  const skipped = empty === 0 ? '' : `, ${empty} of them without nodes`;
  return paint.green(`would be rolled out in ${own + empty} ${own + empty === 1 ? 'wave' : 'waves'}${skipped}`);
}

/** Before anything is written: what is signed later cannot be taken back from them. */
const undoneText = (undone: SetPlan['undone']): string =>
  `an undo would be rejected by ${rejectingText(undone)}: ${oneLine(undone[0]!.message)}.`;

/** `3 nodes (StartWouldFail)`. */
function rejectingText(rejections: SetPlan['rejections']): string {
  const count = rejections.reduce((sum, { nodes }) => sum + nodes.length, 0);
  const reasons = [...new Set(rejections.map(({ reason }) => reason))].join(', ');
  return `${count === 0 ? 'a kubelet' : `${count} ${count === 1 ? 'node' : 'nodes'}`} (${reasons})`;
}

const trialSources = { given: ' (--trial)', nodes: ', as nodes report', assumed: ' (assumed; --trial)' };

function durationText({ expectedMs, waves, set, trial }: SetPlan): string | undefined {
  if (waves.every(({ names }) => names.length === 0)) return undefined;
  if (expectedMs === undefined) return 'no end: maxUnavailable or maxInTrial is 0';
  const waits = [
    ...(waves.some(({ approve, names }) => approve && names.length > 0) ? ['approvals'] : []),
    ...((set.spec.strategy?.windows ?? []).length > 0 ? ['closed windows'] : []),
  ];
  const without = waits.length === 0 ? '' : `; ${waits.join(' and ')} come on top`;
  return `about ${shortDuration(expectedMs)}, with trials of ${shortDuration(trial.ms)}${trialSources[trial.from]}${without}`;
}

/** More names with -o wide, and in the result for programs. */
const mostNames = 20;

/** `3 nodes are drained first, 12 pods would move; …`. */
function drainsLine({ drains: { drains, mayDrain }, set }: SetPlan): string | undefined {
  if (drains.length === 0) return undefined;
  const stuck = drains.filter((one) => one.undrainable !== undefined).length;
  const halts = set.spec.strategy?.drain?.onUndrainable === 'Halt';
  const parts = [
    movesText(drains),
    ...(stuck > 0
      ? [`${stuck} cannot be drained as things are and would ${halts ? 'stop the rollout' : 'be left out'}`]
      : []),
    ...(mayDrain === undefined
      ? [
          "whether the controller may drain (role relet:controller-drain) was not checked, that needs 'create' on subjectaccessreviews",
        ]
      : []),
  ];
  return parts.join('; ');
}

function movesText(drains: readonly PlannedDrain[]): string {
  const nodes = `${drains.length} ${drains.length === 1 ? 'node is' : 'nodes are'} drained first`;
  if (drains.some((one) => one.pods === undefined))
    return `${nodes}; which pods would move is not known, they could not be listed`;
  const pods = drains.reduce((sum, one) => sum + one.pods!.length, 0);
  return `${nodes}, ${pods} ${pods === 1 ? 'pod' : 'pods'} would move`;
}

export function waveText(
  { wave, names, soakMs, approve, isEmpty }: PlannedWave,
  { drains }: PlannedDrains,
  terminal: TextRoom,
  { isWide = false } = {},
): string {
  if (isEmpty) return terminal.paint.bold(`Wave ${wave}: no nodes, skipped without soak and approval`);
  const own = drains.filter(({ node }) => names.includes(node));
  const then = [...(soakMs > 0 ? [`a soak of ${shortDuration(soakMs)}`] : []), ...(approve ? ['approval'] : [])];
  const count = `${names.length} ${names.length === 1 ? 'node' : 'nodes'}`;
  const heading = `Wave ${wave}: ${count}${then.length > 0 ? `, then ${then.join(' and ')}` : ''}`;
  const most = isWide ? names.length : mostNames;
  const more = names.length - most;
  const shown = `${names.slice(0, most).join(', ')}${more > 0 ? ` … and ${more} more, up to ${names.at(-1)}` : ''}`;
  const moves = own.length === 0 ? '' : `\n${wrapWords(`${movesText(own)}.`, terminal, '    ')}`;
  return `${terminal.paint.bold(heading)}\n${wrapWords(shown, terminal, '    ')}${moves}`;
}

/** For programs, with all names; docs/cli.md describes it. */
export function planObject(found: SetPlan): RolloutPlan {
  const { set, revision, summary, waves, decided, changes, expectedMs } = found;
  const labels = selfSetLabels(set.spec.selector);
  const warnings = [
    ...(labels.length > 0 ? [selectorWarning(labels)] : []),
    ...(found.undone.length > 0 ? [undoneText(found.undone)] : []),
  ];
  return {
    apiVersion: 'cli.relet.dev/v1',
    kind: 'RolloutPlan',
    set: set.metadata.name,
    revision,
    summary,
    selected: decided.survey.phases.size,
    excluded: decided.survey.excluded.map(({ node, exclusion }) => ({ name: node.name, ...exclusion })),
    ...problemsObject(found),
    ...(found.signed && { signed: signedObject(found.signed) }),
    waves: waves.map(({ wave, names, soakMs, approve, isEmpty }) => ({
      wave,
      nodes: names,
      soakSeconds: soakMs / 1000,
      approve,
      ...(isEmpty && { skipped: true }),
    })),
    ...(expectedMs !== undefined && { expectedSeconds: Math.round(expectedMs / 1000) }),
    trialSeconds: Math.round(found.trial.ms / 1000),
    drains: found.drains.drains,
    nodes: changes.map(nodeObject),
    ...(warnings.length > 0 && { warnings }),
  };
}

/** Why it would not be rolled out. */
export const problemsObject = ({ stalled, rejections }: SetPlan): Pick<RolloutPlan, 'stalled' | 'rejections'> => ({
  ...(stalled && { stalled: { reason: setStalledReasons[stalled.kind].reason, message: stalled.message } }),
  ...(rejections.length > 0 && { rejections }),
});

export const signedObject = ({ keys, signers, statement }: NonNullable<SetPlan['signed']>): PlannedSignatures => ({
  keys,
  ...(signers.length > 0 && { signers }),
  ...(statement && { statement: statementText(statement) }),
});

export function nodeObject({ node, preview, needs = [], notes, warnings }: PlannedChange): RolloutPlanNode {
  const known = {
    node: node.name,
    needs,
    ...(notes.length > 0 && { notes }),
    ...(warnings.length > 0 && { warnings }),
  };
  if (preview === undefined) return known;
  const changes = preview.changes.map(({ before: from, after: to, ...rest }) => ({ ...rest, from, to }));
  return { ...known, impact: preview.needs, pods: preview.pods, changes };
}

/** Prepares a set for the page: its sign, counts, the parts of its waves, and the texts of its buttons. Pure. */
import { isEmptyWave, ownNodes, type WaveStatus } from '../../../api/node-config-set.js';
import type { Row, SetDetails, SetSummary, SetVerb } from '../../wire.js';
import { type RowState, stateOrder } from '../parts/signs.js';

/** The sign and colour of a node's state that means the same for a set. */
export function signOf({ assessment, reason, paused }: Pick<SetSummary, 'assessment' | 'reason' | 'paused'>): RowState {
  // Nothing is wrong, and nothing is rolled out.
  if (reason === 'Undone' || reason === 'NoNodesSelected') return 'local';
  if (assessment === 'stopped') return 'rejected';
  if (assessment === 'complete') return 'active';
  const waits = paused || assessment === 'unseen' || /^(AwaitingApproval|NoNodeToChange|Paused)$/.test(reason);
  return waits ? 'waiting' : 'trial';
}

export type Urgency = 'halted' | 'waiting' | 'running';

/** A person ended these, or the time that a person set. */
const decided = new Set(['Aborted', 'Undone', 'Expired']);

/** Undefined: needs no attention. */
export function urgencyOf({ assessment, reason }: Pick<SetSummary, 'assessment' | 'reason'>): Urgency | undefined {
  if (assessment === 'complete') return undefined;
  if (assessment === 'stopped') return decided.has(reason) ? undefined : 'halted';
  return reason === 'AwaitingApproval' || reason === 'Paused' ? 'waiting' : 'running';
}

/** `awaiting approval` for AwaitingApproval. */
export const inWords = (reason: string): string => reason.replace(/(?!^)([A-Z])/g, ' $1').toLowerCase();

export function standingText({ assessment, reason }: Pick<SetSummary, 'assessment' | 'reason'>): string {
  if (assessment === 'unseen') return 'not seen by the controller yet';
  // A rollout that uses its budget is a rollout as usual; the sentence beside it names the nodes.
  return reason === 'BudgetSpent' ? 'rolling out' : inWords(reason);
}

/** Continues a sentence that begins with the name of the set: `waits for the approval of wave 1`. */
export function headline({ assessment, reason, wave, approval }: SetSummary): string {
  const inWave = wave === '' ? '' : `, wave ${wave.replace('/', ' of ')}`;
  if (assessment === 'unseen') return 'is not seen by the controller yet';
  if (reason === 'Halted') return `has halted${inWave}`;
  if (assessment === 'stopped') return `has stopped: ${inWords(reason)}`;
  switch (reason) {
    case 'AwaitingApproval':
      return approval ? `waits for the approval of wave ${approval.wave}` : 'waits for approval';
    case 'Paused':
      return `is paused${inWave}`;
    case 'Soaking':
      return `soaks${inWave}`;
    case 'WindowClosed':
      return `waits for its window${inWave}`;
    case 'NoNodeToChange':
      return 'has no node that it can change';
    case 'RollingOut':
    case 'BudgetSpent':
      return `is rolling out${inWave}`;
    default:
      return `is ${inWords(reason)}${inWave}`;
  }
}

/** `1 node failed; maxFailed allows 0.` */
export function failuresText({ nodes, budgets }: Pick<SetSummary, 'nodes' | 'budgets'>): string {
  const failed = `${nodesText(nodes.failed)} failed`;
  return budgets.failed === undefined ? `${failed}.` : `${failed}; maxFailed allows ${budgets.failed.allowed}.`;
}

/** `2 of 25 allowed unavailable`; empty: not known. */
export const budgetText = ({ budgets: { unavailable } }: Pick<SetSummary, 'budgets'>): string =>
  unavailable === undefined ? '' : `${unavailable.used} of ${unavailable.allowed} allowed unavailable`;

/** Nodes that are excluded are not waited for. 100 only at the end: 999 of 1000 is not it. */
export function completion({ nodes }: Pick<SetSummary, 'nodes'>): { updated: number; total: number; percent: number } {
  const total = Math.max(0, nodes.selected - nodes.excluded);
  const updated = Math.min(nodes.updated, total);
  return { updated, total, percent: Math.floor((100 * updated) / Math.max(total, 1)) };
}

/** Nodes on which the revision failed and that no longer show it: after a rollback a node is well, and only the revision names it. */
export function failedBefore({ revision, status }: Pick<SetDetails, 'revision' | 'status'>): string[] {
  const failing = new Set(status.failedSamples?.map(({ name }) => name));
  const { failedNodes = [] } = status.revisions?.find((one) => one.revision === revision) ?? {};
  return failedNodes.filter((name) => !failing.has(name));
}

export type Part = 'updated' | 'trial' | 'failed' | 'left';

/** The nodes of one wave, by what has become of them; in the order of a bar. */
export interface WaveView {
  wave: number;
  own: number;
  parts: Record<Part, number>;
  state: string;
  /** Without nodes: no soak and no approval. */
  isSkipped?: true;
}

/** `stopped`: the rollout has ended, and a wave that was rolling has stopped. */
export function waveViews(waves: readonly WaveStatus[], { stopped }: { stopped: boolean }): WaveView[] {
  return waves.map(({ wave, assigned, updated, failed, state }, at) => {
    const own = ownNodes(waves, at);
    const trial = Math.max(0, assigned - updated - failed);
    const left = Math.max(0, own - updated - failed - trial);
    const isSkipped = isEmptyWave(waves, at) && (state === 'Pending' || state === 'Done');
    const shown = isSkipped ? 'skipped, no nodes' : waveState(state, failed, stopped);
    return { wave, own, parts: { updated, trial, failed, left }, state: shown, ...(isSkipped && { isSkipped }) };
  });
}

function waveState(state: WaveStatus['state'], failed: number, stopped: boolean): string {
  if (state === 'Done' && failed > 0) return 'done, with failures';
  return state === 'Rolling' && stopped ? 'stopped' : inWords(state);
}

/**
 * The nodes that a wave has changed, those with a problem first. `rows` in the order of their names. A claim of an earlier revision has
 * a wave too, so that the config decides.
 */
export function nodesOfWave(
  rows: readonly Row[],
  { name, revision, revisions }: Pick<SetDetails, 'name' | 'revision' | 'revisions'>,
  wave: number,
): Row[] {
  const [, config] = revisions.find((one) => one.revision === revision)?.source.split('/') ?? [];
  return rows
    .filter((row) => row.wave === wave && row.set === name && row.assigned === config && !row.taken)
    .sort((a, b) => stateOrder.indexOf(a.state) - stateOrder.indexOf(b.state));
}

/** `12 nodes an hour`; undefined while nothing is known. */
export function paceText(nodesPerMinute: number): string | undefined {
  if (!(nodesPerMinute > 0)) return undefined;
  const perMinute = Math.round(nodesPerMinute);
  const [count, unit] =
    perMinute >= 1 ? [perMinute, 'a minute'] : [Math.max(1, Math.round(nodesPerMinute * 60)), 'an hour'];
  return `${count} ${count === 1 ? 'node' : 'nodes'} ${unit}`;
}

interface VerbText {
  button: string;
  title(set: SetDetails): string;
  text(set: SetDetails): string;
  isDangerous?: true;
}

const nodesText = (count: number): string => `${count} ${count === 1 ? 'node' : 'nodes'}`;

export const approveTexts = {
  button: 'Approve',
  title: ({ name }: Pick<SetDetails, 'name'>, wave: number) => `Approve wave ${wave} of ${name}?`,
  text: ({ revision, summary }: Pick<SetDetails, 'revision' | 'summary'>, follows: string) =>
    `Revision ${revision}, ${summary}. ${follows}`,
};

export const verbTexts: Record<Exclude<SetVerb, 'approve'>, VerbText> = {
  pause: {
    button: 'Pause',
    title: ({ name }) => `Pause ${name}?`,
    text: () => 'No further node is changed. Trials under way end.',
  },
  resume: {
    button: 'Resume',
    title: ({ name }) => `Resume ${name}?`,
    text: ({ nodes }) =>
      `The rollout continues where it was, with ${nodesText(nodes.selected - nodes.excluded - nodes.updated)} left.`,
  },
  abort: {
    button: 'Abort',
    title: ({ name }) => `Abort the rollout of ${name}?`,
    text: ({ revision, summary }) =>
      `Revision ${revision}, ${summary}, is rejected: no further node is changed, and nodes keep what they have.`,
    isDangerous: true,
  },
  retry: {
    button: 'Retry',
    title: ({ name }) => `Roll ${name} out again?`,
    text: ({ revision, summary, nodes }) =>
      `Revision ${revision}, ${summary}, is rolled out again, also to the ${nodesText(nodes.failed)} on which it failed.`,
  },
  undo: {
    button: 'Undo',
    title: ({ name }) => `Undo the rollout of ${name}?`,
    text: ({ revision, summary, nodes }) =>
      `Revision ${revision}, ${summary}, is taken back from ${nodesText(nodes.updated + nodes.inTrial + nodes.pending + nodes.failed)}: they go back to what they had, within maxUnavailable.`,
    isDangerous: true,
  },
};

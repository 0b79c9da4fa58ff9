/** A set as the page shows it: its sign, its numbers, the parts of its waves, the texts of its buttons. Pure. */
import type { WaveStatus } from '../../../api/node-config-set.js';
import type { SetDetails, SetSummary, SetVerb } from '../../wire.js';
import type { RowState } from '../parts/signs.js';

/** The sign and colour of a node's state that means the same for a set. */
export function signOf({ assessment, reason, paused }: Pick<SetSummary, 'assessment' | 'reason' | 'paused'>): RowState {
  if (assessment === 'stopped') return 'rejected';
  if (assessment === 'complete') return 'active';
  const waits =
    paused || assessment === 'unseen' || /^(AwaitingApproval|BudgetSpent|WindowClosed|Paused)$/.test(reason);
  return waits ? 'waiting' : 'trial';
}

/** `awaiting approval` for AwaitingApproval. */
export const inWords = (reason: string): string => reason.replace(/(?!^)([A-Z])/g, ' $1').toLowerCase();

export const standingText = ({ assessment, reason }: Pick<SetSummary, 'assessment' | 'reason'>): string =>
  assessment === 'unseen' ? 'not seen by the controller yet' : inWords(reason);

/** Nodes that are excluded are not waited for. 100 only at the end: 999 of 1000 is not it. */
export function completion({ nodes }: Pick<SetSummary, 'nodes'>): { updated: number; total: number; percent: number } {
  const total = Math.max(0, nodes.selected - nodes.excluded);
  const updated = Math.min(nodes.updated, total);
  return { updated, total, percent: total === 0 ? 100 : Math.floor((100 * updated) / total) };
}

/** Where the revision failed and nobody can look any more: after a rollback a node is well, and only the revision names it. */
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
}

/** `stopped`: the rollout has ended, and a wave that was rolling has stopped. */
export function waveViews(waves: readonly WaveStatus[], { stopped }: { stopped: boolean }): WaveView[] {
  return waves.map(({ wave, nodes, assigned, updated, failed, state }, at) => {
    const own = Math.max(0, nodes - (waves[at - 1]?.nodes ?? 0));
    const trial = Math.max(0, assigned - updated - failed);
    const left = Math.max(0, own - updated - failed - trial);
    return { wave, own, parts: { updated, trial, failed, left }, state: waveState(state, failed, stopped) };
  });
}

function waveState(state: WaveStatus['state'], failed: number, stopped: boolean): string {
  if (state === 'Done' && failed > 0) return 'done, with failures';
  return state === 'Rolling' && stopped ? 'stopped' : inWords(state);
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
  /** The request keeps a reason. */
  asksWhy?: true;
}

const nodesText = (count: number): string => `${count} ${count === 1 ? 'node' : 'nodes'}`;

export const verbTexts: Record<SetVerb, VerbText> = {
  approve: {
    button: 'Approve',
    title: (set) => `Approve wave ${waitingWave(set)} of ${set.name}?`,
    text: (set) => `Revision ${set.revision}, ${set.summary}, continues with the next wave: ${nextWaveText(set)}.`,
  },
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
    asksWhy: true,
  },
  retry: {
    button: 'Retry',
    title: ({ name }) => `Roll ${name} out again?`,
    text: ({ revision, summary, nodes }) =>
      `Revision ${revision}, ${summary}, is rolled out again, also to the ${nodesText(nodes.failed)} on which it failed.`,
    asksWhy: true,
  },
  undo: {
    button: 'Undo',
    title: ({ name }) => `Undo the rollout of ${name}?`,
    text: ({ revision, summary, nodes }) =>
      `Revision ${revision}, ${summary}, is taken back from ${nodesText(nodes.updated + nodes.inTrial + nodes.pending + nodes.failed)}: they go back to what they had, within maxUnavailable.`,
    isDangerous: true,
    asksWhy: true,
  },
};

/** The wave that waits for an approval; the present one where none does. */
export const waitingWave = ({ waves, status }: Pick<SetDetails, 'waves' | 'status'>): number =>
  waves.find(({ state }) => state === 'AwaitingApproval')?.wave ?? status.wave ?? 1;

function nextWaveText(set: SetDetails): string {
  const next = waveViews(set.waves, { stopped: false }).find(({ wave }) => wave === waitingWave(set) + 1);
  return next === undefined ? 'all nodes that are left' : nodesText(next.parts.left);
}

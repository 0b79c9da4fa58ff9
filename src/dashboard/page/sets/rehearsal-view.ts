/** Computes the areas of a rehearsal's chart: how many nodes were updated, in trial and failed at each moment. Pure. */
import { shortDuration } from '../../../go/short-duration.js';

export interface RehearsalSample {
  seconds: number;
  updated: number;
  inTrial: number;
  pending: number;
  failed: number;
}

/** Output of `relet rollout rehearse -o json`, as far as the page shows it. */
export interface RehearsalResult {
  outcome: 'complete' | 'stopped' | 'unfinished';
  /** CamelCase, as in the conditions of the set. */
  reason?: string;
  message?: string;
  durationSeconds: number;
  nodes: { selected: number; updated: number; failed: number; returned: number };
  budgets: Partial<Record<'unavailable' | 'inTrial' | 'failed', { most: number; allowed: number }>>;
  failed: { name: string; reason?: string; message?: string }[];
  rejections: { nodes: string[]; kubeletVersion: string; reason: string; message: string }[];
  /** Facts of the real cluster that the rehearsal had to assume. */
  assumptions: string[];
  timeline: RehearsalSample[];
  events: { seconds: number; kind: string; text: string }[];
}

/** A line of progress: JSON of the command, or what it wrote for people. */
export function progressText(line: string): string {
  try {
    const { seconds, wave, updated, selected, failed, waiting } = JSON.parse(line) as Record<string, unknown>;
    if (typeof seconds !== 'number') return line;
    const counts = `${updated} of ${selected} nodes updated${failed ? `, ${failed} failed` : ''}`;
    return `After ${shortDuration(seconds * 1000)}: wave ${wave}, ${counts}${waiting ? `; waits for: ${waiting}` : ''}`;
  } catch {
    return line;
  }
}

/** A text of JSON lines that arrives in pieces: the complete lines, and the rest that is kept for the next piece. */
export function splitLines(text: string): { lines: string[]; rest: string } {
  const lines = text.split('\n');
  const rest = lines.pop()!;
  return { lines: lines.filter((line) => line.trim() !== ''), rest };
}

export const layers = ['updated', 'trial', 'failed'] as const;
export type Layer = (typeof layers)[number];

/** SVG paths in a box of `width` by `height`, from the bottom: updated, in trial on top of it, failed on top of both. */
export function areas(samples: readonly RehearsalSample[], width: number, height: number): Record<Layer, string> {
  const endSeconds = Math.max(1, samples.at(-1)?.seconds ?? 1);
  const stacks = samples.map(({ seconds, updated, inTrial, pending, failed }) => ({
    x: (seconds / endSeconds) * width,
    levels: [0, updated, updated + inTrial + pending, updated + inTrial + pending + failed],
  }));
  const most = Math.max(1, ...stacks.map(({ levels }) => levels[3]!));
  const y = (count: number) => height - (count / most) * height;
  const path = (level: number) => {
    const top = stacks.flatMap(({ x, levels }, at) => {
      const point = `${round(x)} ${round(y(levels[level + 1]!))}`;
      // A count stays what it is until it changes: steps, not slopes.
      return at === 0 ? [point] : [`${round(x)} ${round(y(stacks[at - 1]!.levels[level + 1]!))}`, point];
    });
    const bottom = [...stacks].reverse().flatMap(({ x, levels }, at, all) => {
      const point = `${round(x)} ${round(y(levels[level]!))}`;
      const earlier = all[at + 1];
      return earlier === undefined ? [point] : [point, `${round(x)} ${round(y(earlier.levels[level]!))}`];
    });
    return stacks.length === 0 ? '' : `M${[...top, ...bottom].join('L')}Z`;
  };
  return { updated: path(0), trial: path(1), failed: path(2) };
}

const round = (value: number): number => Math.round(value * 10) / 10;

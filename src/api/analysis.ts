/** Formatting of a set's analyses that all programs share: outcomes, values with their units, counts. Pure. */
import { rfc3339 } from '../clock.js';
import type { AnalyzedGroup, NodeConfigSetStatus, WaveAnalysis } from './node-config-set.js';
import { isSignalName, type Signal, signals } from './signals.js';

/** Analyses of the update revision, newest first. Without those of a revision that was rejected while it was observed: no outcome. */
export function analysesOf({ analyses = [], updateRevision, rejectedRevision }: NodeConfigSetStatus): WaveAnalysis[] {
  const isOver = updateRevision === rejectedRevision;
  return analyses.filter(({ revision, state }) => revision === updateRevision && !(isOver && state === 'Observing'));
}

/** The newest that has something to show. */
export function newestAnalysis(status: NodeConfigSetStatus): WaveAnalysis | undefined {
  const all = analysesOf(status);
  return all.find(({ outcome }) => outcome !== 'NoControls') ?? all[0];
}

export const outcomeWords = { Worse: 'worse', NotWorse: 'not worse', CannotTell: 'cannot tell' } as const;

/** `1.9 s → 3.1 s, 4 of 5 worse`. */
export const groupText = (name: string, { nodes, worse, before, after }: AnalyzedGroup): string =>
  nodes === 0 ? 'no values' : `${valueText(name, before)} → ${valueText(name, after)}, ${worse} of ${nodes} worse`;

export function valueText(name: string, value: number): string {
  const unit: Signal['unit'] | 'value' = isSignalName(name) ? signals[name].unit : 'value';
  const short = (number: number) => String(Number(number.toPrecision(number >= 100 ? 3 : 2)));
  switch (unit) {
    case 'seconds':
      return value < 1 ? `${short(value * 1000)} ms` : `${short(value)} s`;
    case 'share':
      return `${short(value * 100)} %`;
    case 'bytes':
      return `${short(value / 2 ** 20)} MiB`;
    case 'cores':
      return `${short(value)} cores`;
    default:
      return short(value);
  }
}

/** For the sentence in which the rollout waits. */
export function observingText(wave: number, record: WaveAnalysis | undefined): string {
  const { canaries = [], controls = [], after } = record ?? {};
  if (after === undefined) return `wave ${wave} waits for its canaries, to compare them with controls`;
  const cohort = `${countText(canaries.length, 'canary', 'canaries')} of wave ${wave} ${canaries.length === 1 ? 'is' : 'are'} compared with ${countText(controls.length, 'control', 'controls')}`;
  return `${cohort} until ${rfc3339(Date.parse(after[1]))}`;
}

export const countText = (count: number, one: string, more: string): string => `${count} ${count === 1 ? one : more}`;

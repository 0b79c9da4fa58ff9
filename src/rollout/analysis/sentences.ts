/** Results of analyses as sentences, for status, events, commands and pages, without p-values. Pure. */
import { countText, valueText } from '../../api/analysis.js';
import type { AnalyzedSignal, WaveAnalysis } from '../../api/node-config-set.js';
import { isSignalName, signals } from '../../api/signals.js';
import { list } from '../sentences.js';

/** `worse: 4 of 5 canaries start pods slower than before (+62 %, median 1.9 s → 3.1 s); 1 of 45 controls does`. */
export function outcomeText({
  outcome,
  signals: all = [],
  leftOut = [],
  canaries = [],
  controls = [],
}: WaveAnalysis): string {
  const ofOutcome = (wanted: AnalyzedSignal['outcome']) => all.filter((one) => one.outcome === wanted);
  const names = list(leftOut.map(({ name, reason }) => `${name} (${reason})`));
  const without = leftOut.length === 0 ? '' : `. Without ${names}`;
  switch (outcome) {
    case 'Worse':
      return `worse: ${ofOutcome('Worse').map(signalSentence).join('. ')}${without}`;
    case 'CannotTell':
      return `cannot tell: ${countText(canaries.length, 'canary', 'canaries')} and ${countText(controls.length, 'control', 'controls')} are too few, or did not answer, for ${list(
        ofOutcome('CannotTell').map(({ name }) => name),
        8,
      )}${without}`;
    default: {
      const missed = ofOutcome('CannotTell').map(({ name }) => name);
      const rest = missed.length === 0 ? '' : `; cannot tell for ${list(missed, 8)}`;
      return `not worse: ${list(
        ofOutcome('NotWorse').map(({ name }) => name),
        8,
      )}${rest}${without}`;
    }
  }
}

function signalSentence(signal: AnalyzedSignal): string {
  const { name, kind, canaries, controls, effect } = signal;
  const worse = isSignalName(name) ? signals[name].worse : `have more ${name} than before`;
  const change = `${valueText(name, canaries.before)} → ${valueText(name, canaries.after)}`;
  const size = kind === 'level' ? `+${Math.round(effect * 100)} %, median ${change}` : `${change} workloads`;
  const [one, others] = controls.worse === 1 ? ['1', 'does'] : [controls.worse === 0 ? 'none' : controls.worse, 'do'];
  return `${canaries.worse} of ${canaries.nodes} canaries ${worse} (${size}); ${one} of ${controls.nodes} controls ${others}`;
}

export const worseText = (set: string, { wave, message = '' }: WaveAnalysis): string =>
  `wave ${wave} is ${message}. Correct the config in the spec, or 'relet rollout retry|undo|abort ${set}'`;

export const askText = (set: string, { wave, message = '' }: WaveAnalysis): string =>
  `wave ${wave}: ${message}; 'relet rollout approve ${set}' continues`;

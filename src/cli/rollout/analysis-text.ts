/** Analyses of a set as text: one line per signal, canaries beside controls, before and after. Pure. */

import { groupText, newestAnalysis, observingText, outcomeWords } from '../../api/analysis.js';
import type { AnalyzedSignal, NodeConfigSetStatus, WaveAnalysis } from '../../api/node-config-set.js';
import { type PowerReport, powerTexts, spreadText } from '../../rollout/analysis/power.js';
import { oneLine } from '../../visible-text.js';
import { nodesText, type TextRoom } from '../terminal/facts.js';
import { type Column, tableLines } from '../terminal/output.js';
import { wrapWords } from '../terminal/terminal.js';

/** The newest of the revision that is rolled out; empty without one. */
export function newestAnalysisText(status: NodeConfigSetStatus, room: TextRoom): string {
  const newest = newestAnalysis(status);
  return newest === undefined ? '' : analysisText(newest, room);
}

export function analysisText(analysis: WaveAnalysis, room: TextRoom): string {
  const { wave, revision, state, outcome, message = '', signals = [], leftOut = [] } = analysis;
  const text = state === 'Observing' ? observingText(wave, analysis) : oneLine(message);
  const heading = wrapWords(`Analysis of wave ${wave} of revision ${revision}: ${text}`, room);
  const columns: Column<AnalyzedSignal>[] = [
    { title: 'SIGNAL', cell: ({ name }) => name },
    {
      title: 'RESULT',
      cell: (one) => outcomeWords[one.outcome],
      paint: (text) => (text === outcomeWords.Worse ? room.paint.red(text) : text),
    },
    { title: 'CANARIES', cell: ({ name, canaries }) => groupText(name, canaries) },
    { title: 'CONTROLS', cell: ({ name, controls }) => groupText(name, controls) },
  ];
  const errors = signals.flatMap(({ name, error }) =>
    error === undefined ? [] : [wrapWords(oneLine(`${name}: ${error}`), room)],
  );
  return [
    outcome === 'Worse' ? room.paint.red(heading) : heading,
    ...(signals.length > 0 ? tableLines(columns, signals, room.width) : []),
    ...errors,
    ...(leftOut.length > 0 ? [nodesText('Not compared', leftOut, leftOut.length, room)] : []),
  ].join('\n');
}

/** The effect that the waves could notice; empty where nothing is compared. */
export function powerText(power: PowerReport | undefined, room: TextRoom): string {
  if (power === undefined) return '';
  const lines = powerTexts(power).map((text) => wrapWords(text, room, '    ').replace(/^ {4}/, '  - '));
  const title = wrapWords(`What the analysis can notice (${spreadText(power)}):`, room);
  return [room.paint.bold(title), ...lines].join('\n');
}

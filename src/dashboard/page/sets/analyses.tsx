/** The analysis of a wave: a sentence, and each signal before and after, for canaries and controls, as a drawing and as text. */
import { analysesOf, groupText, newestAnalysis, outcomeWords } from '../../../api/analysis.js';
import type { AnalyzedSignal } from '../../../api/node-config-set.js';
import type { SetDetails } from '../../wire.js';
import { Section } from '../parts/panels.js';
import type { RowState } from '../parts/signs.js';
import { StateSign } from '../parts/state-badge.js';
import { analysisSentence, inOrder, type PlotGroup, plotGroups, plotOf, plotSize } from './analysis-view.js';

export function Analyses({ set: { status } }: { set: SetDetails }) {
  const newest = newestAnalysis(status);
  if (newest === undefined) return null;
  const earlier = analysesOf(status).filter((one) => one !== newest && one.message);
  return (
    <Section title="Analysis">
      <p>{analysisSentence(newest)}</p>
      {newest.signals && (
        <ul class="plots">
          {inOrder(newest.signals).map((signal) => (
            <li key={signal.name}>
              <SignalPlot signal={signal} />
            </li>
          ))}
        </ul>
      )}
      {earlier.map((one) => (
        <p key={`${one.attempt} ${one.wave}`} class="muted">
          {analysisSentence(one)}
        </p>
      ))}
    </Section>
  );
}

/** Before an approval: how the waves so far have done. */
export function AnalysisSoFar({ set: { status } }: { set: SetDetails }) {
  const newest = newestAnalysis(status);
  return newest === undefined ? null : (
    <p>
      <strong>Analysis:</strong> {analysisSentence(newest)}
    </p>
  );
}

const signs: Record<AnalyzedSignal['outcome'], RowState> = {
  Worse: 'rejected',
  NotWorse: 'active',
  CannotTell: 'waiting',
};

const groups = Object.keys(plotGroups) as PlotGroup[];

/** The words below the picture have all that it shows. */
function SignalPlot({ signal }: { signal: AnalyzedSignal }) {
  const { name, outcome, error } = signal;
  const plot = plotOf(signal);
  const { width, height, bottom } = plotSize;
  return (
    <figure class="plot">
      <figcaption>
        <StateSign state={signs[outcome]} /> <strong>{name}</strong> {outcomeWords[outcome]}
      </figcaption>
      {plot && (
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          {plot.ticks.map(({ y, text }) => (
            <text key={text} x={width / 2} y={y + 4} text-anchor="middle">
              {text}
            </text>
          ))}
          {groups.map((group) => {
            const [from, to] = plotGroups[group];
            const median = plot.medians[group];
            return (
              <g key={group} class={group}>
                {plot.lines[group].map((line, at) => (
                  <path key={at} d={`M${from} ${line.from}L${to} ${line.to}`} />
                ))}
                {median && <path class="median" d={`M${from} ${median.from}L${to} ${median.to}`} />}
                <text x={from} y={bottom + 20} text-anchor="start">
                  before
                </text>
                <text x={to} y={bottom + 20} text-anchor="end">
                  after
                </text>
                <text x={(from + to) / 2} y={bottom + 36} text-anchor="middle">
                  {group}
                </text>
              </g>
            );
          })}
        </svg>
      )}
      <dl>
        {groups.map((group) => (
          <div key={group}>
            <dt>{group}</dt>
            <dd>{groupText(name, signal[group])}</dd>
          </div>
        ))}
      </dl>
      {error && <p class="problem">{error}</p>}
    </figure>
  );
}

/** The bar chart of changes over time, drawn with uPlot: nodes that changed, and in front of them those that failed. Loaded on demand. */
import uPlot from 'uplot';
import type { Buckets } from './change-buckets.js';

/** Hours and minutes; over more than two days, the date. */
function timeText(times: number[]): (second: number) => string {
  const isLong = times.at(-1)! - times[0]! > 2 * 86_400;
  const format = new Intl.DateTimeFormat(
    'en-GB',
    isLong ? { day: 'numeric', month: 'short' } : { hour: '2-digit', minute: '2-digit' },
  );
  return (second) => format.format(second * 1000);
}

export function drawBars(box: HTMLElement, { times, changed, failed }: Buckets): uPlot {
  const style = getComputedStyle(box);
  const colour = (token: string) => style.getPropertyValue(token);
  const axis = { stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } };
  const font = `12px ${style.fontFamily}`;
  const bars = uPlot.paths.bars!({ size: [0.8, 24] });
  const series = (label: string, token: string) => ({
    label,
    paths: bars,
    fill: colour(token),
    points: { show: false },
  });
  return new uPlot(
    {
      width: Math.floor(box.clientWidth),
      height: box.clientHeight,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high)] } },
      axes: [
        { ...axis, font, size: 28, values: (_plot, seconds) => seconds.map(timeText(times)) },
        { ...axis, font, size: 48, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] },
      ],
      series: [{}, series('changed', '--line-strong'), series('failed', '--state-rolled-back')],
    },
    [times, changed, failed],
    box,
  );
}

/**
 * Renders a rehearsal as one HTML page: nodes over time, budgets, waves, events. The page is self-contained and runs no script; its
 * content security policy forbids loading anything. Pure.
 */
import type { Rehearsal } from '../../rehearsal/report.js';
import { html, htmlPage, section, htmlTable as table } from '../terminal/page.js';
import {
  becauseText,
  budgetsText,
  drainsText,
  faultsText,
  lasting,
  resultText,
  stamp,
  subjectText,
  thenText,
} from './rehearsal-text.js';

/** In drawing order, which is also the order of the legend. */
const layers = [
  { key: 'updated', title: 'updated' },
  { key: 'inTrial', title: 'in trial' },
  { key: 'failed', title: 'failed' },
] as const;

const style = `
:root { --updated: var(--good); --inTrial: var(--maybe); --failed: var(--bad); --unavailable: #8250df; --limit: var(--dim); }
@media (prefers-color-scheme: dark) { :root { --unavailable: #a371f7; } }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font: 11px system-ui, sans-serif; }
.axis { stroke: var(--rule); } .limit { stroke: var(--limit); stroke-dasharray: 4 3; fill: none; } .line { fill: none; stroke-width: 1.5; }
.updated { fill: var(--updated); } .inTrial { fill: var(--inTrial); } .failed { fill: var(--failed); }
.line.unavailable { stroke: var(--unavailable); } .line.inTrial { stroke: var(--inTrial); fill: none; }
.mark { stroke: var(--limit); opacity: .6; }
.complete { color: var(--updated); } .stopped { color: var(--failed); } .unfinished { color: var(--inTrial); }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; } .key.unavailable { background: var(--unavailable); }
.key.updated { background: var(--updated); } .key.inTrial { background: var(--inTrial); } .key.failed { background: var(--failed); }
`;

export function rehearsalPage(rehearsal: Rehearsal): string {
  const { set, outcome } = rehearsal;
  const facts: [string, string | undefined][] = [
    ['Rehearsal', subjectText(rehearsal)],
    ['Because', becauseText(rehearsal)],
    ['Then', thenText(rehearsal)],
    ['At most', budgetsText(rehearsal)],
    ['Drains', drainsText(rehearsal)],
    ['Injected', faultsText(rehearsal)],
    ['Assumed', rehearsal.assumptions.join('; ') || undefined],
  ];
  const known = facts.flatMap(([title, text]) => (text === undefined ? [] : [[title, text]]));
  const body = [
    `<h1>${html(set)}: <span class="${outcome}">${html(resultText(rehearsal))}</span></h1>`,
    table([], known).replace('<table>', '<table class="facts">'),
    section('Nodes over time', nodesChart(rehearsal)),
    section('Budgets', budgetsChart(rehearsal)),
    section('Waves', wavesTable(rehearsal)),
    section(
      'Nodes that would reject it',
      table(
        ['nodes', 'kubelet', 'reason', 'message'],
        rehearsal.rejections.map(({ nodes, kubeletVersion, reason, message }) => [
          `${nodes.length}: ${nodes.slice(0, 10).join(', ')}${nodes.length > 10 ? ' …' : ''}`,
          kubeletVersion,
          reason,
          message,
        ]),
      ),
    ),
    section('What happened', eventsTable(rehearsal)),
    section(
      'Not changed for now',
      table(
        ['node', 'reason', 'message'],
        rehearsal.excluded.map(({ name, reason, message = '' }) => [name, reason, message]),
      ),
    ),
  ];
  return htmlPage({ title: `Rehearsal of ${set}`, style, body });
}

const wavesTable = ({ waves }: Rehearsal): string =>
  table(
    ['wave', 'nodes', 'starts', 'ends', 'updated', 'failed'],
    waves.map(({ wave, nodes, startSeconds, endSeconds, updated, failed }) => [
      String(wave),
      String(nodes),
      startSeconds === undefined ? '' : stamp(startSeconds),
      endSeconds === undefined ? '' : stamp(endSeconds),
      String(updated),
      String(failed),
    ]),
  );

const mostEvents = 500;

function eventsTable({ events }: Rehearsal): string {
  const left = events.length - mostEvents;
  const rows = events.slice(0, mostEvents).map(({ seconds, text }) => [stamp(seconds), text]);
  return table(['after', ''], left > 0 ? [...rows, ['', `and ${left} more`]] : rows);
}

const size = { width: 900, height: 220, left: 40, bottom: 20, top: 14 };

interface Scale {
  x(seconds: number): string;
  y(count: number): string;
}

/** Steps of a time axis, of which at most eight fit. */
const steps = [60, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400, 604_800];

function frame(lastSeconds: number, most: number, draw: (scale: Scale) => string): string {
  const [wide, high] = [size.width - size.left - 10, size.height - size.bottom - size.top];
  const span = Math.max(1, lastSeconds);
  const scale: Scale = {
    x: (seconds) => (size.left + (wide * Math.min(seconds, span)) / span).toFixed(1),
    y: (count) => (size.top + high * (1 - Math.min(1, count / Math.max(1, most)))).toFixed(1),
  };
  const step = steps.find((one) => span / one <= 8) ?? steps.at(-1)!;
  const times = Array.from({ length: Math.floor(span / step) + 1 }, (_, index) => index * step);
  const axis = times
    .map((at) => `<text x="${scale.x(at)}" y="${size.height - 4}">${at === 0 ? '0' : lasting(at)}</text>`)
    .join('');
  const floor = `<line class="axis" x1="${size.left}" x2="${size.width - 10}" y1="${scale.y(0)}" y2="${scale.y(0)}"/>`;
  const top = `<text x="0" y="${Number(scale.y(most)) + 4}">${most}</text><text x="0" y="${scale.y(0)}">0</text>`;
  return `<svg viewBox="0 0 ${size.width} ${size.height}" role="img">${draw(scale)}${floor}${axis}${top}</svg>`;
}

const endOf = ({ timeline, quietSeconds }: Rehearsal): number => Math.max(quietSeconds, timeline.at(-1)?.seconds ?? 0);

/** Counts hold until the next sample. */
function stepPath(
  points: readonly (readonly [seconds: number, count: number])[],
  lastSeconds: number,
  { x, y }: Scale,
): string {
  const corners = points.flatMap(([seconds, count], at) => [
    `${x(seconds)},${y(count)}`,
    `${x(points[at + 1]?.[0] ?? lastSeconds)},${y(count)}`,
  ]);
  return corners.join(' ');
}

function nodesChart(rehearsal: Rehearsal): string {
  const { timeline, nodes, waves, story } = rehearsal;
  if (story.length === 0) return '';
  const last = endOf(rehearsal);
  const svg = frame(last, nodes.selected, (scale) => {
    const areas = layers.map(({ key }, at) => {
      const under = layers.slice(0, at + 1);
      const points = timeline.map(
        (one) => [one.seconds, under.reduce((sum, layer) => sum + one[layer.key], 0)] as const,
      );
      const [x0, floor] = [scale.x(timeline[0]?.seconds ?? 0), scale.y(0)];
      return `<polygon class="${key}" points="${x0},${floor} ${stepPath(points, last, scale)} ${scale.x(last)},${floor}"/>`;
    });
    const marks = waves.flatMap(({ wave, startSeconds }) => {
      if (startSeconds === undefined) return [];
      const x = scale.x(startSeconds);
      return `<line class="mark" x1="${x}" x2="${x}" y1="${size.top}" y2="${scale.y(0)}"/><text x="${x}" y="10">wave ${wave}</text>`;
    });
    // The highest first, so that none covers another.
    return [...areas.reverse(), ...marks].join('');
  });
  return `<p>${layers.map(({ key, title }) => `<span class="key ${key}"></span>${title}`).join('')}</p>${svg}`;
}

function budgetsChart(rehearsal: Rehearsal): string {
  const { timeline, budgets, story } = rehearsal;
  if (story.length === 0) return '';
  const last = endOf(rehearsal);
  const { unavailable, inTrial } = budgets;
  const most = Math.max(unavailable.most, unavailable.allowed, inTrial.most, inTrial.allowed);
  const svg = frame(last, most, (scale) => {
    const limit = (allowed: number, title: string) =>
      `<line class="limit" x1="${size.left}" x2="${size.width - 10}" y1="${scale.y(allowed)}" y2="${scale.y(allowed)}"/><text x="${size.left + 4}" y="${Number(scale.y(allowed)) - 3}">${title} ${allowed}</text>`;
    const line = (key: 'unavailable' | 'inTrial') =>
      `<polyline class="line ${key}" points="${stepPath(
        timeline.map((one) => [one.seconds, one[key]] as const),
        last,
        scale,
      )}"/>`;
    return [
      limit(unavailable.allowed, 'maxUnavailable'),
      limit(inTrial.allowed, 'maxInTrial'),
      line('inTrial'),
      line('unavailable'),
    ].join('');
  });
  return `<p><span class="key unavailable"></span>unavailable<span class="key inTrial"></span>in trial</p>${svg}`;
}

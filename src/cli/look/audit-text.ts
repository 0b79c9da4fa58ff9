/** An audit for people: a table for a terminal, and a page of HTML. Pure. */
import { type AuditReport, auditSummary, type Finding, fixText, isOpen, resultText } from '../../audit/audit.js';
import { counted, groupBy } from '../../fleet/inventory.js';
import { tableLines } from '../terminal/output.js';
import { type Cell, html, htmlPage, htmlTable, section } from '../terminal/page.js';
import { type Terminal, wrap } from '../terminal/terminal.js';
import { unreadLines } from './inventory-text.js';

export function auditText(report: AuditReport, { columns, width, paint }: Terminal): string {
  const shown = report.findings.filter(({ result }) => result === 'fail' || result === 'cannot-tell');
  const table = tableLines<Finding>(
    [
      { title: 'RESULT', cell: resultText, paint: (text) => (text === 'high' ? paint.red(text) : text) },
      { title: 'ID', cell: ({ ids }) => ids.join(' '), gives: 'end' },
      { title: 'FOUND', cell: ({ found }) => found, gives: 'end' },
      { title: 'FROM', cell: ({ origin }) => origin, gives: 'end' },
      { title: 'NODES', cell: ({ nodes }) => String(nodes.length) },
      { title: 'POOL', cell: ({ pool }) => pool, gives: 'end', optional: true },
    ],
    shown,
    width,
  );
  return [
    wrap(auditSummary(report), columns),
    ...unreadLines(report, columns),
    ...report.expiredWaivers.map(({ check, until, reason }) =>
      wrap(`The waiver of ${check} expired on ${until}: ${reason}`, columns),
    ),
    ...(shown.length > 0 ? ['', ...table] : []),
    ...(shown.some(isOpen)
      ? ['', wrap("'relet audit -o html' explains each; 'relet audit --remediate' writes sets that fix them.", columns)]
      : []),
  ].join('\n');
}

type Tone = Exclude<Cell, string>['tone'];
const tones: Record<string, Tone> = { high: 'bad', medium: 'maybe', low: 'low', pass: 'good' };
const toneOf = (finding: Finding): Tone => tones[resultText(finding)] ?? 'dim';

const style = `
body { max-width: 76rem; } h1 { margin-bottom: 0; }
.counts { display: flex; flex-wrap: wrap; gap: .75rem; } .counts div { border: 1px solid var(--rule); border-radius: 6px;
  padding: .5rem 1rem; min-width: 6rem; } .counts b { display: block; font-size: 1.6rem; line-height: 1.2; }
article { border: 1px solid var(--rule); border-left: 4px solid currentColor; border-radius: 6px; padding: .6rem 1rem;
  margin: .75rem 0; } article > * { color: var(--ink); } article p { margin: .25rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; } h3 .dim { font-weight: 400; } article table { width: auto; }
article tr:last-child td { border-bottom: 0; } article td { padding-right: 2rem; }`;

const originText = ({ found, origin }: Finding) => `${found} (${origin})`;
const namesText = ({ nodes }: Finding) =>
  `${counted(nodes.length, 'node')}: ${nodes.slice(0, 5).join(', ')}${nodes.length > 5 ? ' …' : ''}`;

/** One check, and where it fails: a check is explained once, not once a pool. */
function failing(findings: Finding[]): string {
  const [first] = findings as [Finding];
  const tone = toneOf(first);
  const rows = findings.map((one): Cell[] => [{ text: originText(one), tone: toneOf(one) }, namesText(one), one.pool]);
  return `<article class="${tone}"><h3><span class="${tone}">${html(resultText(first))}</span> ${html(first.title)}
<span class="dim">${html(first.ids.join(' · '))}</span></h3>
${[first.why, ...new Set(findings.map(fixText))].map((text) => (text === '' ? '' : `<p>${html(text)}</p>`)).join('\n')}
${htmlTable([], rows)}</article>`;
}

/** How many checks, by the worst that is known of each: one that passes on some nodes alone is not among those that pass. */
function countsBar({ findings }: AuditReport): string {
  const order = ['bad', 'maybe', 'low', 'dim', 'good'] as const;
  const worst = [
    ...groupBy(
      findings.filter(({ result }) => result !== 'not-applicable'),
      ({ check }) => check,
    ).values(),
  ].map((all) => order.find((tone) => all.some((one) => toneOf(one) === tone)));
  const names = { bad: 'high', maybe: 'medium', low: 'low', dim: 'waived or not known', good: 'pass' };
  return `<div class="counts">${order
    .map((tone) => `<div><b class="${tone}">${worst.filter((one) => one === tone).length}</b>${names[tone]}</div>`)
    .join('')}</div>`;
}

export function auditPage(report: AuditReport): string {
  const by = (...results: Finding['result'][]) => report.findings.filter(({ result }) => results.includes(result));
  const row = (finding: Finding): Cell[] => [
    { text: resultText(finding), tone: toneOf(finding) },
    finding.ids.join(' '),
    finding.title,
    originText(finding),
    `${namesText(finding)} (${finding.pool})`,
  ];
  const fails = [...groupBy(by('fail'), (one) => `${one.check} ${resultText(one)}`).values()];
  const titles = ['result', 'id', 'check', 'found', 'nodes'];
  return htmlPage({
    title: 'Kubelet configuration audit',
    style,
    body: [
      '<h1>Kubelet configuration audit</h1>',
      `<p>${html(auditSummary(report))}</p>`,
      countsBar(report),
      section(
        'Nodes that could not be read',
        htmlTable(
          ['node', 'reason'],
          report.unread.map(({ name, reason }) => [name, { text: reason, tone: 'maybe' }]),
        ),
      ),
      section(
        'Waivers that have expired',
        htmlTable(
          ['check', 'until', 'reason'],
          report.expiredWaivers.map(({ check, until, reason }) => [check, until, reason]),
        ),
      ),
      section('Failing checks', fails.map(failing).join('\n')),
      section('Not known', htmlTable(titles, by('cannot-tell').map(row))),
      section('Passing', htmlTable(titles, by('pass', 'not-applicable').map(row))),
    ],
  });
}

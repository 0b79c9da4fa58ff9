/** Output formats of an upgrade check: text for people, JSON for programs, annotations for GitHub. */
import { watchSentence } from '../../config/catalogue.js';
import type { UpgradeFinding, UpgradeResult } from '../../config/upgrade-check.js';
import { oneLine } from '../../visible-text.js';
import { someOf } from '../doctor/diagnosis.js';
import { hanging, type Terminal, wrap } from '../terminal/terminal.js';
import { annotation, counts, findingBlock, placeOf, titleOf } from './finding-output.js';

/** The result for one document, or for nodes with the same one. */
export interface UpgradeReport extends UpgradeResult {
  /** The file, or the config that the nodes are assigned. */
  file: string;
  /** For an overlay in a file: the local files that it was merged into. */
  local?: string[];
  nodes?: string[];
  /** For nodes: their kubelets are at `to` or later, and nothing was compared. */
  upgraded?: true;
  /** For nodes: their flags are not known, and were not checked. */
  withoutFlags?: true;
  /** Why the nodes could not be checked. */
  unknown?: string;
}

const version = (minor: number): string => `1.${minor}`;

export function asJson(reports: readonly UpgradeReport[]): string {
  const all = reports.map(({ file, from, to, startup, findings, ...rest }) => ({
    ...rest,
    file,
    from: version(from),
    to: version(to),
    ...(isCompared(rest) && { startup }),
    findings: findings.map(({ severity, source, change, since, until, path, message, remedy, ...place }) => ({
      severity,
      source,
      change,
      since: version(since),
      ...(until !== undefined && { until: version(until) }),
      path,
      ...place,
      message,
      ...(remedy !== undefined && { remedy }),
    })),
  }));
  return JSON.stringify(all, null, 2);
}

const isCompared = ({ unknown, upgraded }: Pick<UpgradeReport, 'unknown' | 'upgraded'>): boolean =>
  unknown === undefined && upgraded !== true;

/** Each finding once, with every place that has it, errors first; then a line for each document. */
export function asText(reports: readonly UpgradeReport[], terminal: Terminal): string {
  const blocks = findingsIn(reports).map(({ finding, when, places: [first, ...others], nodes }) => {
    const where = nodes.length > 0 ? `on ${someOf(nodes)}` : `also in ${someOf(others)}`;
    const isSaid = nodes.length > 0 ? reports.length === 1 : others.length === 0;
    const block = findingBlock(first!, finding, terminal, { when });
    return isSaid ? block : `${block}\n${wrap(oneLine(where), terminal.columns, '    ')}`;
  });
  return [
    ...blocks,
    ...reports.flatMap((report) => [hanging(summary(report, terminal), terminal), ...watchText(report, terminal)]),
  ].join('\n');
}

interface FoundFinding {
  finding: UpgradeFinding;
  when: string;
  places: string[];
  /** None of files. */
  nodes: string[];
}

const severities: readonly UpgradeFinding['severity'][] = ['error', 'warning', 'note'];

function findingsIn(reports: readonly UpgradeReport[]): FoundFinding[] {
  const all = new Map<string, FoundFinding>();
  for (const report of reports)
    for (const finding of report.findings) {
      const { severity, path, message, remedy } = finding;
      const when = whenText(finding, report);
      const key = JSON.stringify([severity, path, message, remedy, when]);
      const { places, nodes } = all.get(key) ?? { places: [], nodes: [] };
      const place = finding.flag ?? placeOf(report.file, finding);
      const unique = [...new Set([...places, place])];
      all.set(key, { finding, when, places: unique, nodes: [...nodes, ...(report.nodes ?? [])] });
    }
  const rank = ({ finding: { severity } }: FoundFinding) => severities.indexOf(severity);
  return [...all.values()].sort((a, b) => rank(a) - rank(b));
}

function whenText({ change, since, until, severity }: UpgradeFinding, { from }: UpgradeReport): string {
  if (until !== undefined) return `, until ${version(until)}`;
  if (change === 'deprecated') return '';
  if (severity === 'error' && since === from) return `, in ${version(from)} too`;
  return `, from ${version(since)} on`;
}

function summary(report: UpgradeReport, { paint }: Terminal): string {
  const { from, to, startup, findings, unknown } = report;
  const name = oneLine(nameOf(report));
  if (unknown !== undefined) return paint.yellow(`${name}: not checked: ${unknown}`);
  if (report.upgraded) return paint.green(`${name}: kubelet ${version(from)} already, nothing to upgrade`);
  const all = counts(findings, severities).join(', ');
  const flags = report.withoutFlags ? '; flags of the kubelet are not known' : '';
  const head = `${name}, kubelet ${version(from)} to ${version(to)}:`;
  const tail = `${all === '' ? '' : ` (${all})`}${flags}`;
  if (startup === 'fails') return paint.red(`${head} would not start with it${tail}`);
  const isSame = findings.every(({ severity }) => severity === 'note');
  return isSame
    ? paint.green(`${head} means the same${tail}`)
    : paint.yellow(`${head} starts with it, and some of it changes${tail}`);
}

/** Signals that show harm by what changes; a kubelet that does not start changes nothing. */
function watchText({ startup, findings }: UpgradeReport, { columns }: Terminal): string[] {
  if (startup === 'fails') return [];
  const changed = findings.filter(({ severity, change }) => severity === 'warning' && change !== 'rejected');
  const sentence = watchSentence(changed.map(({ path }) => path));
  return sentence === undefined ? [] : [wrap(sentence, columns, '    ')];
}

function nameOf({ file, local, nodes }: UpgradeReport): string {
  if (nodes !== undefined) return nodes.join(', ');
  return local === undefined ? file : `${file} over ${local.join(', ') || 'an empty local config'}`;
}

/** Nodes have no file in a repository: their annotations name them. */
export function asGithub(reports: readonly UpgradeReport[]): string {
  return reports
    .flatMap((report) => {
      const { nodes, findings, unknown, from, to } = report;
      const file = nodes === undefined ? report.file.replace(/#.*$/, '') : undefined;
      const whose = nodes === undefined ? '' : `${nodes.join(', ')}: `;
      const notChecked = unknown && annotation(undefined, { ...notice, message: unknown }, `${whose}not checked`);
      return [
        ...(notChecked ? [notChecked] : []),
        ...findings.map((finding) => {
          const at = finding.flag === undefined ? (nodes === undefined ? finding.file : undefined) : undefined;
          const title = `${whose}${titleOf(finding)}${whenText(finding, report)}`;
          const message = `kubelet ${version(from)} to ${version(to)}: ${finding.message}`;
          return annotation(at ?? file, { ...finding, message }, title);
        }),
      ];
    })
    .join('\n');
}

const notice = { severity: 'warning', source: 'relet', path: '' } as const;

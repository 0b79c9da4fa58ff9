/** Output formats of findings: text for people, JSON for programs, annotations for GitHub. */
import type { Finding } from '../../config/model.js';
import { oneLine } from '../../visible-text.js';
import { hanging, type Terminal, wrap } from '../terminal/terminal.js';

/** The result for one document, in the form that `-o json` prints. */
export interface Report {
  file: string;
  /** For an overlay: the local files that it was merged into; none stands for an empty one. */
  local?: string[];
  kubeletVersion: string;
  verdict: 'accepted' | 'decode-error' | 'validate-error';
  startup: 'ok' | 'fails';
  /** With --policy. */
  policy?: 'kept' | 'broken';
  findings: Finding[];
}

export function asJson(reports: Report[]): string {
  return JSON.stringify(reports, null, 2);
}

/** One block per finding, headed by `file:line:column` so that terminals and editors can jump there; then a line per file. */
export function asText(reports: Report[], terminal: Terminal): string {
  return reports
    .flatMap((report) => [
      ...report.findings.map((finding) => block(report.file, finding, terminal)),
      hanging(summary(report, terminal), terminal),
    ])
    .join('\n');
}

function block(checked: string, finding: Finding, terminal: Terminal): string {
  const who = finding.source === 'relet' ? terminal.paint.dim(' (found by relet)') : '';
  return findingBlock(placeOf(checked, finding), finding, terminal, { who });
}

export const placeOf = (checked: string, { line, column, file = checked }: Finding): string =>
  line === undefined ? file : `${file}:${line}:${column ?? 1}`;

/** `when` follows the path. */
export function findingBlock(
  place: string,
  { severity, path, message, remedy }: Finding,
  terminal: Terminal,
  { who = '', when = '' }: { who?: string; when?: string },
): string {
  const { columns, paint } = terminal;
  const word = { error: paint.red, warning: paint.yellow, note: paint.dim }[severity](severity);
  const about = when === '' ? path : titleOf({ path });
  const head = `${paint.bold(oneLine(place))}  ${word}${who}  ${oneLine(about)}${when}`.trimEnd();
  const lines = [message, ...(remedy === undefined ? [] : [remedy])].map((text) => wrap(text, columns, '    '));
  return [hanging(head, terminal), ...lines].join('\n');
}

function summary(report: Report, { paint }: Terminal): string {
  const { kubeletVersion, verdict, startup, findings } = report;
  const over = report.local && ` over ${report.local.length === 0 ? 'an empty local config' : report.local.join(', ')}`;
  const file = oneLine(`${report.file}${over ?? ''}`);
  const tail = counts(findings, ['warning', 'note'])
    .map((text) => `, ${text}`)
    .join('');
  const kubelet = `kubelet ${kubeletVersion}`;
  if (isInvalidOverlay(report)) return paint.red(`${file}: rejected: not a valid overlay${tail}`);
  if (verdict !== 'accepted') return paint.red(`${file}: ${kubelet} would refuse it (${verdict})${tail}`);
  if (startup === 'fails') return paint.red(`${file}: ${kubelet} would accept it and then fail to start${tail}`);
  if (report.policy === 'broken') return paint.red(`${file}: the field policy does not allow it${tail}`);
  if (counts(findings, ['error']).length > 0)
    return paint.red(`${file}: ${kubelet} would ignore this; use --lenient to do the same${tail}`);
  return paint.green(`${file}: fine for ${kubelet}${tail}`);
}

/** Decoding an overlay is by rules of relet, not of the kubelet; a local file is the kubelet's to decode. */
const isInvalidOverlay = ({ local, verdict, findings }: Report): boolean =>
  local !== undefined &&
  verdict === 'decode-error' &&
  findings.some(({ severity, file }) => severity === 'error' && file === undefined);

/** `2 errors`, `1 warning`: of each kind that there is any of. */
export const counts = (findings: readonly Finding[], kinds: readonly Finding['severity'][]): string[] =>
  kinds.flatMap((kind) => {
    const n = findings.filter(({ severity }) => severity === kind).length;
    return n === 0 ? [] : `${n} ${kind}${n === 1 ? '' : 's'}`;
  });

/** Workflow commands: each finding appears beside its line in the pull request. */
export function asGithub(reports: Report[]): string {
  return reports
    .flatMap(({ file, findings }) =>
      findings.map((finding) => annotation((finding.file ?? file).replace(/#.*$/, ''), finding)),
    )
    .join('\n');
}

/** Subject of a finding; one without a path is about the whole document. */
export const titleOf = ({ path }: Pick<Finding, 'path'>): string => (path === '' ? 'KubeletConfiguration' : path);

/** Without a file, of something that no repository has. */
export function annotation(
  file: string | undefined,
  { severity, path, line, column, message, remedy }: Finding,
  title = titleOf({ path }),
): string {
  const properties = [
    ...(file === undefined ? [] : [`file=${escapeProperty(file)}`]),
    ...(file === undefined || line === undefined ? [] : [`line=${line}`, `col=${column ?? 1}`]),
    `title=${escapeProperty(title)}`,
  ];
  const text = remedy === undefined ? message : `${message}\n${remedy}`;
  return `::${severity === 'note' ? 'notice' : severity} ${properties.join(',')}::${escapeData(text)}`;
}

const escapeData = (text: string): string => text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
const escapeProperty = (text: string): string => escapeData(text).replace(/:/g, '%3A').replace(/,/g, '%2C');

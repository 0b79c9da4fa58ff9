/**
 * Validates the fields of an overlay while the user types, with relet's own validation, for each kubelet version of the selected nodes.
 * Findings have positions in the edited text. Pure.
 */
import { checkOverlay } from '../../../config/check-overlay.js';
import type { Finding, Minor } from '../../../config/model.js';
import { overlayHeader } from '../../../config/overlay.js';

export interface TextFinding {
  severity: Finding['severity'];
  /** In the text, from 1; undefined if no place in it is to blame. */
  line?: number;
  column?: number;
  message: string;
}

/** Fields beside each other, as under spec.config.overlay, and the paths under spec.config.unset. */
export function checkText(text: string, unset: readonly string[], minors: readonly Minor[]): TextFinding[] {
  const found = new Map<string, { finding: TextFinding; minors: Minor[] }>();
  for (const minor of minors)
    for (const finding of findingsFor(text, unset, minor)) {
      const key = JSON.stringify(finding);
      const known = found.get(key);
      if (known === undefined) found.set(key, { finding, minors: [minor] });
      else known.minors.push(minor);
    }
  return [...found.values()]
    .map(({ finding, minors: having }) =>
      having.length === minors.length ? finding : { ...finding, message: `${versions(having)}: ${finding.message}` },
    )
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

const versions = (minors: readonly Minor[]): string =>
  `kubelet ${[...minors]
    .sort((a, b) => a - b)
    .map((minor) => `1.${minor}`)
    .join(', ')}`;

const head = `apiVersion: ${overlayHeader.apiVersion}\nkind: ${overlayHeader.kind}\nconfig:\n`;
const headLines = head.split('\n').length - 1;
const indent = '  ';

function findingsFor(text: string, unset: readonly string[], minor: Minor): TextFinding[] {
  if (!hasContent(text) && unset.length === 0) return [];
  const lines = text.split('\n');
  const config = hasContent(text)
    ? `${head}${lines.map((line) => indent + line).join('\n')}\n`
    : head.replace(/config:\n$/, '');
  const overlay = `${config}${unset.length === 0 ? '' : `unset: ${JSON.stringify(unset)}\n`}`;
  return checkOverlay(overlay, { minor, local: [] }).findings.map(({ severity, remedy, path, ...found }) => {
    // The parser counts the lines of the head too.
    const message = found.message.replace(/^yaml: (line \d+: )?/, '');
    const isSyntax = message !== found.message;
    const place = hasContent(text) ? placeIn(lines, found, { isSyntax }) : undefined;
    const about = place !== undefined || path === '' || message.includes(path) ? '' : `${path}: `;
    return { severity, ...place, message: `${about}${message}${remedy === undefined ? '' : ` ${remedy}`}` };
  });
}

/** A syntax error may be found only behind the text, where something that it began does not end: then it is in its last line. */
function placeIn(
  lines: readonly string[],
  { line = 0, column = 1 }: Pick<Finding, 'line' | 'column'>,
  { isSyntax }: { isSyntax: boolean },
): { line: number; column: number } | undefined {
  const inText = line - headLines;
  const last = lines.findLastIndex(hasContent) + 1;
  if (isSyntax && inText > last) return { line: last, column: 1 };
  return inText >= 1 && inText <= lines.length
    ? { line: inText, column: Math.max(1, column - indent.length) }
    : undefined;
}

/** Anything but comments and blank lines. */
export const hasContent = (text: string): boolean => /^\s*[^\s#]/m.test(text);

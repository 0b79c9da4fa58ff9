/**
 * Checks the fields of an overlay as one types, with relet's own validation, for each kubelet version of the selected nodes. Findings
 * point into the text that is edited. Pure.
 */
import { checkOverlay } from '../../../config/check-overlay.js';
import type { Finding, Minor } from '../../../config/model.js';
import { overlayHeader } from '../../../config/overlay.js';

export interface TextFinding {
  severity: Finding['severity'];
  /** In the text, from 1; undefined where no place in it is to blame. */
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
  return checkOverlay(overlay, { minor, local: [] }).findings.map(
    ({ severity, message, remedy, line, column, path }) => {
      const inText = line !== undefined && line > headLines && line <= headLines + lines.length && hasContent(text);
      const about = inText || path === '' || message.includes(path) ? '' : `${path}: `;
      return {
        severity,
        ...(inText && { line: line - headLines, column: Math.max(1, (column ?? 1) - indent.length) }),
        message: `${about}${message}${remedy === undefined ? '' : ` ${remedy}`}`,
      };
    },
  );
}

/** Anything but comments and blank lines. */
export const hasContent = (text: string): boolean => /^\s*[^\s#]/m.test(text);

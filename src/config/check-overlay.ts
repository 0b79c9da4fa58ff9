/** The check of what an overlay makes of a node's local config; findings point into the overlay or into the local file. */
import { type CheckOptions, type CheckResult, check } from './check.js';
import { DecodeError } from './decode.js';
import { Doubts } from './follow-ups.js';
import { type LocalConfig, type LocalFile, type Merged, mergeDecoded, mergeLocal } from './merge.js';
import { type Finding, knownMinor, parentPath } from './model.js';
import { readOverlay } from './overlay.js';

/** As check(): all findings at once, those of the overlay first, then those of each local file; by line. */
export function checkOverlay(overlay: string, options: CheckOptions & { local: readonly LocalFile[] }): CheckResult {
  const { local, file, ...rest } = options;
  const minor = knownMinor(rest.minor);
  const order = ['', ...local.map(({ path }) => path)];
  const strict = rest.lenient !== true;
  const decoded = readOverlay(overlay, { minor, strict, strictKeys: strict, ...(file !== undefined && { file }) });
  let base: LocalConfig;
  try {
    base = mergeLocal({ minor, local });
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { ...undecoded(error), findings: [...decoded.findings, ...error.findings].sort(byPlace(order)) };
  }
  const merged = mergeDecoded(base, decoded, { minor, overlayFile: file });
  const result = check(merged.text, { ...rest, ...(file !== undefined && { file }) });
  const doubts = new Doubts();
  for (const { path } of decoded.error?.findings ?? []) doubts.add(path);
  const found = result.findings.filter((finding) => !doubts.cover(finding)).map((finding) => place(finding, merged));
  return {
    ...(decoded.error === undefined ? result : undecoded(decoded.error)),
    findings: [...merged.findings, ...found].sort(byPlace(order)),
  };
}

const undecoded = ({ message }: DecodeError) => ({ verdict: 'decode-error', message, startup: 'fails' }) as const;

const byPlace = (files: readonly string[]) => (a: Finding, b: Finding) =>
  files.indexOf(a.file ?? '') - files.indexOf(b.file ?? '') ||
  (a.line ?? 0) - (b.line ?? 0) ||
  (a.column ?? 0) - (b.column ?? 0);

/** The place of the path, else of its nearest parent, else of a field that the message names. */
function place({ line: _line, column: _column, ...finding }: Finding, merged: Merged): Finding {
  const words = finding.message.matchAll(/\b[a-z]+[A-Z][A-Za-z.]*\b/g);
  for (const path of [...parents(finding.path), ...[...words].map(([word]) => word)]) {
    const origin = merged.origin(path);
    if (origin?.position === undefined) continue;
    return { ...finding, ...(origin.in === 'local' && { file: origin.file! }), ...origin.position };
  }
  return finding;
}

/** The path and its parents, from the inside out. */
function parents(path: string): string[] {
  return path === '' ? [] : [path, ...parents(parentPath(path))];
}

/** Checks the document that an overlay and a node's local config result in. Findings have positions in the overlay or in the local file. */
import { type CheckOptions, type CheckResult, type Examination, examine, type Place, withEffective } from './check.js';
import { DecodeError } from './decode.js';
import { Doubts } from './follow-ups.js';
import { type LocalConfig, type LocalFile, type Merged, mergeDecoded, mergeLocal } from './merge.js';
import { type Finding, knownMinor, parentPath } from './model.js';
import { readOverlay } from './overlay.js';

export type OverlayCheckOptions = CheckOptions & { local: readonly LocalFile[] };

/** As check(): all findings at once, those of the overlay first, then those of each local file; by line. */
export const checkOverlay = (overlay: string, options: OverlayCheckOptions): CheckResult =>
  withEffective(examineOverlay(overlay, options));

export function examineOverlay(overlay: string, options: OverlayCheckOptions): Examination {
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
    const findings = [...decoded.findings, ...error.findings].sort(byPlace(order));
    const result = { ...undecoded(error), findings };
    return { result, flags: new Map(), isRead: false, unknown: [], placeOf: () => undefined };
  }
  const merged = mergeDecoded(base, decoded, { minor, overlayFile: file });
  const examined = examine(merged.text, { ...rest, ...(file !== undefined && { file }) });
  const doubts = new Doubts();
  for (const { path } of decoded.error?.findings ?? []) doubts.add(path);
  const found = examined.result.findings.filter((finding) => !doubts.cover(finding));
  return {
    ...examined,
    result: {
      ...(decoded.error === undefined ? examined.result : undecoded(decoded.error)),
      findings: [...merged.findings, ...found.map((finding) => place(finding, merged))].sort(byPlace(order)),
    },
    isRead: examined.isRead && decoded.error === undefined,
    mergedText: merged.text,
    placeOf: (path) => placeIn(merged, path),
  };
}

const undecoded = ({ message }: DecodeError) => ({ verdict: 'decode-error', message, startup: 'fails' }) as const;

const byPlace = (files: readonly string[]) => (a: Finding, b: Finding) =>
  files.indexOf(a.file ?? '') - files.indexOf(b.file ?? '') ||
  (a.line ?? 0) - (b.line ?? 0) ||
  (a.column ?? 0) - (b.column ?? 0);

function place({ line: _line, column: _column, ...finding }: Finding, merged: Merged): Finding {
  const field = placedField(finding, (path) => placeIn(merged, path));
  return field === undefined ? finding : { ...finding, ...placeIn(merged, field) };
}

/** The field whose place a finding has: its path, else the nearest parent, else one that the message names. */
export function placedField(
  { path, message }: Pick<Finding, 'path' | 'message'>,
  placeOf: Examination['placeOf'],
): string | undefined {
  const words = message.matchAll(/\b[a-z]+[A-Z][A-Za-z.]*\b/g);
  return [...parents(path), ...[...words].map(([word]) => word)].find((one) => placeOf(one) !== undefined);
}

function placeIn(merged: Merged, path: string): Place | undefined {
  const origin = merged.origin(path);
  if (origin?.position === undefined) return undefined;
  return { ...(origin.in === 'local' && { file: origin.file! }), ...origin.position };
}

/** The path and its parents, from the inside out. */
function parents(path: string): string[] {
  return path === '' ? [] : [path, ...parents(parentPath(path))];
}

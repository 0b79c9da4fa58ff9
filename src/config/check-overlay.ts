/** The check of what an overlay makes of a node's local config; findings point into the overlay or into the local file. */
import { type CheckOptions, type CheckResult, check } from './check.js';
import { DecodeError } from './decode.js';
import { type LocalFile, type Merged, mergeOverlay } from './merge.js';
import type { Finding } from './model.js';

export function checkOverlay(overlay: string, options: CheckOptions & { local: readonly LocalFile[] }): CheckResult {
  const { local, file, ...rest } = options;
  let merged: Merged;
  try {
    merged = mergeOverlay({
      minor: rest.minor,
      local,
      overlay,
      ...(file !== undefined && { overlayFile: file }),
      strict: rest.lenient !== true,
    });
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { verdict: 'decode-error', message: error.message, startup: 'fails', findings: error.findings };
  }
  const result = check(merged.text, { ...rest, ...(file !== undefined && { file }) });
  return { ...result, findings: [...merged.findings, ...result.findings.map((finding) => place(finding, merged))] };
}

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
  const found: string[] = [];
  for (let end = path.length; end > 0; end = Math.max(path.lastIndexOf('.', end - 1), path.lastIndexOf('[', end - 1)))
    found.push(path.slice(0, end));
  return found;
}

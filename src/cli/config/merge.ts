/** `relet config merge`: prints the local config merged with an overlay. Other verbs read local files and overlays with it too. */
import { resolve } from 'node:path';
import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { resolvePaths } from '../../config/host-paths.js';
import { baseOf, type LocalFile, type Merged, mergeOverlay } from '../../config/merge.js';
import type { Finding, KubeletConfig, Minor } from '../../config/model.js';
import { isMeantAsOverlay, isOverlay } from '../../config/overlay.js';
import { oneLine } from '../../visible-text.js';
import type { KubeletVersion } from '../command-line.js';
import { openTerminal, printError } from '../terminal/terminal.js';
import { type ConfigDocument, readConfigDocument } from './documents.js';

export { isMeantAsOverlay, isOverlay };

interface MergeOptions {
  kubeletVersion: KubeletVersion;
  local?: string[];
}

/** The last file is the overlay; those before it are local, as those of --local. */
export async function mergeFiles(files: string[], { kubeletVersion, local = [] }: MergeOptions): Promise<void> {
  const [file, before] = [files.at(-1)!, [...local, ...files.slice(0, -1)]];
  if ([...before, file].filter((name) => name === '-').length > 1)
    throw new CannotRun('standard input can be only one of the files; name a file for the others');
  const localFiles = asLocalFiles(await readLocalFiles(before, 'only the last file may be an overlay'));
  const overlay = await readConfigDocument(file);
  if (!isMeantAsOverlay(overlay.text))
    throw new CannotRun(`${file}: not an overlay (kind: KubeletConfigurationOverlay); the last file must be one`);
  const { text, findings } = mergeDocument(overlay, localFiles, kubeletVersion.minor);
  openTerminal().printDocument(text);
  for (const finding of findings) printError(`relet: ${asWarning(finding, overlay)}`);
  if (before.length === 0) printError('relet: no local file given; merged as on a host whose kubelet has no --config');
  if (kubeletVersion.note !== undefined) printError(`relet: merged for ${kubeletVersion.note}`);
}

/** The node's own config by absolute path: the file of --config, then the drop-ins in the kubelet's order. */
export async function readLocalFiles(
  files: readonly string[],
  ifOverlay = "it is an overlay; name the node's own config",
): Promise<Map<string, ConfigDocument>> {
  const documents = new Map<string, ConfigDocument>();
  for (const file of files) {
    const document = await readConfigDocument(file);
    if (isOverlay(document.text)) throw new CannotRun(`${file}: ${ifOverlay}`);
    documents.set(file === '-' ? '/dev/stdin' : resolve(file), document);
  }
  return documents;
}

export const asLocalFiles = (documents: ReadonlyMap<string, ConfigDocument>): LocalFile[] =>
  [...documents].map(([path, { text, file }]) => ({ path, text, ...(file === '-' && { directory: process.cwd() }) }));

/** Makes relative paths absolute, in place, as those of that local file. */
export const resolveLike = (local: LocalFile, config: KubeletConfig, minor: Minor): void =>
  resolvePaths(config, baseOf(local), minor);

/** Throws CannotRun where the overlay, or a local file, cannot be decoded. */
export function mergeDocument({ text, file }: ConfigDocument, local: readonly LocalFile[], minor: Minor): Merged {
  try {
    return mergeOverlay({ minor, local, overlay: text, overlayFile: file });
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const errors = error.findings.filter(({ severity }) => severity === 'error');
    const isOfOverlay = errors[0]?.file === undefined;
    if (!isOfOverlay) throw new CannotRun(`${error.message}; 'relet config validate ${errors[0]!.file}' shows where`);
    const all = errors.length > 1 ? `: 'relet config validate ${file} --local FILE' shows all.` : '';
    throw new CannotRun(`${error.message}${all}`);
  }
}

function asWarning({ file, line, column, path, message }: Finding, overlay: ConfigDocument): string {
  const at = line === undefined || file !== undefined ? { line, column } : overlay.locate(line, column ?? 1);
  const place = at.line === undefined ? '' : `:${at.line}:${at.column}`;
  return oneLine(`warning: ${file ?? overlay.file}${place}: ${path}: ${message}`);
}

/** `relet config merge`: the config that a node runs with an overlay. Also how other verbs read local files and overlays. */
import { resolve } from 'node:path';
import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { type LocalFile, type Merged, mergeOverlay } from '../../config/merge.js';
import type { Finding, Minor } from '../../config/model.js';
import { isOverlay } from '../../config/overlay.js';
import { oneLine } from '../../visible-text.js';
import type { KubeletVersion } from '../command-line.js';
import { openTerminal, printError } from '../terminal/terminal.js';
import { type ConfigDocument, readConfigDocument } from './documents.js';

export { isOverlay };

interface MergeOptions {
  kubeletVersion: KubeletVersion;
  local?: string[];
}

/** The last file is the overlay; those before it are local, as those of --local. */
export async function mergeFiles(files: string[], { kubeletVersion, local = [] }: MergeOptions): Promise<void> {
  const [file, before] = [files.at(-1)!, [...local, ...files.slice(0, -1)]];
  if ([...before, file].filter((name) => name === '-').length > 1)
    throw new CannotRun('standard input can be only one of the files; name a file for the others');
  const localFiles = asLocalFiles(await readLocalFiles(before));
  const overlay = await readConfigDocument(file);
  if (!isOverlay(overlay.text))
    throw new CannotRun(`${file}: not an overlay (kind: KubeletConfigurationOverlay); the last file must be one`);
  const { text, findings } = mergeDocument(overlay, localFiles, kubeletVersion.minor);
  openTerminal().printDocument(text);
  for (const finding of findings) printError(`relet: ${asWarning(finding, overlay)}`);
  if (before.length === 0) printError('relet: no local file given; merged as on a host whose kubelet has no --config');
  if (kubeletVersion.note !== undefined) printError(`relet: merged for ${kubeletVersion.note}`);
}

/** The node's own config by absolute path: the file of --config, then the drop-ins in the kubelet's order. */
export async function readLocalFiles(files: readonly string[]): Promise<Map<string, ConfigDocument>> {
  const documents = new Map<string, ConfigDocument>();
  for (const file of files) {
    const document = await readConfigDocument(file);
    if (isOverlay(document.text)) throw new CannotRun(`${file}: it is an overlay; name the node's own config`);
    documents.set(file === '-' ? '/dev/stdin' : resolve(file), document);
  }
  return documents;
}

export const asLocalFiles = (documents: ReadonlyMap<string, ConfigDocument>): LocalFile[] =>
  [...documents].map(([path, { text }]) => ({ path, text }));

/** Throws CannotRun where the overlay, or a local file, cannot be decoded. */
export function mergeDocument({ text, file }: ConfigDocument, local: readonly LocalFile[], minor: Minor): Merged {
  try {
    return mergeOverlay({ minor, local, overlay: text, overlayFile: file });
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new CannotRun(`${error.message}; 'relet config validate ${file} --local FILE' shows all errors`);
  }
}

function asWarning({ file, line, column, path, message }: Finding, overlay: ConfigDocument): string {
  const at = line === undefined || file !== undefined ? { line, column } : overlay.locate(line, column ?? 1);
  const place = at.line === undefined ? '' : `:${at.line}:${at.column}`;
  return oneLine(`warning: ${file ?? overlay.file}${place}: ${path}: ${message}`);
}

/** Overlays in `relet config validate`; a bundle of its own, since most files are whole configs. */
import type { CheckOptions, CheckResult } from '../../config/check.js';
import { checkOverlay } from '../../config/check-overlay.js';
import { emptyDocument } from '../../config/header.js';
import type { LocalFile } from '../../config/merge.js';
import { isMeantAsOverlay, isOverlay } from '../../config/overlay.js';
import type { ConfigDocument } from './documents.js';
import { asLocalFiles, readLocalFiles } from './merge.js';

export { isMeantAsOverlay, isOverlay };

export interface LocalConfig {
  /** By the path that findings name. */
  documents: ReadonlyMap<string, ConfigDocument>;
  files: readonly LocalFile[];
  check(overlay: string, options: CheckOptions): CheckResult;
}

/** The local config that overlays are merged into: the file of --config, then drop-ins. Without any, an empty one. */
export async function readLocal(files: readonly string[]): Promise<LocalConfig> {
  const documents = await readLocalFiles(files);
  const empty: LocalFile = { path: '/var/lib/kubelet/config.yaml', text: emptyDocument };
  const local = documents.size === 0 ? [empty] : asLocalFiles(documents);
  return { documents, files: local, check: (overlay, options) => checkOverlay(overlay, { ...options, local }) };
}

/** Overlays in `relet config validate`; a bundle of its own, since most files are whole configs. */
import { resolve } from 'node:path';
import { CannotRun } from '../../cannot-run.js';
import type { CheckOptions, CheckResult } from '../../config/check.js';
import { checkOverlay } from '../../config/check-overlay.js';
import { emptyDocument } from '../../config/header.js';
import type { LocalFile } from '../../config/merge.js';
import { isOverlay } from '../../config/overlay.js';
import { type ConfigDocument, readConfigDocument } from './documents.js';

export { isOverlay };

export interface LocalConfig {
  /** By the path that findings name. */
  documents: ReadonlyMap<string, ConfigDocument>;
  check(overlay: string, options: CheckOptions): CheckResult;
}

/** The local config that overlays are merged into: the file of --config, then drop-ins. Without any, an empty one. */
export async function readLocal(files: readonly string[]): Promise<LocalConfig> {
  const documents = new Map<string, ConfigDocument>();
  for (const file of files) {
    const document = await readConfigDocument(file);
    if (isOverlay(document.text)) throw new CannotRun(`--local ${file}: it is an overlay; name the node's own config`);
    documents.set(file === '-' ? '/dev/stdin' : resolve(file), document);
  }
  const empty: LocalFile = { path: '/var/lib/kubelet/config.yaml', text: emptyDocument };
  const local = [...documents].map(([path, { text }]): LocalFile => ({ path, text }));
  return {
    documents,
    check: (overlay, options) => checkOverlay(overlay, { ...options, local: local.length === 0 ? [empty] : local }),
  };
}

/**
 * `relet export`: writes an overlay, a set, a remediation or the difference of a node in the format of another system, such as
 * OpenShift.
 */

import type { NodeConfigSet } from '../../api/node-config-set.js';
import { droppedThresholds, type ExportFormat, type ExportOptions, exportOverlay } from '../../audit/export.js';
import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { type Minor, newestMinor, type Overlay, parseMinor } from '../../config/model.js';
import { decodeOverlay, isOverlay } from '../../config/overlay.js';
import { readPlain } from '../../config/plain-document.js';
import { withoutDefaults } from '../../config/without-defaults.js';
import { readWritten } from '../../fleet/config-text.js';
import { ownFields } from '../../fleet/effective-document.js';
import { asYaml } from '../../go/yaml/write.js';
import { isObject } from '../../json.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { readBytes } from '../config/documents.js';
import { readSet } from '../rollout/read-set.js';
import { withSession } from '../session.js';
import { printError, terminalFor } from '../terminal/terminal.js';
import { readFleet } from './read-fleet.js';

export interface ExportVerbOptions extends ConnectionOptions {
  to: ExportFormat;
  name: string;
  targetVersion?: string;
  lossy?: boolean;
}

export async function exportVerb(word: string, options: ExportVerbOptions): Promise<void> {
  const { to, lossy = false, name } = options;
  const minor = options.targetVersion === undefined ? undefined : parseMinor(options.targetVersion);
  if (options.targetVersion !== undefined && minor === undefined)
    throw new CannotRun(`--target-version ${options.targetVersion}: write it as 1.31`);
  const overlays = await overlaysOf(word, options);
  const texts = overlays.map((overlay) => exportOne(overlay, to, { name, minor }, lossy));
  terminalFor({ output: 'yaml' }).printDocument(texts.join('---\n'));
}

function exportOne(overlay: Overlay, to: ExportFormat, options: ExportOptions, lossy: boolean): string {
  const { object, lost } = exportOverlay(overlay, to, options);
  const lines = lost.map(({ field, why }) => `  ${oneLine(field)}: ${why}`).join('\n');
  if (lost.length > 0 && !lossy)
    throw new CannotRun(`${to} cannot express all of it; --lossy leaves these out:\n${lines}`);
  if (lost.length > 0) printError(`relet: left out:\n${lines}`);
  const dropped = droppedThresholds(overlay);
  if (dropped.length > 0 && !lost.some(({ field }) => field === 'evictionHard'))
    printError(
      `relet: a kubelet whose own file has no evictionHard drops its defaults for ${dropped.join(', ')}; write them into the overlay to keep them`,
    );
  return asYaml(object);
}

async function overlaysOf(word: string, options: ExportVerbOptions): Promise<Overlay[]> {
  const node = /^(?:node|nodes|no)\/(.*)$/.exec(word)?.[1];
  if (node !== undefined) return [await nodeOverlay(node, options)];
  const set = /^(?:set|nodeconfigsets?|ncs)\/(.*)$/.exec(word)?.[1];
  if (set !== undefined) return withSession(options, async (session) => [overlayOfSet(await readSet(session, set))]);
  const text = readBytes(word).toString('utf8');
  return text
    .split(/^---$/m)
    .filter((one) => one.trim() !== '')
    .map((one) => fromText(one, word));
}

/** Returns the fields in which the node differs from the defaults of its version, without those that are specific to a host. */
async function nodeOverlay(name: string, options: ExportVerbOptions): Promise<Overlay> {
  const fleet = await readFleet([name], { ...options, nodeTimeout: 10_000 });
  const { config, minor } = fleet.documents.get(fleet.nodes[0]!.document)!;
  const hostOnly = new Set([...ownFields, 'address', 'healthzBindAddress', 'tlsCertFile', 'tlsPrivateKeyFile']);
  const kept = Object.entries(withoutDefaults(config, minor)).filter(([field]) => !hostOnly.has(field));
  return { config: Object.fromEntries(kept), unset: [] };
}

function overlayOfSet({ metadata, spec }: NodeConfigSet): Overlay {
  const { overlay, unset = [] } = spec.config;
  if (overlay === undefined && unset.length === 0)
    throw new CannotRun(`set ${metadata.name} names a ConfigMap; export its text: kubectl get configmap … -o yaml`);
  return { config: overlay ?? {}, unset };
}

function fromText(text: string, file: string, minor: Minor = newestMinor): Overlay {
  try {
    const value = readPlain(text);
    if (isObject(value) && value.kind === 'NodeConfigSet') return overlayOfSet(value as unknown as NodeConfigSet);
    if (isOverlay(text)) return decodeOverlay(text, { minor, strict: true }).overlay;
    const { apiVersion: _, kind: __, ...config } = readWritten(text, minor);
    return { config, unset: [] };
  } catch (error) {
    if (error instanceof DecodeError || (error as Error).name === 'DocumentError')
      throw new CannotRun(`${file}: ${oneLine((error as Error).message)}`);
    throw error;
  }
}

/** `relet config diff`: what differs between two configs by meaning, and what the change needs on a live node. */
import { CannotRun } from '../../cannot-run.js';
import { DecodeError, decode } from '../../config/decode.js';
import type { KubeletConfig, Minor } from '../../config/model.js';
import type { KubeletVersion } from '../command-line.js';
import { differencesAsJson, differencesAsText, differencesOf } from '../terminal/change-text.js';
import { openTerminal, printError } from '../terminal/terminal.js';
import { type ConfigDocument, readConfigDocument } from './documents.js';

interface DiffOptions {
  kubeletVersion: KubeletVersion;
  local?: string[];
  output: 'text' | 'json';
}

export async function diffFiles(a: string, b: string, options: DiffOptions): Promise<void> {
  const { kubeletVersion, local = [], output } = options;
  if ([a, b, ...local].filter((file) => file === '-').length > 1)
    throw new CannotRun('standard input can be only one of the files; name a file for the others');
  const { minor, note } = kubeletVersion;
  const documents = [await readConfigDocument(a), await readConfigDocument(b)];
  const { texts, resolve } = await withoutOverlays(documents, local, minor);
  const [before, after] = [decodeFile(a, texts[0]!, minor), decodeFile(b, texts[1]!, minor)];
  for (const config of [before, after]) resolve(config);
  const differences = differencesOf({ before, after, minor });
  const terminal = openTerminal();
  terminal.print(output === 'json' ? differencesAsJson(differences) : differencesAsText(differences, terminal));
  if (output === 'text' && note !== undefined) printError(`relet: compared for ${note}`);
  process.exitCode = differences.length === 0 ? 0 : 1;
}

interface Comparable {
  texts: string[];
  /** Makes relative paths absolute, in place, where the other side has them so. */
  resolve(config: KubeletConfig): void;
}

/**
 * Overlays are compared as what they make of the local config. That has absolute paths, so relative ones of a whole config count from
 * the local file too.
 */
async function withoutOverlays(documents: ConfigDocument[], local: string[], minor: Minor): Promise<Comparable> {
  // Text that every overlay contains; whether it is one is decided by reading it.
  const mayBe = documents.some(({ text }) => /KubeletConfigurationOverlay|[\\!]/.test(text));
  const found = mayBe || local.length > 0 ? await import('./merge.js') : undefined;
  let overlays = documents.filter(({ text }) => found?.isOverlay(text));
  // With --local one was meant: what is wrong with its YAML or its header is reported as that of an overlay.
  if (overlays.length === 0 && local.length > 0)
    overlays = documents.filter(({ text }) => found!.isMeantAsOverlay(text));
  if (overlays.length === 0 && local.length > 0)
    throw new CannotRun('--local names the local config under an overlay, and neither file is one; leave it out');
  if (overlays.length > 0 && local.length === 0)
    throw new CannotRun(`${overlays[0]!.file}: an overlay; name the local config that it is merged into with --local`);
  if (found === undefined || overlays.length === 0)
    return { texts: documents.map(({ text }) => text), resolve: () => {} };
  const files = found.asLocalFiles(await found.readLocalFiles(local));
  const texts = documents.map((document) =>
    overlays.includes(document) ? found.mergeDocument(document, files, minor).text : document.text,
  );
  return { texts, resolve: (config) => found.resolveLike(files[0]!, config, minor) };
}

function decodeFile(file: string, text: string, minor: Minor): KubeletConfig {
  try {
    return decode(text, { minor, file, strict: false }).config;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new CannotRun(`${file}: ${error.message}; 'relet config validate ${file}' shows where`);
  }
}

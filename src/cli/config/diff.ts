/** `relet config diff`: what differs between two configs by meaning, and what the change needs on a live node. */
import { CannotRun } from '../../cannot-run.js';
import { DecodeError, decode } from '../../config/decode.js';
import type { KubeletConfig, Minor } from '../../config/model.js';
import type { KubeletVersion } from '../command-line.js';
import { differencesAsJson, differencesAsText, differencesOf } from '../terminal/change-text.js';
import { openTerminal, printError } from '../terminal/terminal.js';
import { readConfigDocument } from './documents.js';

interface DiffOptions {
  kubeletVersion: KubeletVersion;
  output: 'text' | 'json';
}

export async function diffFiles(a: string, b: string, { kubeletVersion, output }: DiffOptions): Promise<void> {
  if (a === '-' && b === '-')
    throw new CannotRun('standard input can be only one of the two; name a file for the other');
  const { minor, note } = kubeletVersion;
  const [before, after] = [await read(a, minor), await read(b, minor)];
  const differences = differencesOf(before, after, minor);
  const terminal = openTerminal();
  terminal.print(output === 'json' ? differencesAsJson(differences) : differencesAsText(differences, terminal));
  if (output === 'text' && note !== undefined) printError(`relet: compared for ${note}`);
  process.exitCode = differences.length === 0 ? 0 : 1;
}

async function read(file: string, minor: Minor): Promise<KubeletConfig> {
  const document = await readConfigDocument(file);
  try {
    return decode(document.text, { minor, file, strict: false }).config;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new CannotRun(`${file}: ${error.message}; 'relet config validate ${file}' shows where`);
  }
}

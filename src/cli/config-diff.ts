/** `relet config diff`: what differs between two configs by meaning, and what the change needs on a live node. */
import { impactOf, mostDemanding, type Needs, needsMeaning } from '../config/catalogue.js';
import { DecodeError, decode } from '../config/decode.js';
import { type Change, diff } from '../config/diff.js';
import type { KubeletConfig, Minor } from '../config/model.js';
import { CannotRun } from './cannot-run.js';
import { readConfigDocument } from './config-documents.js';
import type { KubeletVersion } from './kubelet-version.js';
import { paintNeeds } from './needs-color.js';
import { openTerminal, type Terminal, wrap } from './terminal.js';

/** One change as `-o json` prints it. `from` or `to` is absent where a map has no such key. */
interface Difference {
  path: string;
  from: unknown;
  to: unknown;
  needs: Needs;
  why: string;
  risk: string;
}

interface DiffOptions {
  kubeletVersion: KubeletVersion;
  output: 'text' | 'json';
}

export async function diffFiles(a: string, b: string, { kubeletVersion, output }: DiffOptions): Promise<void> {
  if (a === '-' && b === '-')
    throw new CannotRun('standard input can be only one of the two; name a file for the other');
  const { minor, note } = kubeletVersion;
  const [before, after] = [await read(a, minor), await read(b, minor)];
  const differences = diff(before, after, minor).map((change) => withImpact(change, minor));
  const terminal = openTerminal();
  terminal.print(output === 'json' ? asJson(differences) : asText(differences, terminal));
  if (output === 'text' && note !== undefined) process.stderr.write(`relet: compared for ${note}\n`);
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

function withImpact({ path, before, after }: Change, minor: Minor): Difference {
  const { needs, why, risk } = impactOf(path, minor)!;
  return { path, from: before, to: after, needs, why, risk };
}

const asJson = (differences: Difference[]): string =>
  JSON.stringify(differences, (_key, value) => (typeof value === 'bigint' ? Number(value) : value), 2);

function asText(differences: Difference[], { columns, paint }: Terminal): string {
  if (differences.length === 0) return 'Both mean the same.';
  const blocks = differences.map(({ path, from, to, needs, why }) =>
    [
      `${paint.bold(path)}  ${paintNeeds(needs, paint)}`,
      `    ${paint.red(`- ${shown(from)}`)}`,
      `    ${paint.green(`+ ${shown(to)}`)}`,
      ...(needs === 'restart' ? [] : [wrap(why, columns, '    ')]),
    ].join('\n'),
  );
  const needs = mostDemanding(differences.map((difference) => difference.needs));
  const total = `In all, on a live node: ${needs}. ${needsMeaning[needs]}`;
  return `${blocks.join('\n')}\n\n${wrap(total, columns)}`;
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'not set';
  return typeof value === 'string' && value !== ''
    ? value
    : JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? Number(part) : part));
}

/**
 * Kubelet flags over a config. The kubelet reads its command line a second time over the decoded and defaulted object: a flag
 * replaces the whole field, lists and maps included; only feature gates are merged, key by key, the flags' winning.
 */
import { parseDuration } from '../go/duration.js';
import { quote } from '../go/quote.js';
import { asCommandLine, type Flag, splitCommandLine } from './command-line.js';
import { copy } from './copy.js';
import { type FlagRow, type FlagType, flagRows, otherFlags } from './facts/flag-rows.js';
import { existsIn, fieldAt } from './fields.js';
import { FlagValueError, readFlag } from './flag-values.js';
import { type CommandLine, type KubeletConfig, knownMinor, type Minor, newestMinor, oldestMinor } from './model.js';

/** The kubelet rejects this command line: `message` is its error, `flag` the flag that caused it. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
  readonly flag: string;
  constructor(message: string, flag: string) {
    super(message);
    this.flag = flag;
  }
}

interface KnownFlag {
  type: FlagType | 'float';
  first: Minor;
  last: Minor;
}

const otherTypes: Record<string, FlagType | 'float'> = {
  b: 'bool',
  s: 'string',
  i: 'int32',
  l: 'int64',
  f: 'float',
  d: 'duration',
  m: 'map=',
};
const configFlags = new Map<string, FlagRow>(flagRows.map((row) => [row[0], row]));
let others: Map<string, KnownFlag> | undefined;

/** The flag as that minor knows it; undefined when it does not. */
export function flagAt(name: string, minor: Minor): { type: FlagType | 'float'; field?: string } | undefined {
  const known = knownMinor(minor);
  const row = configFlags.get(name);
  if (row !== undefined) return row[3] <= known && known <= row[4] ? { type: row[1], field: row[2] } : undefined;
  others ??= new Map(
    [...otherFlags.matchAll(/([a-z0-9-]+):(\w)(\d+)-(\d+)/g)].map(([, flag, type, first, last]) => [
      flag!,
      { type: otherTypes[type!]!, first: Number(first), last: Number(last) },
    ]),
  );
  const other = others.get(name);
  return other !== undefined && other.first <= known && known <= other.last ? { type: other.type } : undefined;
}

/** A value that the flag takes, for one of which only the name is known. */
export function anyValueOf(name: string): string {
  for (let minor = newestMinor; minor >= oldestMinor; minor--) {
    const type = flagAt(name, minor)?.type;
    if (type !== undefined) return anyValues[type] ?? '';
  }
  return '';
}

const anyValues: Partial<Record<FlagType | 'float', string>> = {
  bool: 'true',
  int32: '0',
  int64: '0',
  float: '0',
  level: '0',
  duration: '0s',
  quantity: '0',
  'pair=': 'a=b',
  headers: 'a:b',
};

/** Reads kubelet arguments as the kubelet of that minor does. Throws the first that it would not take. */
export function parseCommandLine(args: readonly string[], minor: Minor): CommandLine {
  const { flags, errors } = readCommandLine(args, minor);
  if (errors[0] !== undefined) throw errors[0];
  return flags;
}

/** All that the kubelet would not take, and the flags without it. */
export function readCommandLine(args: readonly string[], minor: Minor): { flags: CommandLine; errors: FlagError[] } {
  const { flags, rest, incomplete } = splitCommandLine(args);
  const checked = flags.map((flag) => ({ flag, error: checkFlag(flag, minor) }));
  const errors = checked.flatMap(({ error }) => error ?? []);
  if (incomplete !== undefined) {
    const isShort = !incomplete.startsWith('--');
    const name = incomplete.replace(/^-+/, '').replaceAll('_', '-');
    const message = `flag needs an argument: ${isShort ? `'${name}' in -${name}` : incomplete}`;
    errors.push(flagAt(name, minor) === undefined ? unknownFlag(incomplete) : new FlagError(message, name));
  }
  if (rest.length > 0) errors.push(new FlagError(`unknown command ${rest[0]}`, ''));
  return { flags: asCommandLine(checked.flatMap(({ flag, error }) => (error ? [] : [flag]))), errors };
}

function checkFlag({ name, value, words }: Flag, minor: Minor): FlagError | undefined {
  const word = words[0]!;
  const known = flagAt(name, minor);
  if (known === undefined || (!word.startsWith('--') && name !== 'v' && name !== 'help')) return unknownFlag(word);
  try {
    readFlag(known.type, [value], null, minor);
    return undefined;
  } catch (error) {
    if (!(error instanceof FlagValueError)) throw error;
    const shown = name === 'v' ? '-v, --v' : `--${name}`;
    return new FlagError(`invalid argument ${quote(value)} for ${quote(shown)} flag: ${error.message}`, name);
  }
}

function unknownFlag(word: string): FlagError {
  if (word.startsWith('--')) {
    const name = word.split('=')[0]!;
    return new FlagError(`unknown flag: ${name}`, name.slice(2));
  }
  return new FlagError(`unknown shorthand flag: '${word[1]}' in ${word}`, word[1]!);
}

/** A new config, overridden by the flags; the argument is not changed. Flags without a field in that minor change nothing. */
export const applyFlags = (config: KubeletConfig, flags: CommandLine, minor: Minor): KubeletConfig =>
  applyFlagsTo(copy(config), flags, minor);

/** The same on the config itself, whose structs are changed. */
export function applyFlagsTo(whole: KubeletConfig, flags: CommandLine, minor: Minor): KubeletConfig {
  forgetSplitStreams(whole);
  for (const [name, values] of flags) {
    const path = flagAt(name, minor)?.field;
    const field = path === undefined ? undefined : fieldAt(path);
    if (field === undefined || !existsIn(field, knownMinor(minor))) continue;
    const parts = field.path.split('.');
    const last = parts.pop()!;
    const parent = parts.reduce((object, part) => object[part] as KubeletConfig, whole);
    const before = parent[last];
    const value = readFlag(flagAt(name, minor)!.type, values, before, minor);
    if (name === 'feature-gates') parent[last] = { ...(before as object | null), ...(value as object) };
    // Nanoseconds, while the config held them so.
    else if (name === 'log-flush-frequency' && minor < 28) parent[last] = Number(parseDuration(value as string));
    else parent[last] = value;
  }
  return whole;
}

/**
 * Kubelets declare the two split-stream flags with false for a default, not with the config's value as all others: reading
 * the command line over the config takes away what the document said, even when neither flag is on it.
 */
function forgetSplitStreams(config: KubeletConfig): void {
  const options = (config.logging as { options?: Record<string, { splitStream?: unknown } | null> } | null)?.options;
  for (const format of [options?.json, options?.text])
    if (format?.splitStream !== undefined) format.splitStream = false;
}

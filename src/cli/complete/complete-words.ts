/** Computes what may be completed next, from a command's declaration and the words typed so far. Pure. */
import type { Argument, Command, Option } from 'commander';

export const noSpace = 2;
export const noFiles = 4;

export interface Suggestion {
  word: string;
  what?: string;
}

export interface Answer {
  suggestions: Suggestion[];
  /** As cobra's: 2 no space after the word, 4 no file names. */
  directive: number;
}

export type Names =
  | 'nodes'
  | 'configmaps'
  | 'sets'
  | 'waves'
  | 'fields'
  | 'settings'
  | 'namespaces'
  | 'contexts'
  | 'files'
  | 'versions'
  | 'flags';

/** `before` is put before each answer: `--for=` of `--for=act`. */
type Place = { typed: string; before: string };

export type Want =
  | ({ kind: 'words'; words: Suggestion[] } & Place)
  | ({ kind: 'names'; of: Names[]; options: Record<string, string>; words: readonly string[] } & Place)
  | { kind: 'files' }
  | { kind: 'nothing' };

/** By the option, or by the word for its value. */
const namesByValue: Record<string, Names> = {
  '--namespace': 'namespaces',
  '--context': 'contexts',
  '--flag': 'flags',
  '--unset': 'fields',
  '<VERSION>': 'versions',
  '<NODE>': 'nodes',
  '<SET>': 'sets',
  '<WAVE>': 'waves',
};
const namesByArgument: Record<string, Names[]> = {
  NODE: ['nodes'],
  CONFIGMAP: ['configmaps'],
  SET: ['sets'],
  'FILE|SET': ['sets', 'files'],
  OTHER: ['nodes', 'configmaps', 'files'],
  'NODE|FIELD=VALUE': ['nodes', 'settings'],
  FIELD: ['fields'],
};

/** `words` without the verb; the last one is being typed. */
export function wanted(command: Command, words: readonly string[]): Want {
  const typed = words.at(-1) ?? '';
  const { options, words: before, open } = readWords(command, words.slice(0, -1));
  if (open !== undefined) return valueWanted(open, { typed, before: '' }, { options, words: before });
  const assigned = /^(--[\w-]+)=(.*)$/s.exec(typed);
  if (assigned !== null) {
    const option = command.options.find(({ long }) => long === assigned[1]);
    if (option === undefined) return { kind: 'nothing' };
    return valueWanted(option, { typed: assigned[2]!, before: `${assigned[1]}=` }, { options, words: before });
  }
  if (typed.startsWith('-')) {
    const words = command.options.filter(({ hidden, long }) => !hidden && long !== undefined);
    return {
      kind: 'words',
      typed,
      before: '',
      words: words.map(({ long, description }) => ({ word: long!, what: description })),
    };
  }
  const declared = command.registeredArguments;
  const argument: Argument | undefined =
    declared[before.length] ?? (declared.at(-1)?.variadic ? declared.at(-1) : undefined);
  if (argument === undefined) return { kind: 'nothing' };
  const of = namesByArgument[argument.name()];
  return of === undefined ? { kind: 'files' } : { kind: 'names', of, typed, before: '', options, words: before };
}

function valueWanted(option: Option, place: Place, read: Pick<ReadWords, 'options' | 'words'>): Want {
  if (option.argChoices !== undefined)
    return { kind: 'words', words: option.argChoices.map((word) => ({ word })), ...place };
  const names = namesByValue[option.long ?? ''] ?? namesByValue[/<[A-Z]+>/.exec(option.flags)?.[0] ?? ''];
  if (names !== undefined) return { kind: 'names', of: [names], ...read, ...place };
  return /<FILE>/.test(option.flags) ? { kind: 'files' } : { kind: 'nothing' };
}

interface ReadWords {
  options: Record<string, string>;
  /** Words that are not options. */
  words: string[];
  /** An option at the end that still needs its value. */
  open: Option | undefined;
}

function readWords(command: Command, words: readonly string[]): ReadWords {
  const read: ReadWords = { options: {}, words: [], open: undefined };
  for (const word of words) {
    if (read.open !== undefined) {
      read.options[read.open.attributeName()] = word;
      read.open = undefined;
      continue;
    }
    if (!word.startsWith('-') || word === '-') {
      read.words.push(word);
      continue;
    }
    const [name, value] = word.startsWith('--')
      ? splitAt(word, word.indexOf('='))
      : [word.slice(0, 2), word.slice(2) || undefined];
    const option = command.options.find(({ short, long }) => name === short || name === long);
    if (option === undefined) continue;
    if (value !== undefined) read.options[option.attributeName()] = value;
    else if (option.required) read.open = option;
  }
  return read;
}

const splitAt = (word: string, at: number): [string, string | undefined] =>
  at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];

/**
 * `relet __complete WORDS…`: suggestions for the word that is being typed. Parses the command line with the declarations that run it.
 * Names come from the cluster within a short time limit: completion must never hang or print an error.
 */

import type { Command } from 'commander';
import { type OwnFlag, ownFlags } from '../../agent/options.js';
import { oneLine } from '../../visible-text.js';
import { clusterCommand } from '../cluster-verbs.js';
import { configVerb } from '../config/config.js';
import { agentFlags } from '../node/agent-flags.js';
import { nodeVerbs } from '../node/node-verb-names.js';
import { rolloutVerb } from '../rollout/rollout.js';
import { writeOut } from '../terminal/terminal.js';
import { type Answer, noFiles, noSpace, wanted } from './complete-words.js';

export interface KnownVerb {
  name: string;
  summary: string;
}

export async function complete(words: string[], verbs: readonly KnownVerb[]): Promise<void> {
  const { suggestions, directive } = await answer(words, verbs);
  const lines = suggestions
    .filter(({ word }) => word === oneLine(word))
    .map(({ word, what }) => (what === undefined ? word : `${word}\t${oneLine(what)}`));
  writeOut(`${[...lines, `:${directive}`].join('\n')}\n`);
}

async function answer(words: string[], verbs: readonly KnownVerb[]): Promise<Answer> {
  const [first = '', ...rest] = words;
  if (words.length <= 1)
    return fitting(
      first,
      verbs.map(({ name, summary }) => ({ word: name, what: summary })),
    );
  const command = clusterCommand(first);
  const last = rest.at(-1)!;
  if (first === 'completion')
    return fitting(
      last,
      ['bash', 'zsh', 'fish'].map((word) => ({ word })),
    );
  const parent = first === 'config' ? configVerb() : first === 'rollout' ? rolloutVerb() : undefined;
  if (parent !== undefined && rest.length === 1)
    return fitting(
      last,
      parent.commands.map((sub) => ({ word: sub.name(), what: sub.description() })),
    );
  if (first === 'node' && rest.length === 1)
    return fitting(
      last,
      nodeVerbs.map(([word, what]) => ({ word, what })),
    );
  const flags = first === 'agent' ? agentFlags : first === 'kubelet' ? ownFlags : undefined;
  if (flags !== undefined) return flagsOf(flags, last);
  const isCalled = (sub: Command) => sub.name() === rest[0] || sub.aliases().includes(rest[0]!);
  const target = parent === undefined ? command : parent.commands.find(isCalled);
  if (target === undefined) return { suggestions: [], directive: 0 };
  const want = wanted(target, parent === undefined ? rest : rest.slice(1));
  switch (want.kind) {
    case 'words':
      return fitting(want.typed, want.words, want.before);
    case 'files':
      return { suggestions: [], directive: 0 };
    case 'nothing':
      return { suggestions: [], directive: noFiles };
    case 'names': {
      const { namesOf } = await import('./complete-names.js');
      const found = await namesOf(want.of, want);
      const { suggestions, directive } = fitting(want.typed, found, want.before);
      const open = suggestions.some(({ word }) => /[=./]$/.test(word));
      return { suggestions, directive: (want.of.includes('files') ? 0 : directive) | (open ? noSpace : 0) };
    }
  }
}

/** Values are files where they are files; a shell completes those. */
function flagsOf(flags: Readonly<Record<string, OwnFlag>>, typed: string): Answer {
  if (!typed.startsWith('-')) return { suggestions: [], directive: 0 };
  const words = Object.entries(flags).map(([name, { help, value }]) => ({
    word: `--${name}${value === undefined ? '' : '='}`,
    what: help,
  }));
  const { suggestions, directive } = fitting(typed, words);
  const open = suggestions.some(({ word }) => word.endsWith('='));
  return { suggestions, directive: directive | (open ? noSpace : 0) };
}

function fitting(typed: string, words: { word: string; what?: string }[], before = ''): Answer {
  const found = words.filter(({ word }) => word.startsWith(typed));
  return { suggestions: found.map(({ word, ...rest }) => ({ ...rest, word: before + word })), directive: noFiles };
}

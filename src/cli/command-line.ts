/**
 * What all verbs have in common: how their arguments are declared, and how they end. 0 is well, 1 is the verb's own
 * "no" (findings, a difference), 2 is "could not run": wrong usage, a file that cannot be read.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { complain } from './complain.js';
import { printError, writeOut } from './terminal/terminal.js';

/** A command that reports wrong usage by throwing, so that `runVerb` ends it in one place. Its subcommands inherit that. */
export function verb(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride()
    .showHelpAfterError(`See '${name} --help'.`)
    .configureOutput({
      writeOut,
      outputError: (text) => printError(`relet: ${text.replace(/^error: /, '').trimEnd()}`),
    });
}

export function oneOf(flags: string, description: string, choices: readonly [string, ...string[]]): Option {
  return new Option(flags, description).choices(choices).default(choices[0]);
}

/** For options that may be given several times. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value];

export { InvalidArgumentError };

/** An option whose value may be left out takes no word that cannot be its value: `--dry-run node-1` names a node. */
export function fillIn(args: readonly string[], presets: Record<string, { value: string; fits: RegExp }>): string[] {
  return args.map((word, at) => {
    const preset = Object.hasOwn(presets, word) ? presets[word] : undefined;
    const isAlone = preset !== undefined && !preset.fits.test(args[at + 1] ?? '');
    return isAlone ? `${word}${word.startsWith('--') ? '=' : ''}${preset.value}` : word;
  });
}

export async function runVerb(command: Command, args: string[]): Promise<void> {
  try {
    await command.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = complain(error);
  }
}

export function withExamples(command: Command, examples: readonly (readonly [line: string, what: string])[]): Command {
  const lines = examples.map(([line, what]) => `  # ${what}\n  ${line}`).join('\n');
  return command.addHelpText('after', `\nExamples:\n${lines}`);
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('Must be a whole number of at least 1.');
  return Number(text);
}

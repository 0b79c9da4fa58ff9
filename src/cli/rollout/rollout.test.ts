/** The help of `relet rollout`, as a terminal of 80 columns shows it. */
import { expect, test } from 'vitest';
import { rolloutVerb } from './rollout.js';

test.each(rolloutVerb().commands.map((command) => [command.name(), command] as const))(
  'the help of rollout %s fits 80 columns and names a format for programs',
  (_name, command) => {
    const lines: string[] = [];
    command.configureOutput({ writeOut: (text) => lines.push(text), getOutHelpWidth: () => 80 }).outputHelp();
    const help = lines.join('');
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(help).toMatch(/-o, --output <FORMAT> [^-]*"json",\s+"yaml"/);
  },
);

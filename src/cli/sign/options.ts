/** Options of the statement, the same for every command that signs. */
import type { Command } from 'commander';
import { countedAnnotations } from '../../api/signing.js';
import { InvalidArgumentError, parseTime } from '../command-line.js';

export function addStatementOptions(command: Command): Command {
  return command
    .option('--pools <POOL,...>', 'pools of hosts that may start it (default: as signed before)', (text) =>
      text.split(',').filter((pool) => pool !== ''),
    )
    .option('--serial <N>', 'number of this config; hosts reject lower ones (default: UTC seconds)', parseWhole)
    .option('--floor <N>', 'lowest serial to return to (default: that of the config that it replaces)', parseWhole)
    .option('--no-return', 'no return to earlier configs: the floor is its own serial')
    .option('--not-before <TIME>', 'not started earlier, as 2026-01-31T22:00:00Z or 1h from now', parseMoment)
    .option('--not-after <TIME>', 'not started for the first time later, as a date or 720h from now', parseMoment)
    .option(
      '--annotation <NAME=VALUE>',
      'an annotation that loosens checks, such as relet.dev/allow-fields=…',
      collectAnnotation,
    );
}

export const keyFileOption = [
  '-f, --key-file <FILE>',
  'SSH key to sign with; a public one where an agent or a security key has the private one',
] as const;

function parseWhole(text: string): number {
  if (!/^(0|[1-9]\d{0,14})$/.test(text)) throw new InvalidArgumentError('Must be a whole number.');
  return Number(text);
}

/** UTC seconds. */
function parseMoment(text: string): number {
  if (!/^\d{4}-\d\d-\d\d/.test(text)) return Math.floor((Date.now() + parseTime(text)) / 1000);
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new InvalidArgumentError('Write it as 2026-01-31T22:00:00Z, or as 720h.');
  return Math.floor(ms / 1000);
}

function collectAnnotation(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  const name = text.slice(0, at);
  if (at < 1 || !countedAnnotations.includes(name))
    throw new InvalidArgumentError(`Must be NAME=VALUE, with NAME one of ${countedAnnotations.join(', ')}.`);
  return { ...before, [name]: text.slice(at + 1) };
}

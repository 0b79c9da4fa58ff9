/** `relet rollout`: the rollouts of sets (NodeConfigSet). The verbs of `kubectl rollout`, and those that a rollout in waves needs. */
import { type Command, Option } from 'commander';
import {
  addConnectionFlags,
  fillIn,
  oneOf,
  parseCount,
  parseTime,
  presets,
  runVerb,
  verb,
  withExamples,
} from '../command-line.js';

export const run = (args: string[]): Promise<void> => runVerb(rolloutVerb(), fillIn(args, presets));

export function rolloutVerb(): Command {
  const rollout = verb(
    'relet rollout',
    'Follow, steer and preview the rollouts of sets (NodeConfigSet), which continue without a terminal.',
  );
  const add = (name: string, description: string) => rollout.command(name).description(description);
  const json = () => new Option('-o, --output <FORMAT>', 'json: the result, for a program').choices(['json']);
  const why = (command: Command) => command.option('-m, --why <TEXT>', 'a reason, kept with the request');

  withExamples(
    add('status', 'Show where a rollout is, its waves, its expected end and the nodes in trouble')
      .argument('[SET]', 'set; all in a table when left out')
      .option('-w, --watch', 'follow it until it is complete or has stopped')
      .addOption(new Option('--timeout <TIME>', 'with --watch: give up after (default: never)').argParser(parseTime))
      .addOption(json())
      .addHelpText(
        'after',
        '\nExit codes: 0 complete, 1 stopped (halted, aborted, rolled back …), 2 could not\nrun, 3 not complete yet; with --watch: timed out.',
      )
      .action(async (set, options) => (await import('./status.js')).status(set, options)),
    [
      ['relet rollout status gpu', 'once'],
      ['relet rollout status gpu -w --timeout 2h', 'in a pipeline: until it is complete or has stopped'],
    ],
  );

  add('history', 'Show the revisions of a set, and how each ended')
    .argument('<SET>', 'set')
    .addOption(oneOf('-o, --output <FORMAT>', 'how it is written', ['text', 'json']))
    .action(async (set, options) => (await import('./history.js')).history(set, options));

  withExamples(
    add('plan', 'Preview what a set would do: waves, difference, impact, duration. Changes nothing')
      .argument('<FILE|SET>', "manifest of a NodeConfigSet ('-' is standard input), or a set in the cluster")
      .addOption(
        new Option('--trial <TIME>', 'how long a trial takes, for the expected duration')
          .argParser(parseTime)
          .default(600_000, '10m'),
      )
      .addOption(json())
      .addHelpText('after', '\nExit codes: 0 it would roll out, 1 it would be stalled, 2 could not run.')
      .action(async (word, options) => (await import('./plan.js')).plan(word, options)),
    [
      ['relet rollout plan set.yaml', 'before it is applied or merged'],
      ['relet rollout plan gpu', 'what is left of it, from now on'],
    ],
  );

  add('pause', 'Change no further node: spec.paused')
    .argument('<SET>', 'set')
    .addOption(json())
    .action(async (set, options) => (await import('./pause.js')).pause(set, options));
  add('resume', 'Continue after a pause')
    .argument('<SET>', 'set')
    .addOption(json())
    .action(async (set, options) => (await import('./pause.js')).resume(set, options));

  withExamples(
    add('approve', 'Let the wave after the one that waits start')
      .alias('promote')
      .argument('<SET>', 'set')
      .option('--wave <WAVE>', 'all waves up to this one (default: the one that waits)', parseCount)
      .option('--revision <NAME>', 'only if this revision is being rolled out')
      .option('--full', 'all waves of the revision')
      .option('-y, --yes', 'do not ask')
      .addOption(json())
      .action(async (set, options) => (await import('./requests.js')).approve(set, options)),
    [['relet rollout approve gpu --wave 1 --yes', 'from a script']],
  );

  why(
    add('abort', 'Stop a rollout for good; nodes keep what they have')
      .argument('<SET>', 'set')
      .option('-y, --yes', 'as with the other verbs; an abort never asks'),
  )
    .addOption(json())
    .action(async (set, options) => (await import('./requests.js')).abort(set, options));
  why(
    add('retry', 'Roll out again what was halted, aborted or undone')
      .argument('<SET>', 'set')
      .option('-y, --yes', 'do not ask'),
  )
    .addOption(json())
    .action(async (set, options) => (await import('./requests.js')).retry(set, options));
  why(
    add('undo', 'Take the revision back from all nodes that have it')
      .argument('<SET>', 'set')
      .option('-y, --yes', 'do not ask'),
  )
    .addOption(json())
    .action(async (set, options) => (await import('./requests.js')).undo(set, options));

  withExamples(
    add('adopt', 'Give nodes to a set that were assigned their config by hand or by an earlier relet')
      .argument('<SET>', 'set')
      .argument('[NODE...]', 'nodes; all that the set selects when left out')
      .option('-y, --yes', 'do not ask')
      .addOption(json())
      .action(async (set, nodes, options) => (await import('./adopt.js')).adopt(set, nodes, options)),
    [['relet rollout adopt gpu', 'shows the nodes and asks first']],
  );

  for (const command of rollout.commands) addConnectionFlags(command);
  return rollout;
}

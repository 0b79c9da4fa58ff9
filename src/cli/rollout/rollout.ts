/**
 * `relet rollout`: declares the verbs for rollouts of sets (NodeConfigSet): those of `kubectl rollout`, and those for rollouts in
 * waves.
 */
import { type Command, Option } from 'commander';
import { isSignalName, signals } from '../../api/signals.js';
import type { Harm } from '../../rehearsal/observations.js';
import {
  addConnectionFlags,
  dryRunOption,
  fillIn,
  InvalidArgumentError,
  parseCount,
  parseKubeletVersion,
  parseShare,
  parseTime,
  presets,
  runVerb,
  verb,
  withExamples,
} from '../command-line.js';
import { addStatementOptions, keyFileOption } from '../sign/options.js';

export const run = (args: string[]): Promise<void> => runVerb(rolloutVerb(), fillIn(args, presets));

export function rolloutVerb(): Command {
  const rollout = verb(
    'relet rollout',
    'Preview, rehearse, follow and steer the rollouts of sets (NodeConfigSet), which continue without a terminal.',
  );
  const add = (name: string, description: string) => rollout.command(name).description(description);
  const result = () =>
    new Option('-o, --output <FORMAT>', 'the result, for a program').choices(['json', 'yaml', 'name']);
  const shown = () =>
    new Option('-o, --output <FORMAT>', 'wide: nothing is cut or left out; others: for a program').choices([
      'wide',
      'json',
      'yaml',
      'name',
    ]);
  const revision = () => new Option('--revision <REVISION>', 'only if this revision is being rolled out');
  /** Each verb that changes a rollout has these. */
  const why = (command: Command) =>
    command.option('-m, --why <TEXT>', 'a reason, kept in the history of the set').addOption(dryRunOption());

  withExamples(
    add('status', 'Show where a rollout is, its waves, its expected end and the nodes in trouble')
      .argument('[SET]', 'set; all in a table when left out')
      .option('-w, --watch', 'follow it until it is complete or has stopped')
      .addOption(new Option('--timeout <TIME>', 'with --watch: give up after (default: never)').argParser(parseTime))
      .addOption(shown())
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

  add('history', 'Show the revisions of a set, how each ended, and who did what')
    .argument('<SET>', 'name of a set')
    .addOption(shown())
    .action(async (set, options) => (await import('./history.js')).history(set, options));

  add('analyze', 'Show how the nodes of each wave did, compared with nodes without the change')
    .argument('<SET>', 'name of a set with strategy.analysis')
    .addOption(shown())
    .action(async (set, options) => (await import('./analyze.js')).analyze(set, options));

  withExamples(
    add('plan', 'Preview what a set would do: waves, difference, impact, duration. Changes nothing')
      .argument('<FILE|SET>', "manifest of a NodeConfigSet ('-' is standard input), or a set in the cluster")
      .addOption(new Option('--trial <TIME>', 'how long a trial takes (default: as nodes report)').argParser(parseTime))
      .addOption(shown())
      .addHelpText('after', '\nExit codes: 0 it would roll out, 1 it would be stalled or rejected, 2 could not\nrun.')
      .action(async (word, options) => (await import('./plan.js')).plan(word, options)),
    [
      ['relet rollout plan set.yaml', 'before it is applied or merged'],
      ['relet rollout plan gpu', 'what is left of it, from now on'],
    ],
  );

  withExamples(
    add('rehearse', 'Run a rollout on a copy of the nodes, in this process, and show what happens and when')
      .argument('<FILE|SET>', "manifest of a NodeConfigSet ('-' is standard input), or a set in the cluster")
      .option('--from-cluster', 'copy the nodes of the cluster, which is only read (the default)')
      .option('--nodes <FILE>', "copy the nodes in a file, of 'kubectl get nodes,nodeconfigs -o json'")
      .option('--count <N>', 'that many nodes with the labels that the set selects', parseNodeCount)
      .addOption(
        new Option('--kubelet-version <VERSION>', 'with --count: their kubelets').argParser(parseKubeletVersion),
      )
      .option('--local <FILE>', 'local config of nodes that report none')
      .option('--seed <SEED>', 'what happens by chance; the same seed, the same story', '1')
      .option('--seeds <N>', 'rehearse with that many seeds, and show the spread', parseCount)
      .option('--fail <NODES>', 'the new config fails on: 2%, 3, or names with commas', parseChosen)
      .option('--slow <NODES>', 'kubelets that take 30 to 50 s to be healthy', parseChosen)
      .option('--not-ready <NODES>', 'nodes that are not Ready', parseChosen)
      .option('--worse <SIGNAL=FACTOR[@N%]>', 'nodes with the change do worse: podStartSeconds=1.5@30%', parseHarm)
      .option('--controller-crashes', 'kill the controller every 5 to 25 minutes')
      .option('--api-outages', 'take the API server away every 5 to 25 minutes')
      .addOption(new Option('--trial <TIME>', 'how long a trial takes (default: as nodes report)').argParser(parseTime))
      .addOption(
        new Option('--approve-after <TIME>', 'when a wave that waits for approval gets it')
          .argParser(parseTime)
          .default(0, 'at once'),
      )
      .addOption(new Option('--start <TIME>', 'when it starts, for windows (default: now)').argParser(parseDate))
      .addOption(new Option('--until <TIME>', 'wait no longer').argParser(parseTime).default(21_600_000, '6h'))
      .addOption(
        new Option('--progress <HOW>', 'on standard error: lines of JSON for a program, or none').choices([
          'json',
          'none',
        ]),
      )
      .addOption(new Option('-o, --output <FORMAT>', 'the result, for a program').choices(['json', 'yaml']))
      .option('--html <FILE>', 'write a page with the timeline')
      .addHelpText('after', '\nExit codes: 0 it completes, 1 it stops, 2 could not run, 3 neither within\n--until.')
      .action(async (word, options) => (await import('./rehearse.js')).rehearseVerb(word, options)),
    [
      ['relet rollout rehearse set.yaml', 'before it is applied or merged'],
      ['relet rollout rehearse set.yaml --count 500 --fail 2% --seeds 20', 'without a cluster, with failures'],
    ],
  );

  why(add('pause', 'Change no further node: spec.paused').argument('<SET>', 'name of a set'))
    .addOption(result())
    .action(async (set, options) => (await import('./pause.js')).pause(set, options));
  why(add('resume', 'Continue after a pause').argument('<SET>', 'name of a set'))
    .addOption(result())
    .action(async (set, options) => (await import('./pause.js')).resume(set, options));

  withExamples(
    why(
      add('approve', 'Let the wave after the one that waits start')
        .alias('promote')
        .argument('<SET>', 'name of a set')
        .option('--wave <WAVE>', 'all waves up to this one (default: the one that waits)', parseCount)
        .addOption(revision())
        .option('--full', 'all waves of the revision')
        .option('-y, --yes', 'do not ask'),
    )
      .addOption(result())
      .action(async (set, options) => (await import('./requests.js')).approve(set, options)),
    [
      ['relet rollout approve gpu', 'shows what follows until the next stop, and asks'],
      ['relet rollout approve gpu --wave 1 --yes', 'from a script'],
    ],
  );

  why(
    add('abort', 'Stop a rollout for good; nodes keep what they have')
      .argument('<SET>', 'name of a set')
      .addOption(revision())
      .option('-y, --yes', 'as with the other verbs; an abort never asks'),
  )
    .addOption(result())
    .action(async (set, options) => (await import('./requests.js')).abort(set, options));
  why(
    add('retry', 'Roll out again what was halted, aborted or undone')
      .argument('<SET>', 'name of a set')
      .addOption(revision())
      .option('-y, --yes', 'do not ask'),
  )
    .addOption(result())
    .action(async (set, options) => (await import('./requests.js')).retry(set, options));
  why(
    add('undo', 'Take the revision back from all nodes that have it')
      .argument('<SET>', 'name of a set')
      .addOption(revision())
      .option('-y, --yes', 'do not ask'),
  )
    .addOption(result())
    .action(async (set, options) => (await import('./requests.js')).undo(set, options));

  withExamples(
    addStatementOptions(
      add('sign', 'Sign the config of a set, in its manifest or in the cluster; adds to signatures that are there')
        .argument('<FILE|SET>', 'manifest of a NodeConfigSet, which is written again, or a set in the cluster')
        .requiredOption(...keyFileOption),
    )
      .addOption(result())
      .action(async (word, options) => (await import('./sign.js')).signSet(word, options)),
    [
      [
        'relet rollout sign set.yaml -f ~/.ssh/id_ed25519_sk --pools gpu',
        'before it is committed; then the next person',
      ],
      ['relet rollout sign gpu -f ~/.ssh/id_ed25519_sk --not-after 2160h', 'renews it; no kubelet restarts'],
    ],
  );

  withExamples(
    add('adopt', 'Give nodes to a set that were assigned their config by hand or by an earlier relet')
      .argument('<SET>', 'name of a set')
      .argument('[NODE...]', 'nodes; all that the set selects when left out')
      .option('-m, --why <TEXT>', 'a reason, kept in the history of each node')
      .addOption(dryRunOption())
      .option('-y, --yes', 'do not ask')
      .addOption(result())
      .action(async (set, nodes, options) => (await import('./adopt.js')).adopt(set, nodes, options)),
    [['relet rollout adopt gpu', 'shows the nodes and asks first']],
  );

  for (const command of rollout.commands) addConnectionFlags(command);
  return rollout;
}

/** More than any cluster has; they must fit into the memory of one process. */
const mostNodes = 20_000;

function parseNodeCount(text: string): number {
  const count = parseCount(text);
  if (count > mostNodes) throw new InvalidArgumentError(`Must be at most ${mostNodes}.`);
  return count;
}

/** `2%`, `3`, or names. */
function parseChosen(text: string): number | string | string[] {
  if (/^\d+%?$/.test(text)) return parseShare(text);
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => /^[a-z0-9][a-z0-9.-]*$/.test(name))) return names;
  throw new InvalidArgumentError('Must be a percentage such as 2%, a number of nodes, or names with commas.');
}

/** Several times. */
function parseHarm(text: string, before: Harm[] = []): Harm[] {
  const [, signal = '', factor, percent = '100'] = /^(\w+)=(\d+(?:\.\d+)?)(?:@(\d{1,3})%)?$/.exec(text) ?? [];
  if (factor === undefined || Number(percent) > 100)
    throw new InvalidArgumentError('Write it as podStartSeconds=1.5, or podStartSeconds=1.5@30%.');
  if (!isSignalName(signal))
    throw new InvalidArgumentError(`'${signal}' is not a signal; signals are ${Object.keys(signals).join(', ')}.`);
  return [...before, { signal, factor: Number(factor), share: Number(percent) / 100 }];
}

function parseDate(text: string): number {
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new InvalidArgumentError('Write it as 2026-01-31T22:00:00Z.');
  return ms;
}

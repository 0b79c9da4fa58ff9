/** The verbs that only look, as they stand on the command line. Their work is imported when they run, so that help is quick. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { fillIn, oneOf, runVerb, verb } from '../command-line.js';
import { addConnectionFlags, parseTime, presets } from '../connection-flags.js';

export const lookCommands: Record<string, () => Command> = {
  get: () =>
    withExamples(
      verb('relet get', 'The nodes and their configs at a glance.')
        .argument('[NODE...]', 'nodes; all when left out')
        .option('-o, --output <FORMAT>', 'wide, json, yaml, name, jsonpath=…, custom-columns=…')
        .option('-l, --selector <LABELS>', 'only nodes with these labels, as in pool=blue')
        .option('-w, --watch', 'keep watching and print changes')
        .option('--sort-by <WHAT>', 'name, state, age, version, assigned, active, error or a JSONPath')
        .option('--no-headers', 'print no titles')
        .option('--show-labels', 'print labels in the last column')
        .action(async (names, options) => (await import('./get.js')).get(names, options)),
      [
        ['relet get', 'all nodes'],
        ['relet get -l pool=blue -w', 'some of them, as they change'],
        ['relet get node-1 -o yaml', 'one, for a program'],
        ['relet get -o custom-columns=N:.metadata.name,S:.status.state', 'columns of your own'],
      ],
    ),

  describe: () =>
    withExamples(
      verb('relet describe', "Everything about one node's config, and the next step to take.")
        .argument('<NODE>', 'node')
        .action(async (name, options) => (await import('./describe.js')).describe(name, options)),
      [['relet describe node-1', 'with the last changes and events']],
    ),

  view: () =>
    withExamples(
      verb('relet view', "Print one of a node's configs.")
        .argument('<NODE>', 'node')
        .option('--effective', 'what its kubelet runs with, flags included (default)')
        .option('--assigned', 'what it was assigned')
        .option('--active', 'what it runs, without flags')
        .option('--last-known-good', 'what it falls back to')
        .option('--local', 'its own file; only the host has it, so this prints where to look')
        .addOption(new Option('-o, --output <FORMAT>', 'json').choices(['json']))
        .action(async (name, options) => (await import('./view.js')).view(name, options)),
      [
        ['relet view node-1', 'what its kubelet runs with now'],
        ['relet view node-1 --last-known-good > good.yaml', 'what it would fall back to'],
      ],
    ),

  diff: () =>
    withExamples(
      verb('relet diff', 'Compare what a node runs with something else, by meaning.')
        .argument('<NODE>', 'node')
        .argument('[OTHER]', 'file, ConfigMap or other node; what the node was assigned when left out')
        .option('--key <KEY>', 'key of the ConfigMap')
        .addOption(oneOf('-o, --output <FORMAT>', 'how the difference is written', ['text', 'json']))
        .addHelpText('after', '\nExit codes: 0 no difference, 1 a difference, 2 could not compare.')
        .action(async (name, other, options) => (await import('./diff.js')).diff(name, other, options)),
      [
        ['relet diff node-1 kubelet.yaml', 'with a file'],
        ['relet diff node-1 node/node-2', 'with another node'],
        ['relet diff node-1 configmap/kubelet-config-5t8b9kd2m4', 'with a ConfigMap'],
      ],
    ),

  history: () =>
    withExamples(
      verb('relet history', 'The last 10 changes of a node: who, when, to what, why.')
        .argument('<NODE>', 'node')
        .addOption(oneOf('-o, --output <FORMAT>', 'how it is written', ['text', 'json']))
        .action(async (name, options) => (await import('./history.js')).history(name, options)),
      [['relet history node-1', "'relet undo node-1 --to 3' goes to revision 3"]],
    ),

  wait: () =>
    withExamples(
      verb('relet wait', 'Wait until nodes run what they were assigned.')
        .argument('[NODE...]', 'nodes')
        .addOption(
          oneOf('--for <GOAL>', 'active, lastKnownGood, or ok: active and without error', [
            'active',
            'lastKnownGood',
            'ok',
          ]),
        )
        .addOption(new Option('--timeout <TIME>', 'give up after').argParser(parseTime).default(300_000, '5m'))
        .option('-l, --selector <LABELS>', 'nodes with these labels')
        .option('--all', 'all nodes')
        .addOption(new Option('-o, --output <FORMAT>', 'json: the state of each node').choices(['json']))
        .addHelpText(
          'after',
          '\nExit codes: 0 all nodes got there, 1 a node cannot get there (rejected or rolled\nback), 2 could not run, 3 timed out.',
        )
        .action(async (names, options) => (await import('./wait.js')).wait(names, options)),
      [
        ['relet wait node-1 --for=lastKnownGood --timeout=15m', 'until its trial is over'],
        ['relet wait --all --for=ok', 'until the whole fleet is healthy'],
      ],
    ),

  doctor: () =>
    withExamples(
      verb('relet doctor', 'Check for common problems and suggest fixes. Changes nothing.')
        .argument('[NODE]', 'check only this node')
        .addOption(oneOf('-o, --output <FORMAT>', 'how it is written', ['text', 'json']))
        .addHelpText('after', '\nExit codes: 0 no errors, 1 errors, 2 could not check everything.')
        .action(async (name, options) => (await import('../doctor/doctor.js')).doctor(name, options)),
      [
        ['relet doctor', 'the cluster and all nodes'],
        ['relet doctor node-1 --as system:serviceaccount:ci:deployer', 'as somebody else'],
      ],
    ),
};

const runner = (name: string) => (args: string[]) => {
  const command = lookCommands[name]!();
  addConnectionFlags(command);
  return runVerb(command, fillIn(args, presets));
};

export const runners = Object.fromEntries(Object.keys(lookCommands).map((name) => [name, { run: runner(name) }]));

export function withExamples(command: Command, examples: readonly (readonly [line: string, what: string])[]): Command {
  const lines = examples.map(([line, what]) => `  # ${what}\n  ${line}`).join('\n');
  return command.addHelpText('after', `\nExamples:\n${lines}`);
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('Must be a whole number of at least 1.');
  return Number(text);
}

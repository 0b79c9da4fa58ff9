/** The verbs that change something, as they stand on the command line. Their work is imported when they run. */
import { type Command, Option } from 'commander';
import { fillIn, runVerb, verb } from '../command-line.js';
import { addConnectionFlags, parseTime, presets } from '../connection-flags.js';
import { kubeletVersionOption } from '../kubelet-version.js';
import { parseCount, withExamples } from '../look/verbs-that-look.js';

export const changeCommands: Record<string, () => Command> = {
  edit: () =>
    withExamples(
      changing(
        verb('relet edit', 'Change what a node is assigned, in an editor ($KUBE_EDITOR, $EDITOR, vi).').argument(
          '<NODE>',
          'node',
        ),
        ['name', 'key'],
      ).action(async (name, options) => (await import('./edit.js')).edit(name, options)),
      [
        ['relet edit node-1', 'shows the difference and asks before it changes anything'],
        ["KUBE_EDITOR='code --wait' relet edit node-1 -m 'more pods'", 'another editor, with a reason'],
      ],
    ),

  set: () =>
    withExamples(
      changing(
        verb('relet set', 'Change fields of what nodes are assigned.')
          .argument('<NODE|FIELD=VALUE...>', 'nodes, and fields to set; FIELD- restores the default')
          .usage('[options] NODE...|--selector LABELS|--all FIELD=VALUE...'),
        ['many', 'name', 'key'],
      ).action(async (words, options) => (await import('./set.js')).set(words, options)),
      [
        ['relet set node-1 maxPods=150 evictionHard.memory.available=200Mi', 'two fields of one node'],
        ["relet set -l pool=blue containerLogMaxSize=50Mi --yes -m 'full disks'", 'many nodes, one at a time'],
        ['relet set node-1 maxPods- clusterDNS=10.0.0.10,10.0.0.11 --dry-run=server', 'only preview it'],
      ],
    ),

  push: () =>
    withExamples(
      verb('relet push', 'Store a config as an immutable ConfigMap, named by its content.')
        .argument('<FILE>', "KubeletConfiguration, YAML or JSON; '-' is standard input")
        .option('--name <NAME>', 'before the hash', 'kubelet-config')
        .option('--key <KEY>', 'key in the ConfigMap', 'kubelet')
        .addOption(kubeletVersionOption())
        .option('--no-validate', 'store it without validating it')
        .addOption(dryRunOption())
        .addOption(new Option('-o, --output <FORMAT>', 'name or json').choices(['name', 'json']))
        .action(async (file, options) => (await import('./push.js')).push(file, options)),
      [
        ['relet push kubelet.yaml', "named as 'kubectl create configmap --append-hash' would"],
        ['relet assign $(relet push kubelet.yaml -o name) node-1', 'and use it'],
      ],
    ),

  assign: () =>
    withExamples(
      changing(
        verb('relet assign', 'Assign a stored config to nodes.')
          .argument('<CONFIGMAP>', 'NAME or NAMESPACE/NAME')
          .argument('[NODE...]', 'nodes')
          .option('--no-validate', 'leave validation to the node'),
        ['many', 'key'],
      ).action(async (configMap, names, options) => (await import('./assign.js')).assign(configMap, names, options)),
      [
        ['relet assign kubelet-config-5t8b9kd2m4 node-1 node-2', 'one node after the other'],
        ['relet assign kubelet-config-5t8b9kd2m4 -l pool=blue --max-unavailable 3', 'three at a time'],
      ],
    ),

  reset: () =>
    withExamples(
      changing(verb('relet reset', 'Return nodes to their local config.').argument('[NODE...]', 'nodes'), [
        'many',
      ]).action(async (names, options) => (await import('./reset.js')).reset(names, options)),
      [['relet reset node-1', 'what the kubelet was installed with']],
    ),

  undo: () =>
    withExamples(
      changing(
        verb('relet undo', 'Undo the last change of a node.')
          .argument('<NODE>', 'node')
          .option('--to <NUMBER>', "go to what this revision of 'relet history' set", parseCount),
        [],
      ).action(async (name, options) => (await import('./undo.js')).undo(name, options)),
      [
        ['relet undo node-1', 'run it twice to return to where you were'],
        ['relet undo node-1 --to 3', "to what revision 3 of 'relet history node-1' set"],
      ],
    ),

  gc: () =>
    withExamples(
      verb('relet gc', 'Remove ConfigMaps of relet that no node uses or has in its history. Asks first.')
        .addOption(new Option('--min-age <TIME>', 'keep younger ones').argParser(parseTime).default(3_600_000, '1h'))
        .option('--history', "also remove those that only the history of nodes names, for 'relet undo'")
        .addOption(new Option('-o, --output <FORMAT>', 'json: why each is kept or removed').choices(['json']))
        .addOption(dryRunOption())
        .option('-y, --yes', 'do not ask')
        .action(async (options) => (await import('./gc.js')).gc(options)),
      [
        ['relet gc --dry-run', 'preview only'],
        ['relet gc -n relet-system --yes', 'in one namespace, from a script'],
      ],
    ),
};

/** `--dry-run` alone means the client's, as with kubectl. */
const dryRunOption = (): Option =>
  new Option(
    '--dry-run [HOW]',
    "preview only; 'server' also validates on the API server (client when left out)",
  ).choices(['none', 'client', 'server']);

function changing(command: Command, parts: ('many' | 'name' | 'key')[]): Command {
  if (parts.includes('many'))
    command.option('-l, --selector <LABELS>', 'nodes with these labels').option('--all', 'all nodes');
  command
    .option('-y, --yes', 'do not ask')
    .addOption(dryRunOption())
    .option('-m, --why <TEXT>', 'a reason, kept in the history')
    .option('--no-wait', 'do not wait until it is active')
    .addOption(
      new Option('-o, --output <FORMAT>', 'json: the result of each node; name: the nodes that are done').choices([
        'json',
        'name',
      ]),
    )
    .addOption(new Option('--timeout <TIME>', 'longest wait for a node').argParser(parseTime).default(300_000, '5m'));
  if (parts.includes('many')) command.option('--max-unavailable <N>', 'nodes changed at the same time', parseCount, 1);
  else command.addOption(new Option('--max-unavailable <N>').argParser(parseCount).default(1).hideHelp());
  if (parts.includes('name'))
    command.option('--name <NAME>', 'of the new ConfigMap, before its hash', 'kubelet-config');
  if (parts.includes('key')) command.option('--key <KEY>', 'key in the ConfigMap');
  return command.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 rejected, rolled back or declined, 2 could not run,\n3 timed out.',
  );
}

const runner = (name: string) => (args: string[]) => {
  const command = changeCommands[name]!();
  addConnectionFlags(command);
  return runVerb(command, fillIn(args, presets));
};

export const runners = Object.fromEntries(Object.keys(changeCommands).map((name) => [name, { run: runner(name) }]));

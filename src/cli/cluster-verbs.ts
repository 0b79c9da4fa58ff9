/**
 * Declarations of the verbs that work with a cluster: arguments, options, help. Help and completion need only these; the implementation
 * of a verb is imported when it runs, so that help is fast.
 */
import { type Command, Option } from 'commander';
import { impacts } from '../api/node-annotations.js';
import { CannotRun } from '../cannot-run.js';
import {
  addConnectionFlags,
  collect,
  dryRunOption,
  fillIn,
  InvalidArgumentError,
  kubeletVersionOption,
  oneOf,
  parseAccepted,
  parseCount,
  parseKubeletVersion,
  parseShare,
  parseTime,
  presets,
  runVerb,
  verb,
  withExamples,
} from './command-line.js';
import { addStatementOptions } from './sign/options.js';

/** As in src/audit/export.ts, which is loaded only by the export. */
const exportFormats = ['openshift', 'talos', 'eks', 'karpenter', 'kubeadm', 'k3s', 'rke2'];

/** As in src/audit/audit.ts, which is loaded only by the audit. */
const failLevels = ['low', 'medium', 'high', 'cannot-tell', 'none'] as const;

const declarations: Record<string, () => Command> = {
  inventory: () => {
    const command = withExamples(
      ofFleet(
        verb('relet inventory', 'Which values of each field exist, on how many nodes, and from where.').argument(
          '[NODE...]',
          'nodes; all when left out',
        ),
      )
        .addOption(oneOf('-o, --output <FORMAT>', 'how it is written', ['table', 'wide', 'json', 'yaml', 'html']))
        .option('--field <GLOB>', "only fields that match, as in 'eviction*', also where they have their default")
        .option('--save <DIR>', 'write a file for each distinct config, and an index: for Git, and for --from')
        .action(async (names, options) => (await import('./look/inventory.js')).inventory(names, options)),
      [
        ['relet inventory', 'all nodes; needs no agent'],
        ["relet inventory --field 'eviction*' -l pool=blue", 'some fields of some nodes'],
        ['relet inventory --save fleet && git -C fleet commit -am today', 'a history of the fleet'],
        ['relet inventory diff monday friday', 'what changed between two of them'],
      ],
    );
    command
      .command('diff')
      .description('Compare two saved inventories')
      .argument('<A>', 'directory of --save')
      .argument('<B>', 'directory of --save')
      .addOption(oneOf('-o, --output <FORMAT>', 'how the difference is written', ['text', 'json']))
      .addHelpText('after', '\nExit codes: 0 no difference, 1 a difference, 2 could not compare.')
      .action(async (a, b, options) => (await import('./look/inventory.js')).inventoryDiff(a, b, options));
    return command;
  },

  audit: () =>
    withExamples(
      ofFleet(
        verb('relet audit', 'Check what kubelets run with against benchmarks: CIS, STIG, NSA/CISA.').argument(
          '[FILE|NODE...]',
          'configs, or nodes; all nodes when left out',
        ),
      )
        .addOption(oneOf('-o, --output <FORMAT>', 'how it is written', ['table', 'json', 'sarif', 'junit', 'html']))
        .addOption(oneOf('--fail-on <LEVEL>', 'exit with 1 from this severity on', failLevels))
        .option('--only <NAME,...>', 'cis, stig, nsa, or checks, such as CIS-4.2.1 or V-242391', (text) =>
          text.split(','),
        )
        .option('--waivers <FILE>', 'findings that are accepted, each with a reason and an end')
        .option('--remediate', 'write a set for each pool with all fixes, and name what it leaves out')
        .addOption(kubeletVersionOption())
        .option('--flag <NAME=VALUE>', 'of files: a flag of the kubelet; may be repeated', collect)
        .addHelpText(
          'after',
          '\nExit codes: 0 no finding of that level, 1 findings or an expired waiver,\n2 some nodes could not be read, or could not run.',
        )
        .action(async (words, options) => (await import('./look/audit.js')).auditVerb(words, options)),
      [
        ['relet audit', 'all nodes; needs no agent'],
        ['relet audit -o html > audit.html', 'a page that explains each finding'],
        ['relet audit kubelet.yaml --kubelet-version 1.34 -o sarif', 'a file, for code scanning'],
        ['relet audit --remediate --by pool > sets.yaml', 'one set a pool, for rollout plan and rehearse'],
      ],
    ),

  export: () =>
    withExamples(
      verb('relet export', 'Write an overlay in the format of a system that relet does not change.')
        .argument('<SOURCE>', "file with an overlay, a config or sets ('-' is standard input), set/NAME, or node/NAME")
        .requiredOption('--to <FORMAT>', exportFormats.join(', '), (word) => {
          if (exportFormats.includes(word)) return word;
          throw new InvalidArgumentError(`Choose one of ${exportFormats.join(', ')}.`);
        })
        .option('--name <NAME>', 'of the object; of OpenShift also the pool', 'worker')
        .option(
          '--target-version <VERSION>',
          'of Talos, or of the Kubernetes of k3s and RKE2; the newest when left out',
        )
        .option('--lossy', 'leave out, and name, fields that the target cannot express')
        .action(async (source, options) => (await import('./look/export.js')).exportVerb(source, options)),
      [
        ['relet export overlay.yaml --to openshift --name worker', 'a KubeletConfig for a pool'],
        ['relet audit --remediate | relet export - --to talos --lossy', 'the fixes of an audit'],
        ['relet export node/node-1 --to eks', 'what a node has otherwise than the defaults'],
      ],
    ),

  get: () =>
    withExamples(
      verb('relet get', 'The nodes and their configs at a glance.')
        .argument('[NODE...]', 'nodes; all when left out')
        .option('-o, --output <FORMAT>', 'wide, json, yaml, name, jsonpath=…, custom-columns=…')
        .option('-l, --selector <LABELS>', 'only nodes with these labels, as in pool=blue')
        .option('-w, --watch', 'keep watching and print changes')
        .option('--sort-by <WHAT>', 'name, state, age, version, assigned, active, error, set or a JSONPath')
        .option('--no-headers', 'print no titles')
        .option('--show-labels', 'print labels in the last column')
        .action(async (names, options) => (await import('./look/get.js')).get(names, options)),
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
        .argument('<NODE>', 'name of a node')
        .action(async (name, options) => (await import('./look/describe.js')).describe(name, options)),
      [['relet describe node-1', 'with the last changes and events']],
    ),

  view: () =>
    withExamples(
      verb('relet view', "Print one of a node's configs.")
        .argument('<NODE>', 'name of a node')
        .option('--effective', 'what its kubelet runs with, flags included (default)')
        .option('--assigned', 'what it was assigned')
        .option('--active', 'what it runs, without flags')
        .option('--last-known-good', 'what it falls back to')
        .option('--local', 'its own file, with its drop-ins, as its agent reports it')
        .addOption(new Option('-o, --output <FORMAT>', 'json').choices(['json']))
        .action(async (name, options) => (await import('./look/view.js')).view(name, options)),
      [
        ['relet view node-1', 'what its kubelet runs with now'],
        ['relet view node-1 --last-known-good > good.yaml', 'what it would fall back to'],
      ],
    ),

  diff: () =>
    withExamples(
      verb('relet diff', 'Compare what a node runs with something else, by meaning.')
        .argument('<NODE>', 'name of a node')
        .argument('[OTHER]', 'file, ConfigMap or other node; what the node was assigned when left out')
        .option('--key <KEY>', 'key of the ConfigMap')
        .addOption(oneOf('-o, --output <FORMAT>', 'how the difference is written', ['text', 'json']))
        .addHelpText('after', '\nExit codes: 0 no difference, 1 a difference, 2 could not compare.')
        .action(async (name, other, options) => (await import('./look/diff.js')).diff(name, other, options)),
      [
        ['relet diff node-1 kubelet.yaml', 'with a file'],
        ['relet diff node-1 node/node-2', 'with another node'],
        ['relet diff node-1 configmap/kubelet-config-5t8b9kd2m4', 'with a ConfigMap'],
      ],
    ),

  history: () =>
    withExamples(
      verb('relet history', 'The last 10 changes of a node: who, when, to what, why.')
        .argument('<NODE>', 'name of a node')
        .addOption(oneOf('-o, --output <FORMAT>', 'how it is written', ['text', 'json']))
        .action(async (name, options) => (await import('./look/history.js')).history(name, options)),
      [['relet history node-1', "'relet undo node-1 --to 3' goes to revision 3"]],
    ),

  wait: () =>
    withExamples(
      verb('relet wait', 'Wait until nodes run what they were assigned.')
        .argument('[NODE...]', 'names of nodes')
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
          '\nExit codes: 0 all nodes got there, 1 a node cannot get there (rejected, rolled\nback, or named and deleted), 2 could not run, 3 timed out.',
        )
        .action(async (names, options) => (await import('./look/wait.js')).wait(names, options)),
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
        .action(async (name, options) => (await import('./doctor/doctor.js')).doctor(name, options)),
      [
        ['relet doctor', 'the cluster and all nodes'],
        ['relet doctor node-1 --as system:serviceaccount:ci:deployer', 'as somebody else'],
      ],
    ),

  edit: () =>
    withExamples(
      changing(
        verb('relet edit', 'Change what a node is assigned, in an editor ($KUBE_EDITOR, $EDITOR, vi).')
          .argument('<NODE>', 'name of a node')
          .option('--overlay', 'open a whole config as an overlay'),
        ['drain', 'name', 'key'],
      ).action(async (name, options) => (await import('./change/edit.js')).edit(name, options)),
      [
        ['relet edit node-1', 'shows the difference and asks before it changes anything'],
        ["KUBE_EDITOR='code --wait' relet edit node-1 -m 'more pods'", 'another editor, with a reason'],
      ],
    ),

  set: () =>
    withExamples(
      changing(
        verb('relet set', 'Change fields of what nodes are assigned.')
          .argument('<NODE|FIELD=VALUE...>', 'nodes, and fields to set; FIELD- leaves a field to the local config')
          .usage('[options] NODE...|--selector LABELS|--all FIELD=VALUE...')
          .option(
            '--unset <FIELD>',
            "the kubelet's default, not the value of the local config; may be repeated",
            collect,
          )
          .option('--overlay', 'make an overlay of a whole config first'),
        ['many', 'set', 'drain', 'name', 'key'],
      ).action(async (words, options) =>
        options.asSet === undefined
          ? (await import('./change/set.js')).set(words, withoutYaml(options))
          : (await import('./rollout/as-set.js')).setAsSet(words, withoutDrain(options)),
      ),
      [
        ['relet set node-1 maxPods=150 evictionHard.memory.available=200Mi', 'two fields of one node'],
        ["relet set -l pool=blue containerLogMaxSize=50Mi --yes -m 'full disks'", 'many nodes, one at a time'],
        ['relet set node-1 maxPods- clusterDNS=10.0.0.10,10.0.0.11 --dry-run=server', 'only preview it'],
        ['relet set node-1 cpuManagerPolicy=static --accept=state-file', 'a change that needs more than a restart'],
        ['relet set -l pool=blue topologyManagerPolicy=restricted --drain', 'drains each node before its change'],
        ['relet set -l pool=gpu --as-set gpu maxPods=150', 'a set: in waves, also for nodes that join later'],
        ['relet set -l pool=gpu --as-set gpu maxPods=150 --dry-run -o yaml > set.yaml', 'the same for Git'],
      ],
    ),

  convert: () =>
    withExamples(
      changing(
        verb('relet convert', 'Make overlays of whole configs: only what differs from the local config is kept.')
          .argument('[NODE...]', 'names of nodes')
          .option('--local <FILE>', 'local config of nodes whose agent does not report it'),
        ['many', 'name', 'key'],
      ).action(async (names, options) => (await import('./change/convert.js')).convert(names, options)),
      [
        ['relet convert node-1', 'shows the difference and asks first'],
        ['relet convert --all --dry-run', 'what would be left of each config'],
      ],
    ),

  push: () =>
    withExamples(
      addStatementOptions(
        verb('relet push', 'Store a config as an immutable ConfigMap, named by its content.').option(
          '--sign <KEY>',
          'sign it with this SSH key; adds to signatures that are there',
        ),
      )
        .argument('<FILE>', "KubeletConfiguration or overlay, YAML or JSON; '-' is standard input")
        .option('--name <NAME>', 'before the hash', 'kubelet-config')
        .option('--key <KEY>', 'key in the ConfigMap', 'kubelet')
        .addOption(
          new Option('--kubelet-version <VERSION>', 'validate for this version, not those of the nodes').argParser(
            parseKubeletVersion,
          ),
        )
        .option('--no-validate', 'store it without validating it')
        .addOption(dryRunOption())
        .addOption(new Option('-o, --output <FORMAT>', 'name or json').choices(['name', 'json']))
        .action(async (file, options) => (await import('./change/push.js')).push(file, options)),
      [
        ['relet push kubelet.yaml', "named as 'kubectl create configmap --append-hash' would"],
        ['relet assign $(relet push kubelet.yaml -o name) node-1', 'and use it'],
        ['relet push kubelet.yaml --sign ~/.ssh/id_ed25519_sk --pools gpu', 'for hosts that need a signature'],
      ],
    ),

  assign: () =>
    withExamples(
      changing(
        verb('relet assign', 'Assign a stored config to nodes.')
          .argument('<CONFIGMAP>', 'NAME or NAMESPACE/NAME')
          .argument('[NODE...]', 'names of nodes')
          .option('--no-validate', 'leave validation to the node'),
        ['many', 'set', 'drain', 'key'],
      ).action(async (configMap, names, options) =>
        options.asSet === undefined
          ? (await import('./change/assign.js')).assign(configMap, names, withoutYaml(options))
          : (await import('./rollout/as-set.js')).assignAsSet(configMap, names, withoutDrain(options)),
      ),
      [
        ['relet assign kubelet-config-5t8b9kd2m4 node-1 node-2', 'one node after the other'],
        ['relet assign kubelet-config-5t8b9kd2m4 -l pool=blue --max-unavailable 3', 'three at a time'],
      ],
    ),

  reset: () =>
    withExamples(
      changing(verb('relet reset', 'Return nodes to their local config.').argument('[NODE...]', 'names of nodes'), [
        'many',
      ]).action(async (names, options) => (await import('./change/assign.js')).reset(names, options)),
      [['relet reset node-1', 'what the kubelet was installed with']],
    ),

  detach: () =>
    withExamples(
      changing(
        verb(
          'relet detach',
          "Return nodes to their local config and remove the agent's files from their hosts, before the agent is uninstalled.",
        )
          .argument('[NODE...]', 'names of nodes')
          .option('--image <IMAGE>', "where the agent is gone: with a pod of this image of relet's on each node")
          .option('--host', 'this host, without the API; as root')
          .option('--unit <NAME>', "the kubelet's unit, for --image and --host; kubelet.service unless given"),
        ['many'],
      ).action(async (names, options) => {
        if (options.host) return (await import('./node/detach-host.js')).detachHost(names, options);
        if (options.image) return (await import('./change/detach-pods.js')).detachWithPods(names, options);
        return (await import('./change/assign.js')).detach(names, options);
      }),
      [
        ['relet detach --all', "one node after the other; then 'helm uninstall'"],
        ['relet detach node-1 --image registry.example/relet:0.1.0', 'after the agent was uninstalled'],
        ['relet detach --host', 'on the host itself'],
        ['relet detach node-1', 'a new assignment attaches it again'],
      ],
    ),

  undo: () =>
    withExamples(
      changing(
        verb('relet undo', 'Undo the last change of a node.')
          .argument('<NODE>', 'name of a node')
          .option('--to <NUMBER>', "go to what this revision of 'relet history' set", parseCount),
        [],
      ).action(async (name, options) => (await import('./change/assign.js')).undo(name, options)),
      [
        ['relet undo node-1', 'run it twice to return to where you were'],
        ['relet undo node-1 --to 3', "to what revision 3 of 'relet history node-1' set"],
      ],
    ),

  release: () =>
    withExamples(
      verb(
        'relet release',
        "Let sets have nodes again: ends a hold of 'relet hold', and gives back nodes that were taken with --take-from-set.",
      )
        .argument('<NODE...>', 'names of nodes')
        .option('-m, --why <TEXT>', 'a reason, kept in the history of each node')
        .addOption(new Option('-o, --output <FORMAT>', 'json: the result, for a program').choices(['json']))
        .action(async (names, options) => (await import('./change/release.js')).release(names, options)),
      [['relet release node-1', 'its set assigns its own config again']],
    ),

  hold: () =>
    withExamples(
      verb(
        'relet hold',
        "Keep sets and commands from changing nodes, through the API, until 'relet release'. What runs there stays.",
      )
        .argument('<NODE...>', 'names of nodes')
        .option('-m, --why <TEXT>', 'a reason, for others')
        .option('-y, --yes', 'replace a hold that is there, without asking')
        .addOption(new Option('-o, --output <FORMAT>', 'json: the result, for a program').choices(['json']))
        .action(async (names, options) => (await import('./change/hold.js')).hold(names, options)),
      [["relet hold node-1 -m 'broken fan'", "shown by 'relet get', 'relet describe' and the status of its set"]],
    ),

  dismiss: () =>
    withExamples(
      verb('relet dismiss', 'Drop what is left to do on hosts after a change: a drain, a state file, a reboot.')
        .argument('<NODE...>', 'names of nodes')
        .action(async (names, options) => (await import('./change/dismiss.js')).dismiss(names, options)),
      [['relet dismiss node-1', 'when it was done in another way, or is not needed']],
    ),

  gc: () =>
    withExamples(
      verb('relet gc', 'Remove ConfigMaps of relet that no node uses or has in its history. Asks first.')
        .addOption(new Option('--min-age <TIME>', 'keep younger ones').argParser(parseTime).default(3_600_000, '1h'))
        .option('--history', "also remove those that only the history of nodes names, for 'relet undo'")
        .addOption(new Option('-o, --output <FORMAT>', 'json: why each is kept or removed').choices(['json']))
        .addOption(dryRunOption())
        .option('-y, --yes', 'do not ask')
        .action(async (options) => (await import('./change/gc.js')).gc(options)),
      [
        ['relet gc --dry-run', 'preview only'],
        ['relet gc -n relet-system --yes', 'in one namespace, from a script'],
      ],
    ),
};

/** Options of commands that read effective configs, of a cluster or of a saved inventory. */
const ofFleet = (command: Command): Command =>
  command
    .option('-l, --selector <LABELS>', 'only nodes with these labels')
    .option('--by <LABEL>', 'the label that names the pools; found from sets, labels and versions when left out')
    .option('--from <DIR>', "read what 'relet inventory --save DIR' wrote, instead of a cluster")
    .addOption(
      new Option('--node-timeout <TIME>', 'longest wait for one kubelet').argParser(parseTime).default(10_000, '10s'),
    );

/** Undefined if there is no such verb. */
export function clusterCommand(name: string): Command | undefined {
  const declare = Object.hasOwn(declarations, name) ? declarations[name] : undefined;
  if (declare === undefined) return undefined;
  const command = declare();
  addConnectionFlags(command);
  return command;
}

export const runClusterVerb = (name: string, args: string[]): Promise<void> =>
  runVerb(clusterCommand(name)!, fillIn(args, presets));

/** Only a set is an object that can be written. */
function withoutYaml<T extends { output?: string }>(options: T): T {
  if (options.output === 'yaml') throw new CannotRun('-o yaml goes with --as-set');
  return options;
}

/** A set has its own rules for that. */
function withoutDrain<T extends { drain?: string }>(options: T): T {
  if (options.drain === undefined) return options;
  throw new CannotRun(
    '--drain does not go with --as-set: a set drains where its change needs it, see strategy.drain in docs/sets.md',
  );
}

function changing(command: Command, parts: ('many' | 'set' | 'drain' | 'name' | 'key')[]): Command {
  if (parts.includes('many'))
    command.option('-l, --selector <LABELS>', 'nodes with these labels').option('--all', 'all nodes');
  command
    .option('-y, --yes', 'do not ask')
    .addOption(
      new Option('--accept <IMPACT,...>', 'accept more than a kubelet restart; several with commas')
        .choices(impacts)
        .argParser(parseAccepted),
    )
    .addOption(dryRunOption())
    .option('--take-from-set', 'also nodes that a set has; the set then leaves them out')
    .option('-m, --why <TEXT>', 'a reason, kept in the history')
    .option('--no-wait', 'do not wait until it is active')
    .addOption(
      parts.includes('set')
        ? new Option(
            '-o, --output <FORMAT>',
            'json: the result of each node; name: the nodes that are done; yaml: with --as-set',
          ).choices(['json', 'name', 'yaml'])
        : new Option('-o, --output <FORMAT>', 'json: the result of each node; name: the nodes that are done').choices([
            'json',
            'name',
          ]),
    )
    .addOption(new Option('--timeout <TIME>', 'longest wait for a node').argParser(parseTime).default(300_000, '5m'));
  if (parts.includes('many'))
    command
      .option('--max-unavailable <N|%>', 'nodes changed at the same time (default: 1)', parseShare)
      .option('--soak <TIME>', 'how long a node must stay active before the next one', parseTime);
  if (parts.includes('set'))
    command.option('--as-set <SET>', 'write a set, which rolls it out in waves and continues without this terminal');
  if (parts.includes('drain'))
    command
      .addOption(
        new Option('--drain [POLICY]', 'cordon and drain nodes before the change, uncordon them afterwards')
          .choices(['WhenNeeded', 'Always', 'Never'])
          .preset('WhenNeeded'),
      )
      .addOption(
        new Option('--drain-timeout <TIME>', 'give up a drain after').argParser(parseTime).default(600_000, '10m'),
      );
  if (parts.includes('name'))
    command
      .option('--name <NAME>', 'of the new ConfigMap, before its hash', 'kubelet-config')
      .option('--sign <KEY>', 'sign the new config with this SSH key, for hosts that need a signature');
  if (parts.includes('key')) command.option('--key <KEY>', 'key in the ConfigMap');
  return command.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 rejected, rolled back or declined, 2 could not run,\n3 timed out.',
  );
}

/** `relet config`: the verbs for config files, for CI and for people. They need no cluster, except for nodes in `upgrade-check`. */
import type { Command } from 'commander';
import { newestMinor } from '../../config/model.js';
import {
  addConnectionFlags,
  collect,
  fillIn,
  kubeletVersionOption,
  oneOf,
  parseKubeletVersion,
  presets,
  runVerb,
  verb,
} from '../command-line.js';
import { addStatementOptions, keyFileOption } from '../sign/options.js';

export const run = (args: string[]): Promise<void> =>
  runVerb(configVerb(), args[0] === 'upgrade-check' ? fillIn(args, presets) : args);

// The actions are imported when they run: `validate` does not wait for the catalogue, nor `explain` for the YAML reader.
export function configVerb(): Command {
  const config = verb(
    'relet config',
    'Check, explain and compare KubeletConfiguration files, also before an upgrade of kubelets.',
  );

  config
    .command('validate')
    .description('Check files as a given kubelet version would, and predict failures at startup')
    .argument('<FILE...>', "configs, overlays or ConfigMap manifests, YAML or JSON; '-' is standard input")
    .addOption(kubeletVersionOption())
    .option('--flag <NAME=VALUE>', 'kubelet flag of the node, which wins over the file; may be repeated', collect)
    .option('--host <FILE>', 'facts about the host (cgroup version, CPUs, files …) that the result depends on')
    .option('--local <FILE>', "the node's local config, under an overlay; repeat it for drop-ins", collect)
    .option('--policy <FILE>', 'a FieldPolicy that the config has to keep to; may be repeated', collect)
    .option('--lenient', 'ignore unknown and duplicate fields, as the kubelet does')
    .addOption(oneOf('-o, --output <FORMAT>', 'how findings are written', ['text', 'json', 'github']))
    .addHelpText('after', '\nExit codes: 0 no errors, 1 errors, 2 could not check.')
    .action(async (files, options) => (await import('./validate.js')).validateFiles(files, options));

  const upgrade = config
    .command('upgrade-check')
    .description('Show what unchanged configs mean under another kubelet version, of files or of nodes')
    .argument('[FILE...]', "configs, overlays or ConfigMap manifests, YAML or JSON; '-' is standard input")
    .requiredOption('--to <VERSION>', `kubelet version to upgrade to, up to 1.${newestMinor}`, parseKubeletVersion)
    .option(
      '--from <VERSION>',
      'present version (default: of the nodes; of files the minor before)',
      parseKubeletVersion,
    )
    .option('--node <NODE>', 'what this node runs with, instead of files; may be repeated', collect)
    .option('-l, --selector <LABELS>', 'what nodes with these labels run with')
    .option('--all', 'what all nodes run with')
    .option('--flag <NAME=VALUE>', 'kubelet flag of the node, which wins over the file; may be repeated', collect)
    .option('--host <FILE>', 'facts about the host (cgroup version, CPUs, files …) that the result depends on')
    .option('--local <FILE>', "the node's local config, under an overlay; repeat it for drop-ins", collect)
    .option('--strict', 'exit with 1 for warnings too')
    .addOption(oneOf('-o, --output <FORMAT>', 'how findings are written', ['text', 'json', 'github']))
    .addHelpText(
      'after',
      '\nExit codes: 0 no errors, 1 a kubelet would not start (with --strict: or behaves\ndifferently), 2 could not check everything.',
    )
    .action(async (files, options) => (await import('./upgrade-check.js')).checkUpgrade(files, options));
  addConnectionFlags(upgrade);

  config
    .command('explain')
    .description('Show what a field is, its default and versions, and the impact of changing it on a live node')
    // A flag of the kubelet is a name of its field.
    .allowUnknownOption()
    .argument('[FIELD]', 'path such as maxPods or logging.format, or part of one; all fields when left out')
    .addOption(kubeletVersionOption())
    .action(async (field, options) => (await import('./explain.js')).explain(field, options));

  config
    .command('diff')
    .description('Compare two configs by meaning, defaults included, and show the impact of the change')
    .argument('<A>', "file; '-' is standard input, an empty file such as /dev/null stands for the defaults")
    .argument('<B>', 'file')
    .addOption(kubeletVersionOption())
    .option('--local <FILE>', "the node's local config, under an overlay; repeat it for drop-ins", collect)
    .addOption(oneOf('-o, --output <FORMAT>', 'how the difference is written', ['text', 'json']))
    .addHelpText('after', '\nExit codes: 0 no difference, 1 a difference, 2 could not compare.')
    .action(async (a, b, options) => (await import('./diff.js')).diffFiles(a, b, options));

  config
    .command('merge')
    .description('Print the config that a node would run with an overlay')
    .argument('<FILE...>', "the node's --config file, its drop-ins in the kubelet's order, the overlay last")
    .addOption(kubeletVersionOption())
    .option('--local <FILE>', 'a file that comes before the others; may be repeated', collect)
    .addHelpText(
      'after',
      "\nThe overlay alone is merged as on a host whose kubelet has no --config. One of\nthe files may be '-', standard input.",
    )
    .action(async (files, options) => (await import('./merge.js')).mergeFiles(files, options));

  addStatementOptions(
    config
      .command('sign')
      .description('Write the statement of a config, and a signature; adds to signatures that are there')
      .argument('<FILE>', 'config or overlay; FILE.statement and FILE.statement.sig are written beside it')
      .option(...keyFileOption)
      .option('--key <KEY>', 'key in the ConfigMap', 'kubelet'),
  )
    .addHelpText('after', '\nWithout -f only the statement is written, to be signed elsewhere with ssh-keygen.')
    .action(async (file, options) => (await import('./sign.js')).signFile(file, options));

  config
    .command('verify')
    .description('Show by whom a config is signed and, with a trust file, whether its host would accept it')
    .argument('<FILE>', 'signed config, or the manifest of a ConfigMap or a NodeConfigSet')
    .option('--trust <FILE>', 'trust file of a host')
    .option('--floor <N>', 'lowest serial that the host accepts', Number, 0)
    .option('--key <KEY>', 'key in the ConfigMap', 'kubelet')
    .addOption(oneOf('-o, --output <FORMAT>', 'how it is written', ['text', 'json']))
    .addHelpText('after', '\nExit codes: 0 accepted, 1 rejected, 2 could not verify.')
    .action(async (file, options) => (await import('./verify.js')).verifyFile(file, options));

  config
    .command('defaults')
    .description('Print the config of a kubelet that is given none')
    .addOption(kubeletVersionOption())
    .addOption(oneOf('-o, --output <FORMAT>', 'format', ['yaml', 'json']))
    .action(async (options) => (await import('./defaults.js')).printDefaults(options));

  config
    .command('schema')
    .description('Print a JSON Schema, so that editors complete and check the file')
    .addOption(kubeletVersionOption())
    .option('--overlay', 'of overlays instead of whole configs')
    .action(async (options) => (await import('./defaults.js')).printSchema(options));

  return config;
}

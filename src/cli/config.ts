/** `relet config`: what relet knows about KubeletConfiguration, for CI and for people. Needs no cluster. */
import type { Command } from 'commander';
import { collect, oneOf, runVerb, verb } from './command-line.js';
import { kubeletVersionOption } from './kubelet-version.js';

export const run = (args: string[]): Promise<void> => runVerb(configVerb(), args);

// The actions are imported when they run: `validate` does not wait for the catalogue, nor `explain` for the YAML reader.
function configVerb(): Command {
  const config = verb('relet config', 'Check, explain and compare KubeletConfiguration files. Needs no cluster.');

  config
    .command('validate')
    .description('Check files as the kubelet of a version would, and foresee what would stop it at start')
    .argument('<FILE...>', "KubeletConfiguration or ConfigMap manifests, YAML or JSON; '-' is standard input")
    .addOption(kubeletVersionOption())
    .option('--flag <NAME=VALUE>', 'kubelet flag laid over the file, as on the node; may be repeated', collect)
    .option('--host <FILE>', 'what the host has (cgroup version, CPUs, files …), to settle what depends on it')
    .option('--lenient', 'forgive unknown and duplicate fields, as the kubelet does')
    .addOption(oneOf('-o, --output <FORMAT>', 'how findings are written', ['text', 'json', 'github']))
    .addHelpText('after', '\nEnds with 0 without errors, 1 with errors, 2 when it could not check.')
    .action(async (files, options) => (await import('./config-validate.js')).validateFiles(files, options));

  config
    .command('explain')
    .description('Tell what a field is, its default and versions, and what changing it on a live node needs')
    .argument('[FIELD]', 'path such as maxPods or logging.format, or part of one; all fields when left out')
    .addOption(kubeletVersionOption())
    .action(async (field, options) => (await import('./config-explain.js')).explain(field, options));

  config
    .command('defaults')
    .description('Print the config of a kubelet that is given none')
    .addOption(kubeletVersionOption())
    .addOption(oneOf('-o, --output <FORMAT>', 'format', ['yaml', 'json']))
    .action(async (options) => (await import('./config-defaults.js')).printDefaults(options));

  return config;
}

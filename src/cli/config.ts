/** `relet config`: what relet knows about KubeletConfiguration, for CI and for people. Needs no cluster. */
import type { Command } from 'commander';
import { runVerb, verb } from './command-line.js';
import { kubeletVersionOption } from './kubelet-version.js';

export const run = (args: string[]): Promise<void> => runVerb(configVerb(), args);

// The actions are imported when they run: `validate` does not wait for the catalogue, nor `explain` for the YAML reader.
function configVerb(): Command {
  const config = verb('relet config', 'Check, explain and compare KubeletConfiguration files. Needs no cluster.');

  config
    .command('explain')
    .description('Tell what a field is, its default and versions, and what changing it on a live node needs')
    .argument('[FIELD]', 'path such as maxPods or logging.format, or part of one; all fields when left out')
    .addOption(kubeletVersionOption())
    .action(async (field, options) => (await import('./config-explain.js')).explain(field, options));

  return config;
}

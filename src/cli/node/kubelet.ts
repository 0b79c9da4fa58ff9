/**
 * The executable on a node: `relet kubelet …`, the parent process of the kubelet; `relet agent`, beside it; and `relet node …`, which
 * controls both. A separate bundle, since every node pays for every megabyte of it.
 */
import { withCauses } from '../../error-causes.js';
import './small-process.js';
import { earlySignals } from './early-signals.js';

// The rest takes its time; signals are kept from here on.

import { type DividedCommandLine, divideCommandLine, kubeletArgs } from '../../agent/flags.js';
import { ownFlags } from '../../agent/options.js';
import { printError, writeOut } from '../terminal/terminal.js';
import { flagHelp } from './flag-help.js';
import { kubeletCommand } from './kubelet-command.js';
import { runPlainKubelet } from './plain-kubelet.js';

async function main([word, ...args]: string[]): Promise<void> {
  if (word === 'node') {
    const { run } = await import('./node-verbs.js');
    return run(args);
  }
  try {
    // Exits explicitly: a kubelet probe that is still running must not delay a stop.
    process.exit(await (word === 'agent' ? agent(args) : kubelet(args)));
  } catch (error) {
    printError(`relet: ${withCauses(error as Error)}`);
    process.exit((error as Error).name === 'CannotRun' ? 2 : 1);
  }
}

async function agent(args: string[]): Promise<number> {
  const { runAttached } = await import('./agent.js');
  return runAttached(args, earlySignals);
}

async function kubelet(args: string[]): Promise<number> {
  const divided = divideCommandLine(args);
  const { options, turnedOff, values } = divided;
  if (values.has('help') && options.dynamicConfigDir === undefined) {
    writeOut(help());
    if (!isThere(options.kubeletBinary)) return 0;
  }
  const isPlain = options.dynamicConfigDir === undefined || turnedOff || values.has('help') || values.has('version');
  if (isPlain && !options.check) return plainKubelet(divided);
  const { runAgent } = await import('./run-agent.js');
  return runAgent(divided, earlySignals);
}

function plainKubelet(divided: DividedCommandLine): Promise<number> {
  if (divided.turnedOff)
    printError('relet: DynamicKubeletConfig=false in --feature-gates: this is the plain kubelet, relet steps aside');
  return runPlainKubelet([...kubeletCommand(divided.options.kubeletBinary), ...kubeletArgs(divided, undefined)]);
}

function help(): string {
  return `relet kubelet: the kubelet, with --dynamic-config-dir restored.

Usage: relet kubelet --dynamic-config-dir=DIR <your kubelet flags>

relet's own flags; all others are the kubelet's, and follow below where there
is one:

${flagHelp(ownFlags)}
`;
}

function isThere(binary: string): boolean {
  try {
    return kubeletCommand(binary).length > 0;
  } catch {
    return false;
  }
}

void main(process.argv.slice(2));

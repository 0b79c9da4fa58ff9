/** `relet up`: the whole system on this machine, with one command. */
import { spawn } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { checkLabelValue, checkQualifiedName } from '../../api/names.js';
import { realFiles } from '../../atomic-file.js';
import { CannotRun } from '../../cannot-run.js';
import { systemClock } from '../../clock.js';
import { tryParseDuration } from '../../go/duration.js';
import {
  dataDirFlag,
  defaultDataDir,
  openSystemDirectory,
  type SystemDirectory,
  turnLog,
} from '../../lab/up/directory.js';
import { stopLeftovers } from '../../lab/up/leftovers.js';
import { unmountBelow } from '../../lab/up/mounts.js';
import { mostNodes, runOnFreePort } from '../../lab/up/network.js';
import {
  checkSettings,
  decideSettings,
  notesOn,
  programPath,
  readSystem,
  type Settings,
  writeSystem,
} from '../../lab/up/settings.js';
import { runSystem, type SystemListener } from '../../lab/up/system.js';
import { silentLog } from '../../log.js';
import { systemProcesses } from '../../proc.js';
import { Locked, takeLock } from '../../process-lock.js';
import { InvalidArgumentError, oneOf, runVerb, verb } from '../command-line.js';
import { deployDir, kubeletCommand, reletExecutable } from '../node/kubelet-command.js';
import { openTerminal } from '../terminal/terminal.js';
import { createNarrator, forScreen, type Message, type Narrator } from './narrator.js';

export interface UpFlags extends Partial<Omit<Settings, 'kubeletArgs'>> {
  dynamicKubeletConfig?: boolean;
  dataDir: string;
  port?: number;
  fresh?: boolean;
  detach?: boolean;
  dashboard?: boolean;
}

export async function run(args: string[]): Promise<void> {
  const access = oneOf(
    '--node-config-access <HOW>',
    'with --dynamic-kubelet-config: how a node gets the right to read its ConfigMap',
    ['automatic', 'manual'],
  );
  const command = verb('relet up', 'Run an API server and nodes on this machine, each a process of its own.')
    .option('--nodes <N>', 'how many nodes: node-1, node-2 … (3)', wholeNumber(1, mostNodes))
    .option('--data-dir <DIR>', 'where everything is kept', defaultDataDir())
    .option('--kubelet-binary <PATH>', "a real kubelet, for one node ('hollow': the built-in stand-in)", programPath)
    .option('--labels <LABELS>', 'labels of every node, as in pool=gpu,zone=a', parseLabels)
    .option('--port <N>', 'where the API server listens; 0: any (6443)', wholeNumber(0, 65_535))
    .option('--trial-duration <DURATION>', 'how long a config is on trial (10m)', duration)
    .option('--init-config-dir <DIR>', "local config of DKC alpha: a file named 'kubelet' in DIR", (dir) =>
      resolve(dir),
    )
    .addOption(access.default(undefined, 'automatic'))
    .option('--node-config', 'like Kubernetes 1.26 and later: references are in NodeConfigs (default)')
    .addOption(
      new Option(
        '--dynamic-kubelet-config',
        'like Kubernetes before 1.22: references are in Node.spec.configSource',
      ).conflicts('nodeConfig'),
    )
    // Name of --dynamic-kubelet-config in scripts written before 0.1.0.
    .addOption(new Option('--no-node-config').hideHelp())
    .option('--no-dashboard', 'serve no dashboard; otherwise a link that logs in once is printed')
    .option('--fresh', 'delete everything in the directory first')
    .option('--detach', 'return when all nodes are Ready; run in the background')
    .argument('[KUBELET-FLAGS...]', "after '--': flags for every kubelet, such as --v=4")
    .addHelpText(
      'after',
      "\nOptions are recorded in the directory and apply again the next time. Ctrl-C, or\n'relet down', stops everything.",
    )
    .action((kubeletArgs: string[], flags: UpFlags) =>
      flags.detach ? startInBackground(args, flags.dataDir) : up(flags, kubeletArgs),
    );
  await runVerb(command, args);
}

async function up(flags: UpFlags, kubeletArgs: string[]): Promise<void> {
  const stop = new AbortController();
  // Every node and every watch listens to it.
  setMaxListeners(0, stop.signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal));
  const narrator = createNarrator();
  try {
    const directory = openSystemDirectory(flags.dataDir);
    const lock = lockOrExplain(directory);
    try {
      await start(directory, flags, kubeletArgs, narrator, stop.signal);
    } finally {
      lock.release();
    }
    narrator.ended();
  } catch (error) {
    const known = machineTrouble(error);
    if (known instanceof CannotRun) narrator.failed(known.message);
    throw known;
  }
}

/** A full disk, a directory without write permission: not a bug of relet, and the message has the path. */
function machineTrouble(error: unknown): unknown {
  const messages: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) {
    messages.push(at.message);
    if ('code' in at && 'syscall' in at) return new CannotRun(messages.join(': '));
  }
  return error;
}

async function start(
  directory: SystemDirectory,
  flags: UpFlags,
  kubeletArgs: string[],
  narrator: Narrator,
  signal: AbortSignal,
): Promise<void> {
  const { dataDir: _dir, port, fresh, detach: _detach, dashboard, dynamicKubeletConfig, ...given } = flags;
  const before = fresh ? undefined : readSystem(directory.settings);
  const requested = {
    ...given,
    ...(dynamicKubeletConfig && { nodeConfig: false }),
    ...(kubeletArgs.length > 0 && { kubeletArgs: checkFlags(kubeletArgs) }),
  };
  const settings = decideSettings(requested, before?.settings);
  checkProgram(settings.kubeletBinary);
  checkSettings(settings);
  const left = await stopLeftovers(directory.dir, systemClock);
  if (left > 0) narrator.say(`stopped ${left} processes that an earlier 'relet up' had left running`);
  if (fresh) {
    const unmounted = unmountBelow(directory.dir);
    if (unmounted > 0) narrator.say(`unmounted ${unmounted} places that a kubelet had left`);
    directory.clear();
  }
  signal.addEventListener('abort', () => narrator.stopping(), { once: true });
  const relet = [process.execPath, reletExecutable()];
  const question = {
    dir: directory.dir,
    nodes: settings.nodes,
    isReal: settings.kubeletBinary !== 'hollow',
    askedPort: port,
    remembered: before?.network,
  };
  await runOnFreePort(question, async (network) => {
    const system = { settings, network };
    writeSystem(directory.settings, system);
    narrator.begin(directory, system, before !== undefined);
    for (const note of notesOn(requested, settings, before?.settings)) narrator.say(note);
    const listener: SystemListener = {
      ...narrator,
      onServer(url) {
        narrator.onServer(url);
        if (dashboard !== false) void serveLocally(directory, narrator, AbortSignal.any([signal, over.signal]));
      },
    };
    // A cluster that does not start has no dashboard either: its server would keep this process alive.
    const over = new AbortController();
    await runSystem({ directory, system, relet, deployDir: deployDir(), env: process.env, signal, listener }).finally(
      () => over.abort(),
    );
  });
}

/** The cluster works without it. */
async function serveLocally({ kubeconfig }: SystemDirectory, narrator: Narrator, signal: AbortSignal): Promise<void> {
  try {
    const { serveDashboard } = await import('../serve-dashboard.js');
    const { offerLinks } = await import('../dashboard-links.js');
    const { url, newLink } = await serveDashboard({ connection: { kubeconfig }, log: silentLog, signal });
    offerLinks(kubeconfig, newLink!, signal);
    narrator.dashboard(url, newLink!());
  } catch (error) {
    narrator.say(`  dashboard   not served: ${(error as Error).message}`);
  }
}

function lockOrExplain({ dir, lock: path }: SystemDirectory) {
  try {
    return takeLock({ path, host: systemProcesses, files: realFiles });
  } catch (error) {
    if (!(error instanceof Locked)) throw error;
    throw new CannotRun(
      `relet is already up in ${dir} (pid ${error.holder.pid}): 'relet down${dataDirFlag(dir)}' stops it, --data-dir starts another one beside it`,
    );
  }
}

function checkProgram(kubeletBinary: string): void {
  try {
    kubeletCommand(kubeletBinary);
  } catch (error) {
    throw new CannotRun((error as Error).message);
  }
}

function checkFlags(words: string[]): string[] {
  const stray = words.find((word) => !word.startsWith('-'));
  if (stray === undefined) return words;
  throw new CannotRun(`'${stray}' is not a flag: kubelet flags are written after '--', as in: relet up -- --v=4`);
}

function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Must be a whole number from ${least} to ${most}.`);
  };
}

function parseLabels(text: string): Record<string, string> {
  const pairs = text.split(',').map((word) => /^([^=]+)=(.*)$/.exec(word)?.slice(1) ?? [word]);
  for (const [key = '', value] of pairs) {
    const [problem] =
      value === undefined ? ['it is not KEY=VALUE'] : [...checkQualifiedName(key), ...checkLabelValue(value)];
    if (problem !== undefined) throw new InvalidArgumentError(`'${key}': ${problem}.`);
  }
  return Object.fromEntries(pairs);
}

function duration(text: string): string {
  if ((tryParseDuration(text) ?? -1n) >= 0n) return text;
  throw new InvalidArgumentError('Must be a duration such as 90s, 10m or 1h30m.');
}

/** `relet up --detach`: starts the cluster in the background, shows its progress, and leaves it running. */
async function startInBackground(args: string[], dataDir: string): Promise<void> {
  const { print, width } = openTerminal();
  const { log } = openSystemDirectory(dataDir);
  turnLog(log);
  const out = openSync(log, 'a', 0o600);
  const command = [reletExecutable(), 'up', ...withoutDetach(args)];
  // The channel is the fourth stream; when we are gone, the child has no one to report to and continues.
  const child = spawn(process.execPath, command, { stdio: ['ignore', out, out, 'ipc'], detached: true });
  closeSync(out);
  // Ctrl-C while it starts: it is not in our process group, so the signal is passed on.
  const giveUp = () => child.kill('SIGTERM');
  process.once('SIGINT', giveUp).once('SIGTERM', giveUp);
  const late = await new Promise<number>((resolve, reject) => {
    child.on('message', (message: Message) => {
      if (message.kind === 'line') print(forScreen(message.text, width));
      else if (message.kind === 'failed') reject(new CannotRun(message.why));
      else resolve(message.late);
    });
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new CannotRun(`it exited (${signal ?? code}); its log: ${log}`)));
  });
  child.disconnect();
  child.unref();
  if (late > 0) process.exitCode = 1;
}

function withoutDetach(args: string[]): string[] {
  const end = args.indexOf('--');
  return args.filter((word, index) => word !== '--detach' || (end >= 0 && index > end));
}

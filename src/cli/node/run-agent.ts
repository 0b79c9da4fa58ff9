/** `relet kubelet` with --dynamic-config-dir: the agent as the parent process of its kubelet. */
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { commandRunner } from '../../agent/drivers/command.js';
import { type LogPlaces, ownStandardError } from '../../agent/drivers/kubelet-log.js';
import { ProcessDriver, protectFromOom } from '../../agent/drivers/process.js';
import { ownService, restartComplaint } from '../../agent/drivers/service-manager.js';
import { type DividedCommandLine, kubeletArgs } from '../../agent/flags.js';
import { systemHostFiles } from '../../agent/host-files.js';
import { parseHarm, SyntheticSignals } from '../../agent/observe/synthetic-signals.js';
import { type Directory, openDirectory } from '../../agent/state/directory.js';
import type { NodeState } from '../../agent/state/node-state.js';
import { systemClock } from '../../clock.js';
import { createLog, type Log } from '../../log.js';
import { systemProcesses } from '../../proc.js';
import { systemRandom } from '../../random.js';
import type { EarlySignals } from './early-signals.js';
import { hostSignals } from './host-signals.js';
import { kubeletCommand } from './kubelet-command.js';
import {
  describeChoice,
  live,
  lookAt,
  type PolicyFile,
  type PreparedAgent,
  prepareAgent,
  readPolicyFile,
} from './prepare-agent.js';

const stopGraceMs = 30_000;

export async function runAgent(divided: DividedCommandLine, signals: EarlySignals): Promise<number> {
  const { options } = divided;
  const log = createLog({ format: options.logFormat, write: (line) => process.stderr.write(line) });
  const dir = resolve(options.dynamicConfigDir ?? '');
  const policy = await readPolicyFile(options.fieldPolicyFile);
  if (options.check) {
    signals.leave();
    return await check(divided, { dir, policy, log });
  }
  const directory = openDirectory({ dir, host: systemProcesses, log });
  try {
    const parts = assemble({ divided, ...directory, policy, log });
    const { driver } = parts;
    if (options.onChange === 'exit') {
      const complaint = await restartComplaint(commandRunner(process.env));
      if (complaint !== undefined) log.warn(complaint);
    }
    if (!protectFromOom()) log.debug('relet is not protected from the OOM killer; that needs root');
    const harms = options.kubeletBinary === 'hollow' ? divided.values.get('hollow-worse-if') : undefined;
    const observed = harms
      ? new SyntheticSignals(harms.map(parseHarm))
      : hostSignals({ state: directory.state, bootId: driver.bootId() });
    return await live(
      { ...parts, signals: observed },
      {
        signals,
        // SIGABRT is from a watchdog that the kubelet did not feed.
        onSignal: (signal) => (signal === 'SIGABRT' ? driver.abort() : driver.forward(signal)),
      },
    );
  } finally {
    directory.lock.release();
  }
}

interface AssembleOptions extends Partial<Omit<Directory, 'state'>> {
  divided: DividedCommandLine;
  state: NodeState;
  policy: PolicyFile;
  log: Log;
}

function assemble({
  divided,
  state,
  lock,
  writable = true,
  policy,
  log,
}: AssembleOptions): PreparedAgent<ProcessDriver> {
  const { options, values } = divided;
  const run = commandRunner(process.env);
  const command = kubeletCommand(options.kubeletBinary);
  const driver = new ProcessDriver({
    command,
    args: (file) => kubeletArgs(divided, file),
    env: process.env,
    run,
    state,
    clock: systemClock,
    random: systemRandom,
    log,
    stopGraceMs,
    logPlaces: logPlaces(values.get('log-file')?.at(-1)),
    place: { dir: resolve(options.dynamicConfigDir ?? ''), writable },
    ...(lock && { mayStart: lock.check }),
  });
  const kubeconfig = values.get('kubeconfig')?.at(-1);
  const nodeName = values.get('hostname-override')?.at(-1);
  return prepareAgent({
    divided,
    command,
    run,
    hostFiles: systemHostFiles,
    kubeconfig,
    nodeName,
    driver,
    state,
    policy,
    log,
  });
}

function logPlaces(logFile: string | undefined): LogPlaces {
  return {
    files: [ownStandardError, ...(logFile ? [resolve(logFile)] : [])],
    journal: process.env.JOURNAL_STREAM !== undefined || ownService() !== undefined,
  };
}

/** `--check`: what would be done, and nothing of it. */
function check(
  divided: DividedCommandLine,
  { dir, policy, log }: { dir: string; policy: PolicyFile; log: Log },
): Promise<number> {
  return lookAt({ dir, near: tmpdir(), log }, async (state) => {
    const parts = assemble({ divided, state, policy, log });
    const { lines, started, code } = await describeChoice(parts);
    const words = [...parts.command, ...parts.commandLine.args(started.file)];
    return { lines: [...lines, `would run: ${words.join(' ')}`], code };
  });
}

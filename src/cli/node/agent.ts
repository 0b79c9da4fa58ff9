/**
 * `relet agent`: manages the kubelet of this host, which stays in its own systemd unit. Stopping the agent changes nothing on the host,
 * so the agent simply starts over when the kubelet's command line has changed.
 */
import { isDeepStrictEqual } from 'node:util';
import { takeAgentLock } from '../../agent/drivers/systemd/agent-lock.js';
import { openSystemdDriver } from '../../agent/drivers/systemd/driver.js';
import { removeLeftFiles } from '../../agent/drivers/systemd/host-command.js';
import { type HostOptions, hostLayout, lockPath } from '../../agent/drivers/systemd/host-layout.js';
import { OwnFiles } from '../../agent/drivers/systemd/own-files.js';
import { connectSystemd } from '../../agent/drivers/systemd/systemd.js';
import { detachRecord, handleRequest } from '../../agent/requests.js';
import { copyRecords } from '../../agent/state/copy-records.js';

import { openDirectory } from '../../agent/state/directory.js';
import { unitParts } from '../../agent/unit-flow.js';
import { systemClock } from '../../clock.js';
import { createLog, type Log } from '../../log.js';
import { systemProcesses } from '../../proc.js';
import { writeOut } from '../terminal/terminal.js';
import { type AgentFlags, agentHelp, readAgentFlags } from './agent-flags.js';
import { type AttachedKubelet, type AttachInput, findKubelet, thisHost } from './attached-host.js';
import type { EarlySignals } from './early-signals.js';
import { unitOf } from './embedded-kubelet.js';
import { hostSignals } from './host-signals.js';
import { live, prepareAgent, readPolicyFile, trialLimits } from './prepare-agent.js';

export async function runAttached(args: string[], signals: EarlySignals): Promise<number> {
  const given = readAgentFlags(args);
  if (given === undefined) {
    writeOut(agentHelp());
    return 0;
  }
  const log = createLog({ format: given.options.logFormat, write: (line) => process.stderr.write(line) });
  const policy = await readPolicyFile(given.options.fieldPolicyFile);
  const systemd = connectSystemd({ clock: systemClock, log });
  try {
    const flags = { ...given, unit: await unitOf(systemd, given.unit) };
    const input: AttachInput = { flags, systemd, host: thisHost(systemd, flags.unit, process.env), policy, log };
    if (flags.options.check || flags.exportTo !== undefined) signals.leave();
    // An agent that runs does not load what looks and ends.
    if (flags.options.check) return await (await import('./agent-check.js')).checkAgent(input);
    if (flags.exportTo !== undefined)
      return await (await import('./agent-export.js')).exportRecords(input, flags.exportTo);
    return await attach(input, signals);
  } finally {
    systemd.close();
  }
}

/** Returns the kubelet to its local config as the agent would, takes relet off the host, and ends. 1: the local config cannot run. */
export async function detachOnce(given: AgentFlags, signals: EarlySignals): Promise<number> {
  const log = createLog({ format: given.options.logFormat, write: (line) => process.stderr.write(line) });
  const systemd = connectSystemd({ clock: systemClock, log });
  try {
    const flags = { ...given, unit: await unitOf(systemd, given.unit) };
    const host = thisHost(systemd, flags.unit, process.env);
    const stop = new AbortController();
    return await attachOnce({ flags, systemd, host, policy: undefined, log }, { signals, stop, detach: true });
  } finally {
    systemd.close();
  }
}

async function attach(input: AttachInput, signals: EarlySignals): Promise<number> {
  for (;;) {
    const stop = new AbortController();
    const code = await attachOnce(input, { signals, stop });
    if (stop.signal.reason !== commandChanged) return code;
    input.log.info("the kubelet's command line changed, the agent begins again with it");
  }
}

const commandChanged = 'the command line changed';

async function attachOnce(
  input: AttachInput,
  { signals, stop, detach = false }: { signals: EarlySignals; stop: AbortController; detach?: boolean },
): Promise<number> {
  const { flags, systemd, host, policy, log } = input;
  const { unit, dir } = flags;
  const kubelet = await findKubelet(systemd, host, flags, { detach });
  const { divided, command, embedding, kubeconfig, nodeName } = kubelet;
  // Before the directory's own lock, which names a process: two pods do not see each other's.
  const lock = await takeAgentLock(lockPath);
  try {
    const directory = openDirectory({ dir, host: systemProcesses, log });
    try {
      if (flags.importFrom !== undefined && copyRecords({ from: flags.importFrom, to: dir }))
        log.info('records imported', { from: flags.importFrom });
      const { state } = directory;
      if (detach) handleRequest(state, { verb: 'detach' }, new Date());
      const { run, runPlugin } = host;
      await removeLeftFiles({ systemd });
      const clock = systemClock;
      const trial = trialLimits(divided);
      const driver = await openSystemdDriver({
        unit,
        dir,
        embedding,
        systemd,
        lock,
        command,
        run,
        trial,
        state,
        clock,
        log,
      });
      if (state.read(detachRecord) === undefined) keepTool({ unit, dir, embedding }, log);
      log.info('attached', { unit, layout: kubelet.layout, command: command.join(' ') });
      const unwatch = watchCommand(input, kubelet, () => stop.abort(commandChanged));
      const hostFiles = host.view;
      const prepared = {
        divided,
        command,
        embedding,
        run,
        runPlugin,
        hostFiles,
        kubeconfig,
        nodeName,
        driver,
        state,
        policy,
        detach,
        log,
      };
      try {
        const observed = hostSignals({ state, bootId: driver.bootId(), unit, inPod: host.inPod });
        return await live({ ...prepareAgent(prepared), unitParts, signals: observed }, { signals, stop });
      } finally {
        unwatch();
        await driver.close();
      }
    } finally {
      directory.lock.release();
    }
  } finally {
    await lock.release();
  }
}

/** `relet` for people on the host, who may not have Node.js there. */
function keepTool(options: HostOptions, log: Log): void {
  try {
    new OwnFiles(hostLayout(options), '').writeTool();
  } catch (error) {
    log.warn('the script for people on the host cannot be written', { error });
  }
}

/** After every start of the kubelet: its flags may be others. */
function watchCommand(
  { flags, systemd, host, log }: AttachInput,
  known: AttachedKubelet,
  onChange: () => void,
): () => void {
  let { invocation } = known;
  let working: Promise<void> = Promise.resolve();
  const look = async () => {
    const { invocationId, mainPid } = await systemd.unit(flags.unit);
    if (invocationId === invocation || mainPid === 0) return;
    const found = await findKubelet(systemd, host, flags);
    invocation = found.invocation;
    if (!isDeepStrictEqual([found.command, found.args], [known.command, known.args])) onChange();
  };
  return systemd.watch(flags.unit, () => {
    working = working.then(look).catch((error) => log.warn("the kubelet's command line cannot be read", { error }));
  });
}

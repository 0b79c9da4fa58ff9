/** Puts the agent together from real parts and runs it: signals in, exit code out. */

import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pkg from '../../../package.json' with { type: 'json' };
import { Agent } from '../../agent/agent.js';
import type { AgentOptions } from '../../agent/agent-options.js';
import { choose } from '../../agent/choose.js';
import { commandRunner } from '../../agent/drivers/command.js';
import { type LogPlaces, ownStandardError } from '../../agent/drivers/kubelet-log.js';
import { ProcessDriver, protectFromOom } from '../../agent/drivers/process.js';
import { ownService, restartComplaint } from '../../agent/drivers/service-manager.js';
import { type DividedCommandLine, kubeletArgs } from '../../agent/flags.js';
import { systemHostFiles } from '../../agent/host-files.js';
import { newCounters, render } from '../../agent/report/metrics.js';
import { Reporter } from '../../agent/report/reporter.js';
import { holdRecord } from '../../agent/requests.js';
import { type Directory, openDirectory } from '../../agent/state/directory.js';
import { DocumentFiles } from '../../agent/state/documents.js';
import { NodeState } from '../../agent/state/node-state.js';
import { NodeConnection } from '../../agent/sync/connect.js';
import { followedRecord } from '../../agent/sync/reference.js';
import { probeHealthz } from '../../agent/trial/health.js';
import { trialRecord } from '../../agent/trial/trial.js';
import { formatRef } from '../../api/config-ref.js';
import { type Files, realFiles } from '../../atomic-file.js';
import { systemClock } from '../../clock.js';
import { systemFileReader } from '../../kube/kubeconfig.js';
import { createLog, type Log } from '../../log.js';
import { systemProcesses } from '../../proc.js';
import { systemRandom } from '../../random.js';
import { oneLine } from '../../visible-text.js';
import { writeOut } from '../terminal/terminal.js';
import type { EarlySignals } from './early-signals.js';
import { kubeletCommand } from './kubelet-command.js';
import { serveNodeMetrics } from './node-metrics.js';
import { createSpareMemory } from './spare-memory.js';
import { nodeDocuments, nodeValidator, type PolicyFile, readPolicyFile } from './validator.js';

/** For `--check`: looks and changes nothing, even beside a relet that runs. */
const lookingFiles: Files = { ...realFiles, makeDir() {}, create() {}, sync() {}, rename() {}, link() {}, remove() {} };
const stopGraceMs = 30_000;
const settleMs = 500;

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
    if (options.onChange === 'exit') {
      const complaint = await restartComplaint(commandRunner(process.env));
      if (complaint !== undefined) log.warn(complaint);
    }
    if (!protectFromOom()) log.debug('relet is not protected from the OOM killer; that needs root');
    return await live(parts, signals, divided);
  } finally {
    directory.lock.release();
  }
}

type ProcessParts = AgentOptions & { driver: ProcessDriver; command: string[]; connection: NodeConnection };

async function live(parts: ProcessParts, signals: EarlySignals, divided: DividedCommandLine): Promise<number> {
  const { clock, log, state, reporter, counters, driver, connection } = parts;
  const agent = new Agent(parts);
  reporter.listen(createSpareMemory());
  const stop = new AbortController();
  signals.handOver((signal) => {
    if (signal === 'SIGTERM' || signal === 'SIGINT') return stop.abort(signal);
    if (signal === 'SIGHUP')
      return void agent.handleHostRequest().catch((error) => log.error('request failed', { error }));
    // From a watchdog that the kubelet did not feed.
    if (signal === 'SIGABRT') return driver.abort();
    driver.forward(signal);
  });
  const metricsState = () => {
    const trial = state.read(trialRecord);
    const trialSeconds = trial && trial.healthyMs / 1000;
    return { report: reporter.report, counters, trialSeconds, held: state.read(holdRecord) !== undefined };
  };
  const serving = new AbortController();
  serveNodeMetrics({
    options: divided.options,
    certDir: divided.values.get('cert-dir')?.at(-1),
    render: () => render(metricsState()),
    client: () => connection.client,
    clock,
    log,
    signal: serving.signal,
  });
  try {
    return await agent.run(stop.signal);
  } finally {
    serving.abort();
  }
}

interface Surroundings extends Partial<Omit<Directory, 'state'>> {
  divided: DividedCommandLine;
  state: NodeState;
  policy: PolicyFile;
  log: Log;
}

function assemble({ divided, state, lock, writable = true, policy, log }: Surroundings): ProcessParts {
  const { options, values } = divided;
  const clock = systemClock;
  const run = commandRunner(process.env);
  const command = kubeletCommand(options.kubeletBinary);
  const args = (file: string | undefined) => kubeletArgs(divided, file);
  const commandLine = { args };
  const kubeconfig = values.get('kubeconfig')?.at(-1);
  const connection = new NodeConnection({
    kubeconfig: kubeconfig ? resolve(kubeconfig) : '',
    hostnameOverride: values.get('hostname-override')?.at(-1),
    hostname: hostname(),
    userAgent: `relet/${pkg.version} (node)`,
    version: pkg.version,
    followed: () => state.record(followedRecord),
    env: process.env,
    files: systemFileReader,
    clock,
    random: systemRandom,
    log,
  });
  if (!kubeconfig) log.info('no --kubeconfig: the kubelet stands alone, and nothing can be assigned to it');
  const reporter = new Reporter({ state, clock, log, initConfig: options.initConfigDir !== undefined });
  return {
    options: {
      trial: {
        durationMs: options.trialMs,
        healthDeadlineMs: options.trialHealthDeadlineMs,
        failedStarts: options.trialFailedStarts,
      },
      onChange: options.onChange,
      inPlaceJitterMs: options.inPlaceJitterMs,
      maxRestartDelayMs: options.maxRestartDelayMs,
      settleMs,
    },
    state,
    documents: nodeDocuments(divided, state),
    validator: nodeValidator(
      { divided, command, run, hostFiles: systemHostFiles, state, providerID: () => connection.providerID },
      policy,
    ),
    commandLine,
    command,
    driver: new ProcessDriver({
      command,
      args,
      env: process.env,
      run,
      state,
      clock,
      random: systemRandom,
      log,
      stopGraceMs,
      logPlaces: logPlaces(values.get('log-file')?.at(-1)),
      place: { dir: resolve(options.dynamicConfigDir ?? ''), writable },
      ...(lock && { mayStart: lock.check }),
    }),
    hostFiles: systemHostFiles,
    probe: probeHealthz,
    reporter,
    counters: newCounters(),
    connection,
    connect: (signal) => (kubeconfig ? connection.connect(signal) : never(signal)),
    certificateExpired: () => connection.certificateExpired(),
    clock,
    random: systemRandom,
    log,
  };
}

function logPlaces(logFile: string | undefined): LogPlaces {
  return {
    files: [ownStandardError, ...(logFile ? [resolve(logFile)] : [])],
    journal: process.env.JOURNAL_STREAM !== undefined || ownService() !== undefined,
  };
}

/** `--check`: what would be done, and nothing of it. A document that the kubelet has to read is made in a directory of its own. */
async function check(
  divided: DividedCommandLine,
  { dir, policy, log }: { dir: string; policy: PolicyFile; log: Log },
): Promise<number> {
  const documents = join(dir, 'documents');
  const scratch = mkdtempSync(join(tmpdir(), 'relet-check-'));
  try {
    if (existsSync(documents)) cpSync(documents, scratch, { recursive: true });
    const state = new NodeState(dir, log, lookingFiles, new DocumentFiles(scratch, realFiles));
    const { lines, code } = await describeChoice(assemble({ divided, state, policy, log }));
    writeOut(`${lines.map((line) => oneLine(line).replaceAll(scratch, documents)).join('\n')}\n`);
    return code;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

async function describeChoice(parts: ProcessParts): Promise<{ lines: string[]; code: number }> {
  const { command, commandLine, driver } = parts;
  const choice = await choose(parts, new AbortController().signal);
  const words = [...command, ...commandLine.args(choice.document.file)];
  const lines = [
    `kubelet:  ${command.join(' ')} (${await driver.version()})`,
    `config:   ${formatRef(choice.source, 'log')}`,
    ...(choice.error
      ? [`error:    ${choice.error.message}`, `cause:    ${(choice.error.cause as Error | undefined)?.message ?? ''}`]
      : []),
    ...choice.accepted.warnings.map((warning) => `warning:  ${warning}`),
    `would run: ${words.join(' ')}`,
  ];
  return { lines, code: choice.error ? 1 : 0 };
}

function never(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  );
}

/**
 * Builds the agent of `relet kubelet` and `relet agent` from its real parts except for the driver, and runs it: signals in, exit code
 * out. Validation results and documents come from the caches on disk; full-validator.ts is loaded only on a cache miss.
 */

import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import pkg from '../../../package.json' with { type: 'json' };
import { choose } from '../../agent/choose.js';
import { type AgentOptions, createAgent } from '../../agent/create-agent.js';
import { Documents } from '../../agent/documents.js';
import type { RunCommand } from '../../agent/drivers/command.js';
import type { KubeletDriver, StartedConfig } from '../../agent/drivers/driver.js';
import type { Embedding } from '../../agent/drivers/systemd/host-layout.js';
import { type DividedCommandLine, kubeletArgs } from '../../agent/flags.js';
import type { HostFiles } from '../../agent/host-files.js';
import { stateFilesOnHost } from '../../agent/owed.js';
import { render } from '../../agent/report/metrics.js';
import { Reporter } from '../../agent/report/reporter.js';
import { holdRecord } from '../../agent/requests.js';
import { signingRecord } from '../../agent/signing-record.js';
import { DocumentFiles, sha256 } from '../../agent/state/checkpoints.js';
import { NodeState } from '../../agent/state/node-state.js';
import { NodeConnection } from '../../agent/sync/connect.js';
import { followedRecord } from '../../agent/sync/reference.js';
import { probeHealthz } from '../../agent/trial/health.js';
import { trialRecord } from '../../agent/trial/trial.js';
import { cached, validatedRecord } from '../../agent/validate/cache.js';
import { describeMachine, localFileOf, localFiles } from '../../agent/validate/host-facts.js';
import { readTrust, withSignatures } from '../../agent/validate/signatures.js';
import { type TrustSource, trustFileOnHost } from '../../agent/validate/trust-file.js';
import type { Validator } from '../../agent/validate/validate.js';
import { formatRef } from '../../api/config-ref.js';
import { type Files, realFiles } from '../../atomic-file.js';
import { systemClock } from '../../clock.js';
import type { RunPlugin } from '../../kube/exec-plugin.js';
import { systemFileReader } from '../../kube/kubeconfig.js';
import type { Log } from '../../log.js';
import { systemRandom } from '../../random.js';
import { oneLine } from '../../visible-text.js';
import { readNamedBy } from '../read-file.js';
import { writeOut } from '../terminal/terminal.js';
import { reportedVersion } from './code-digest.js';
import type { EarlySignals } from './early-signals.js';
import { serveNodeMetrics } from './node-metrics.js';
import { createSpareMemory } from './spare-memory.js';

export const userAgent = `relet/${pkg.version} (node)`;
const settleMs = 500;
const crashDelayMs = 1000;

export interface AgentInput<D extends KubeletDriver> {
  divided: DividedCommandLine;
  /** The kubelet's executable and what leads to it. */
  command: string[];
  /** Set for a kubelet inside k3s, or below RKE2. */
  embedding?: Embedding | undefined;
  /** Runs programs of the host. */
  run: RunCommand;
  /** Runs the exec plugin of the kubeconfig. Default: as a child of this process. */
  runPlugin?: RunPlugin | undefined;
  hostFiles: HostFiles;
  /** Undefined for a kubelet that stands alone. */
  kubeconfig: string | undefined;
  /** Used if the client certificate does not have it. */
  nodeName: string | undefined;
  driver: D;
  state: NodeState;
  policy: PolicyFile;
  /** relet is only to leave the host. Default false. */
  detach?: boolean;
  log: Log;
}

export interface PreparedAgent<D extends KubeletDriver> extends AgentOptions {
  driver: D;
  command: string[];
  divided: DividedCommandLine;
  connection: NodeConnection;
  trustFile: TrustSource;
}

const loadSignatureCode = () =>
  import('./signature-code.js').catch((cause: unknown) => {
    const message = 'relet is not installed completely: its code that verifies signatures is missing';
    throw new Error(`${message}; install the whole package`, { cause });
  });

export function prepareAgent<D extends KubeletDriver>(input: AgentInput<D>): PreparedAgent<D> {
  const { divided, command, run, runPlugin, hostFiles, kubeconfig, nodeName, driver, state, policy, log } = input;
  const { embedding, detach = false } = input;
  // k3s has the kubelet inside, and so has RKE2 as long as its child process has not been seen.
  const asked = embedding !== undefined && !/kubelet$/.test(command[0] ?? '') ? undefined : command;
  const { options } = divided;
  const clock = systemClock;
  const trustFile = trustFileOnHost(options.trustFile, realFiles, loadSignatureCode);
  const connection = new NodeConnection({
    kubeconfig: kubeconfig ? resolve(kubeconfig) : '',
    hostnameOverride: nodeName,
    hostname: hostname(),
    userAgent,
    version: reportedVersion(),
    followed: () => state.record(followedRecord),
    runPlugin,
    env: process.env,
    files: systemFileReader,
    clock,
    random: systemRandom,
    log,
  });
  if (!kubeconfig) log.info('no --kubeconfig: the kubelet stands alone, and nothing can be assigned to it');
  return {
    options: {
      trial: trialLimits(divided),
      onChange: options.onChange,
      inPlaceJitterMs: options.inPlaceJitterMs,
      restartLimit: options.restartLimit,
      settleMs,
      crashDelayMs,
      detach,
    },
    state,
    documents: nodeDocuments(divided, state, embedding),
    validator: nodeValidator(
      { divided, command: asked, run, hostFiles, state, providerID: () => connection.providerID },
      policy,
    ),
    trustFile,
    commandLine: { args: (file) => kubeletArgs(divided, file), shown: divided.shown },
    command,
    divided,
    connection,
    driver,
    hostFiles,
    stateFiles: stateFilesOnHost({
      run,
      rootDir: resolve(divided.values.get('root-dir')?.at(-1) || '/var/lib/kubelet'),
    }),
    probe: probeHealthz,
    reporter: new Reporter({ state, clock, log, initConfig: options.initConfigDir !== undefined }),
    connect: (signal) => (kubeconfig ? connection.connect(signal) : never(signal)),
    certificateExpired: () => connection.certificateExpired(),
    clock,
    random: systemRandom,
    log,
  };
}

export const trialLimits = ({ options }: DividedCommandLine) => ({
  durationMs: options.trialMs,
  healthDeadlineMs: options.trialHealthDeadlineMs,
  failedStarts: options.trialFailedStarts,
});

interface NodeValidatorParts {
  divided: DividedCommandLine;
  /** The kubelet's executable and what leads to it. Undefined if it cannot be probed. */
  command: string[] | undefined;
  run: RunCommand;
  hostFiles: HostFiles;
  state: NodeState;
  /** Node.spec.providerID as last seen. */
  providerID(): string | undefined;
}

export type PolicyFile = { text: string; file: string } | undefined;

/** A policy that cannot be read is reported at the start, not when it is needed. */
export async function readPolicyFile(file: string | undefined): Promise<PolicyFile> {
  if (file === undefined) return undefined;
  const text = readNamedBy('field-policy', file);
  const { readFieldPolicy } = await import('./full-validator.js');
  readFieldPolicy(text, file);
  return { text, file };
}

function nodeValidator(
  { divided, command, run, hostFiles, state, providerID }: NodeValidatorParts,
  policy: PolicyFile,
): Validator {
  const { options, values } = divided;
  const machine = describeMachine();
  return cached({
    record: state.record(validatedRecord),
    circumstances: () => [
      pkg.version,
      kubeletArgs(divided, undefined),
      options.forecast,
      policy?.text,
      localFiles(values, options.initConfigDir).map(({ path, data }) => [path, sha256(data)]),
      machine,
    ],
    providerID,
    hasEntries: hostFiles.hasEntries,
    async load() {
      const { validatorOnHost } = await import('./full-validator.js');
      return validatorOnHost({
        commandLine: divided,
        command,
        run,
        hostFiles,
        policy,
        providerID,
        random: systemRandom,
      });
    },
  });
}

function nodeDocuments(
  { options, values }: DividedCommandLine,
  state: NodeState,
  embedding: Embedding | undefined,
): Documents {
  const { initConfigDir } = options;
  return new Documents({
    state,
    localFiles: () => localFiles(values, initConfigDir),
    localFile: initConfigDir && join(initConfigDir, 'kubelet'),
    async make(from) {
      const config = localFileOf(values, initConfigDir);
      if (config && from.local.every(({ dropIn }) => dropIn) && !existsSync(config)) throw missing(config);
      const { makeDocument } = await import('./full-validator.js');
      return makeDocument(from);
    },
    version: pkg.version,
    dropInDir: embedding?.configDir,
  });
}

const missing = (config: string) =>
  new Error(`the local config ${config} is missing: an overlay has nothing to be merged into`);

export interface LifeOptions {
  signals: EarlySignals;
  /** Ends the agent as SIGTERM does. */
  stop?: AbortController;
  /** Every signal but those that end the agent and SIGHUP. */
  onSignal?(signal: NodeJS.Signals): void;
}

export async function live(parts: PreparedAgent<KubeletDriver>, options: LifeOptions): Promise<number> {
  const { divided, connection, clock, log, state, reporter, trustFile } = parts;
  const { signals, stop = new AbortController(), onSignal } = options;
  // Loaded before the first report, so that no config change has to wait for it.
  await trustFile.load();
  const agent = createAgent(parts);
  reporter.listen(createSpareMemory());
  const handleRequest = () => void agent.handleHostRequest().catch((error) => log.error('request failed', { error }));
  signals.handOver((signal) => {
    if (signal === 'SIGTERM' || signal === 'SIGINT') return stop.abort(signal);
    if (signal === 'SIGHUP') return handleRequest();
    onSignal?.(signal);
  });
  const metricsState = () => {
    const trial = state.read(trialRecord);
    const trialSeconds = trial && trial.healthyMs / 1000;
    return {
      report: reporter.report,
      counters: reporter.counters,
      trialSeconds,
      held: state.read(holdRecord) !== undefined,
    };
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

const lookingFiles: Files = { ...realFiles, makeDir() {}, create() {}, sync() {}, rename() {}, link() {}, remove() {} };

/**
 * For `--check`: the records of DIR to look at, also beside a relet that runs. Nothing in DIR is changed; a document that the kubelet
 * has to read is made in a directory of its own, below `near`. The lines that `work` returns name it as if it were in DIR.
 */
export async function lookAt(
  { dir, near, log }: { dir: string; near: string; log: Log },
  work: (state: NodeState) => Promise<{ lines: string[]; code: number }>,
): Promise<number> {
  const documents = join(dir, 'documents');
  const scratch = mkdtempSync(join(near, 'relet-check-'));
  try {
    if (existsSync(documents)) cpSync(documents, scratch, { recursive: true });
    const { lines, code } = await work(new NodeState(dir, log, lookingFiles, new DocumentFiles(scratch, realFiles)));
    writeOut(`${lines.map((line) => oneLine(line).replaceAll(scratch, documents)).join('\n')}\n`);
    return code;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** The config that would run, for `--check`. */
export async function describeChoice(
  parts: PreparedAgent<KubeletDriver>,
): Promise<{ lines: string[]; started: StartedConfig; code: number }> {
  const { command, driver } = parts;
  const { validator } = parts;
  const choosing = { ...parts, validator: withSignatures(validator, parts) };
  const choice = await choose(choosing, new AbortController().signal);
  const lines = [
    `kubelet:  ${command.join(' ')} (${await driver.version()})`,
    `config:   ${formatRef(choice.source, 'log')}`,
    ...(choice.error
      ? [`error:    ${choice.error.message}`, `cause:    ${(choice.error.cause as Error | undefined)?.message ?? ''}`]
      : []),
    ...choice.accepted.warnings.map((warning) => `warning:  ${warning}`),
    ...trustLines(parts),
  ];
  const started = { source: choice.source, file: choice.document.file };
  return { lines, started, code: choice.error ? 1 : 0 };
}

/** None on a host that never had a trust file. */
function trustLines({ state, trustFile }: PreparedAgent<KubeletDriver>): string[] {
  const { path } = trustFile;
  const found = readTrust(trustFile, state.read(signingRecord) !== undefined);
  if (found === undefined) return [];
  if ('problem' in found) return [`trust:    ${found.problem.message}: no other config is accepted`];
  const { pool, threshold, signers, revoked } = found.trust;
  const names = [...new Set(signers.flatMap((one) => (revoked.has(one.fingerprint) ? [] : one.principal)))];
  const about = `${pool === undefined ? 'no pool' : `pool ${pool}`}, ${threshold} of ${names.join(', ')}`;
  return [`trust:    ${path}: ${about}`];
}

function never(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  );
}

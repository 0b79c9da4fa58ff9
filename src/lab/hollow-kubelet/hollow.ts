/**
 * A hollow kubelet: it reads flags and config as a kubelet does, rejects configs with the kubelet's messages,
 * serves the kubelet's endpoints, registers its Node and updates it, and runs no pods. The whole flow:
 *
 *   config ─► validation ─► certificates ─► lock ─► listen ─► register, update status, renew the Lease ─► until stopped
 *
 * Each step before `listen` may exit, with the kubelet's exit code and message.
 */
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Clock } from '../../clock.js';
import { getField, type KubeletConfig } from '../../config/model.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import { Exit, type GiveUp, giveUpAs, giveUpIn, goReason, isBefore124 } from './exit.js';
import { type Check, loadConfig } from './load-config.js';
import { ownAddress, readMachine } from './machine.js';
import type { HollowNodeFacts } from './node-object.js';
import type { HollowOptions } from './options.js';
import { run } from './run.js';
import { servingCertificate } from './serving-certificate.js';
import { recordPolicies } from './state-files.js';

export interface HollowEnvironment {
  /** The validation of src/config. */
  check: Check;
  clock: Clock;
  random: Random;
  log: Log;
  /** Writes to standard error. */
  print(text: string): void;
  env: Record<string, string | undefined>;
  reletVersion: string;
  signal: AbortSignal;
}

/** Resolves with the exit code. */
export async function runHollowKubelet(options: HollowOptions, environment: HollowEnvironment): Promise<number> {
  const { log, clock, random, env, signal } = environment;
  const giveUp = giveUpAs(options.version, log);
  try {
    const { config, fatal } = loadConfig(options, { ...environment, giveUp });
    const facts = nodeFacts(options, config);
    const security = dependencies(options, config, facts, { ...environment, giveUp });
    logVersion(options, environment);
    takeLock(options, log, giveUp);
    if (fatal !== undefined) throw giveUp('Failed to run kubelet', `failed to run Kubelet: ${fatal}`);
    keepState(options, config, log);
    return await run(options, { facts, security, clock, random, log, giveUp, env, signal });
  } catch (error) {
    if (error instanceof Exit) return error.code;
    throw error;
  }
}

function nodeFacts(options: HollowOptions, config: KubeletConfig): HollowNodeFacts {
  const { hostnameOverride, nodeIp, nodeLabels, rootDir, version, registerNode } = options;
  const machine = readMachine(rootDir);
  const name = (hostnameOverride ?? machine.hostname).trim().toLowerCase();
  const bound = String(config.address ?? '');
  const isAnywhere = bound === '' || bound === '0.0.0.0' || bound === '::';
  return {
    name,
    version,
    address: nodeIp ?? (isAnywhere ? ownAddress() : bound),
    labels: nodeLabels,
    config: registerNode === undefined ? config : { ...config, registerNode },
    machine: { ...machine, hostname: name },
  };
}

function dependencies(
  options: HollowOptions,
  config: KubeletConfig,
  facts: HollowNodeFacts,
  { clock, random, giveUp }: { clock: Clock; random: Random; giveUp: GiveUp },
) {
  const failed = (why: string) => {
    const message = isBefore124(options.version) ? why : `failed to construct kubelet dependencies: ${why}`;
    return giveUp('Failed to construct kubelet dependencies', message);
  };
  const caFile = String(getField(config, 'authentication.x509.clientCAFile') ?? '');
  let clientCa: string | undefined;
  try {
    clientCa = caFile === '' ? undefined : readFileSync(caFile, 'utf8');
  } catch (error) {
    throw failed(`unable to load client CA file ${caFile}: open ${caFile}: ${goReason(error)}`);
  }
  try {
    const certificate = servingCertificate({
      certFile: String(config.tlsCertFile ?? ''),
      keyFile: String(config.tlsPrivateKeyFile ?? ''),
      certDir: options.certDir,
      hostname: facts.machine.hostname,
      addresses: [facts.address, '127.0.0.1'],
      clock,
      random,
    });
    return { certificate, clientCa };
  } catch (error) {
    throw failed(`unable to use the serving certificate: ${(error as Error).message}`);
  }
}

function logVersion({ version }: HollowOptions, { log, reletVersion }: HollowEnvironment): void {
  log.info('Kubelet version', { kubeletVersion: `v${version}` });
  const what =
    'This is the hollow kubelet of relet: a stand-in that serves and registers like a kubelet and runs no pods';
  log.info(what, { reletVersion });
}

function keepState({ stateDir }: HollowOptions, config: KubeletConfig, log: Log): void {
  const conflict = stateDir === undefined ? undefined : recordPolicies(stateDir, config);
  if (conflict !== undefined) throw giveUpIn(log, 'Failed to start ContainerManager', conflict);
}

/** Only that the file can be opened is checked: Node cannot flock. */
function takeLock({ lockFile }: HollowOptions, log: Log, giveUp: GiveUp): void {
  if (lockFile === undefined) return;
  log.info('Acquiring file lock', { path: lockFile });
  try {
    closeSync(openSync(lockFile, 'a', 0o600));
  } catch (error) {
    const message = `failed to run Kubelet: unable to acquire file lock on "${lockFile}": ${goReason(error)}`;
    throw giveUp('Failed to run kubelet', message);
  }
}

/**
 * A hollow kubelet: it reads its flags and config as a kubelet does, refuses what a kubelet refuses in the kubelet's words,
 * serves the kubelet's endpoints, registers its Node and keeps it alive, and runs no pods. The whole flow:
 *
 *   config ─► judge ─► certificates ─► lock ─► listen ─► register, heartbeat, Lease ─► until told to stop
 *
 * Each step before `listen` may end it, with the kubelet's own exit code and message.
 */
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Clock } from '../../clock.js';
import type { CheckOptions, CheckResult } from '../../config/check.js';
import { getField, type KubeletConfig, parseMinor } from '../../config/model.js';
import { readPlain } from '../../config/plain-document.js';
import { createClient } from '../../kube/client.js';
import { kubeconfigSource } from '../../kube/identity-source.js';
import type { Log } from '../../log.js';
import { createDoorkeeper } from './callers.js';
import { startKubeletServers } from './kubelet-server.js';
import { ownAddress, readMachine } from './machine.js';
import { type Misbehaviour, misbehavioursFor } from './misbehaviour.js';
import type { NodeFacts } from './node-object.js';
import type { HollowOptions } from './options.js';
import { keepRegistered } from './registration.js';
import { servingCertificate } from './serving-certificate.js';

export interface HollowSurroundings {
  /** The judgement of a document: the config room's check. */
  check(text: string, options: CheckOptions): CheckResult;
  clock: Clock;
  log: Log;
  /** Writes to standard error as it is. */
  print(text: string): void;
  env: Record<string, string | undefined>;
  reletVersion: string;
  signal: AbortSignal;
}

/** Ends the process with a code; the message has been logged. */
class Exit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/** Resolves with the exit code. */
export async function runHollowKubelet(options: HollowOptions, around: HollowSurroundings): Promise<number> {
  try {
    const config = judge(options, around);
    const facts = nodeFacts(options, config);
    const security = dependencies(options, config, facts, around);
    announce(options, around);
    takeLock(options, around);
    return await live(options, around, facts, security);
  } catch (error) {
    if (error instanceof Exit) return error.code;
    throw error;
  }
}

const emptyDocument = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function judge(options: HollowOptions, around: HollowSurroundings): KubeletConfig {
  const minor = parseMinor(options.version)!;
  const result = around.check(readConfig(options, around), {
    minor,
    flags: options.kubeletArgs,
    lenient: true,
    ...(options.config && { file: options.config }),
  });
  if (result.verdict !== 'accepted' || result.effective === undefined) {
    if (result.message.startsWith('panic: ')) {
      around.print(`${result.message}\n\ngoroutine 1 [running]:\n`);
      throw new Exit(2);
    }
    const decoding = result.verdict === 'decode-error';
    throw fail(
      options,
      around,
      decoding ? 'Failed to load kubelet config file' : 'Failed to validate kubelet configuration',
      withObject(result.message),
    );
  }
  for (const { message, path, severity, source } of result.findings)
    if (source === 'kubelet' && severity === 'warning') around.log.info(message, { path: path || undefined });
  const fatal = result.findings.find(({ severity }) => severity === 'error');
  // Passes validation and stops a kubelet at its start: then it stops this one too.
  if (fatal) throw fail(options, around, 'Failed to run kubelet', `failed to run Kubelet: ${fatal.message}`);
  return result.effective;
}

function readConfig({ config, version }: HollowOptions, around: HollowSurroundings): string {
  if (config === undefined) return emptyDocument;
  try {
    return readFileSync(config, 'utf8');
  } catch (error) {
    const why = `open ${config}: ${goReason(error)}`;
    const inner = `failed to load Kubelet config file ${config}, error failed to read kubelet config file "${config}", error: ${why}`;
    const message = isOld(version) ? inner : `failed to load kubelet config file, path: ${config}, error: ${inner}`;
    throw fail({ version }, around, 'Failed to load kubelet config file', message);
  }
}

/** What the kubelet prints behind a refused config: the object by a name it does not have. */
function withObject(message: string): string {
  return message.startsWith('failed to validate kubelet configuration')
    ? `${message}, path: &TypeMeta{Kind:,APIVersion:,}`
    : message;
}

/** Kubelets before 1.24 had a headline per step; later ones have one for all. */
function fail({ version }: { version: string }, { log }: HollowSurroundings, headline: string, message: string): Exit {
  log.error(isOld(version) ? headline : 'command failed', { err: message });
  return new Exit(1);
}

const isOld = (version: string) => parseMinor(version)! < 24;

function goReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const known: Record<string, string> = {
    ENOENT: 'no such file or directory',
    EACCES: 'permission denied',
    EISDIR: 'is a directory',
    ENOTDIR: 'not a directory',
  };
  return known[code ?? ''] ?? message;
}

function nodeFacts(
  { hostnameOverride, nodeIp, nodeLabels, rootDir, version, registerNode }: HollowOptions,
  config: KubeletConfig,
): NodeFacts {
  const machine = readMachine(rootDir);
  const name = (hostnameOverride ?? machine.hostname).trim().toLowerCase();
  const bound = String(config.address ?? '');
  const address = nodeIp ?? (bound === '' || bound === '0.0.0.0' || bound === '::' ? ownAddress() : bound);
  return {
    name,
    version,
    address,
    labels: nodeLabels,
    config: registerNode === undefined ? config : { ...config, registerNode },
    machine: { ...machine, hostname: name },
  };
}

function dependencies(options: HollowOptions, config: KubeletConfig, facts: NodeFacts, around: HollowSurroundings) {
  const failed = (why: string) =>
    fail(
      options,
      around,
      'Failed to construct kubelet dependencies',
      isOld(options.version) ? why : `failed to construct kubelet dependencies: ${why}`,
    );
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
    });
    return { certificate, clientCa };
  } catch (error) {
    throw failed(`unable to use serving certificate: ${(error as Error).message}`);
  }
}

function announce({ version }: HollowOptions, { log, reletVersion }: HollowSurroundings): void {
  log.info('Kubelet version', { kubeletVersion: `v${version}` });
  log.info(
    'This is the hollow kubelet of relet: a stand-in that serves and registers like a kubelet and runs no pods',
    {
      reletVersion,
    },
  );
}

/** Only that the file can be opened is checked: Node cannot flock. */
function takeLock(options: HollowOptions, around: HollowSurroundings): void {
  const { lockFile } = options;
  if (lockFile === undefined) return;
  around.log.info('Acquiring file lock', { path: lockFile });
  try {
    closeSync(openSync(lockFile, 'a', 0o600));
  } catch (error) {
    const message = `failed to run Kubelet: unable to acquire file lock on "${lockFile}": ${goReason(error)}`;
    throw fail(options, around, 'Failed to run kubelet', message);
  }
}

/** From here on it serves, until the signal fires or it is told to die. */
async function live(
  options: HollowOptions,
  around: HollowSurroundings,
  facts: NodeFacts,
  security: ReturnType<typeof dependencies>,
): Promise<number> {
  const { clock, log, signal, env } = around;
  const { config } = facts;
  const failing = misbehavioursFor(config, options.fail, options.failIf);
  const find = <K extends Misbehaviour['kind']>(kind: K) =>
    failing.find((one): one is Extract<Misbehaviour, { kind: K }> => one.kind === kind);
  if (failing.length > 0) log.info('told to misbehave', { failing });
  if (find('exit-at-start'))
    throw fail(options, around, 'Failed to run kubelet', 'failed to run Kubelet: told to exit at start');
  const slow = find('slow-start');
  if (slow) await clock.sleep(slow.ms, signal).catch(() => {});
  if (signal.aborted) return 0;

  const healthy = find('never-healthy') === undefined;
  const source =
    options.kubeconfig === undefined
      ? undefined
      : kubeconfigSource({ paths: [options.kubeconfig], mustExist: true, readYaml: readPlain, env, clock, log });
  const client =
    source &&
    createClient({
      source,
      clock,
      env,
      userAgent: `kubelet/v${options.version} (relet hollow)`,
      maxResponseBytes: 8 << 20,
    });
  const close = await startKubeletServers({
    config,
    ...security,
    isHealthy: () => healthy,
    refuse: createDoorkeeper(config, facts.name, client),
    metrics: () => metrics(options, facts, startedSeconds),
    log,
  }).catch((error: Error) => {
    throw fail(options, around, 'Failed to listen and serve', error.message);
  });
  const startedSeconds = clock.now() / 1000;
  log.info('Started kubelet', { port: config.port, node: facts.name });
  const api = new AbortController();
  const death = new AbortController();
  const stop = () => {
    api.abort();
    death.abort();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const ends: Promise<number>[] = [aborted(signal).then(() => 0)];
    const die = find('die-after');
    if (die)
      ends.push(
        clock.sleep(die.ms, death.signal).then(
          () => fail(options, around, 'Failed to run kubelet', `told to die after ${die.ms} ms`).code,
          () => 0,
        ),
      );
    const lose = find('lose-api');
    if (lose)
      clock.sleep(lose.ms, death.signal).then(
        () => api.abort(),
        () => {},
      );
    if (client && !(lose && lose.ms === 0)) {
      const registration = keepRegistered({
        client,
        facts,
        isReady: () => healthy,
        clock,
        log,
        signal: api.signal,
        force: options.force,
      });
      ends.push(
        registration.then(
          () => aborted(death.signal).then(() => 0),
          (error: Error) => fail(options, around, 'Failed to run kubelet', error.message).code,
        ),
      );
    }
    return await Promise.race(ends);
  } finally {
    stop();
    client?.close();
    await close();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function metrics({ version }: HollowOptions, { name }: NodeFacts, startedSeconds: number): string {
  return [
    '# TYPE kubernetes_build_info gauge',
    `kubernetes_build_info{git_version="v${version}",platform="hollow"} 1`,
    '# TYPE kubelet_node_name gauge',
    `kubelet_node_name{node="${name}"} 1`,
    '# TYPE kubelet_running_pods gauge',
    'kubelet_running_pods 0',
    '# TYPE process_start_time_seconds gauge',
    `process_start_time_seconds ${startedSeconds}`,
    '# TYPE process_resident_memory_bytes gauge',
    `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
    '',
  ].join('\n');
}

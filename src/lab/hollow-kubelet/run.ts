/**
 * The run of a hollow kubelet after its config was accepted: serve, register, update status, until it is stopped or
 * fails on demand.
 */
import { aborted } from '../../aborted.js';
import type { Clock } from '../../clock.js';
import { readPlain } from '../../config/plain-document.js';
import { createClient, type KubeClient } from '../../kube/client.js';
import { kubeconfigSource } from '../../kube/identity.js';
import { systemFileReader } from '../../kube/kubeconfig.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import { createAccessCheck } from './callers.js';
import { type GiveUp, giveUpIn } from './exit.js';
import { startKubeletServers } from './kubelet-server.js';
import { type Misbehaviour, misbehavioursFor } from './misbehaviour.js';
import type { HollowNodeFacts } from './node-object.js';
import type { HollowOptions } from './options.js';
import { keepRegistered } from './registration.js';
import type { ServingCertificate } from './serving-certificate.js';

export interface RunOptions {
  facts: HollowNodeFacts;
  security: { certificate: ServingCertificate; clientCa: string | undefined };
  clock: Clock;
  random: Random;
  log: Log;
  giveUp: GiveUp;
  env: Record<string, string | undefined>;
  signal: AbortSignal;
}

/** Resolves with the exit code; throws Exit when a port is taken. */
export async function run(options: HollowOptions, parts: RunOptions): Promise<number> {
  const { facts, security, clock, log, giveUp, signal } = parts;
  const failing = misbehavioursFor(facts.config, options.fail, options.failIf);
  if (failing.length > 0) log.info('failing on demand', { failing });
  if (has(failing, 'exit-at-start'))
    throw giveUp('Failed to run kubelet', 'failed to run Kubelet: exit at start was requested');
  await clock.sleep(has(failing, 'slow-start')?.ms ?? 0, signal).catch(() => {});
  if (signal.aborted) return 0;

  const isWell = has(failing, 'never-healthy') === undefined;
  const client = connect(options, parts);
  const startedMs = clock.now();
  const close = await startKubeletServers({
    config: facts.config,
    ...security,
    isHealthy: () => isWell,
    checkAccess: createAccessCheck(facts.config, facts.name, client),
    metrics: () => metrics(options.version, facts.name, startedMs),
    log,
  }).catch((error: Error) => {
    throw giveUpIn(log, 'Failed to listen and serve', error.message);
  });
  log.info('Started kubelet', { port: facts.config.port, node: facts.name });
  const end = new AbortController();
  const onAbort = () => end.abort();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const ways = [aborted(end.signal).then(() => 0), diesBy(failing, parts, end.signal)];
    if (client) ways.push(serveApi(client, failing, options, parts, isWell, end.signal));
    return await Promise.race(ways);
  } finally {
    end.abort();
    signal.removeEventListener('abort', onAbort);
    client?.close();
    await close();
  }
}

function has<K extends Misbehaviour['kind']>(failing: readonly Misbehaviour[], kind: K) {
  return failing.find((one): one is Extract<Misbehaviour, { kind: K }> => one.kind === kind);
}

/** Undefined without --kubeconfig: then the kubelet runs standalone. */
function connect(
  { kubeconfig, version }: HollowOptions,
  { env, clock, random, log }: RunOptions,
): KubeClient | undefined {
  if (kubeconfig === undefined) return undefined;
  const source = kubeconfigSource({
    paths: [kubeconfig],
    mustExist: true,
    readYaml: readPlain,
    files: systemFileReader,
    env,
    clock,
    log,
  });
  const userAgent = `kubelet/v${version} (relet hollow)`;
  return createClient({ source, clock, random, env, userAgent, maxResponseBytes: 8 * 1024 * 1024 });
}

function diesBy(failing: readonly Misbehaviour[], { clock, giveUp }: RunOptions, end: AbortSignal): Promise<number> {
  const die = has(failing, 'die-after');
  if (die === undefined) return aborted(end).then(() => 0);
  return clock.sleep(die.ms, end).then(
    () => giveUp('Failed to run kubelet', `failed to run Kubelet: exit after ${die.ms} ms was requested`).code,
    () => 0,
  );
}

/** Resolves with an exit code only when the API server is not a relet apiserver. */
async function serveApi(
  client: KubeClient,
  failing: readonly Misbehaviour[],
  { force }: HollowOptions,
  { facts, clock, log, giveUp }: RunOptions,
  isWell: boolean,
  end: AbortSignal,
): Promise<number> {
  const lost = new AbortController();
  end.addEventListener('abort', () => lost.abort(), { once: true });
  const lose = has(failing, 'lose-api');
  if (lose)
    clock.sleep(lose.ms, end).then(
      () => lost.abort(),
      () => {},
    );
  if (lose?.ms === 0) lost.abort();
  try {
    await keepRegistered({ client, facts, isReady: () => isWell, clock, log, signal: lost.signal, force });
  } catch (error) {
    return giveUp('Failed to run kubelet', (error as Error).message).code;
  }
  return aborted(end).then(() => 0);
}

function metrics(version: string, node: string, startedMs: number): string {
  return [
    '# TYPE kubernetes_build_info gauge',
    `kubernetes_build_info{git_version="v${version}",platform="hollow"} 1`,
    '# TYPE kubelet_node_name gauge',
    `kubelet_node_name{node="${node}"} 1`,
    '# TYPE kubelet_running_pods gauge',
    'kubelet_running_pods 0',
    '# TYPE process_start_time_seconds gauge',
    `process_start_time_seconds ${startedMs / 1000}`,
    '# TYPE process_resident_memory_bytes gauge',
    `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
    '',
  ].join('\n');
}

/** `relet controller`: makes a NodeConfig for each Node, and lets each node read exactly the configs it is assigned. */

import { hostname } from 'node:os';
import { Option } from 'commander';
import pkg from '../../package.json' with { type: 'json' };
import { configNamespace } from '../api/node-config.js';
import { CannotRun } from '../cannot-run.js';
import { systemClock } from '../clock.js';
import { readPlain } from '../config/plain-document.js';
import { runController } from '../controller/controller.js';
import type { GuardChoice } from '../controller/guard-plan.js';
import { controllerMetrics, newControllerCounters } from '../controller/metrics.js';
import { prometheusQueries } from '../controller/prometheus.js';
import { webhookSender } from '../controller/webhook.js';
import { createClient, type KubeClient } from '../kube/client.js';
import { kubeconfigSource } from '../kube/identity.js';
import { kubeconfigPaths, systemFileReader } from '../kube/kubeconfig.js';
import { runWhileLeader } from '../kube/leader.js';
import { createLog } from '../log.js';
import { type BindAddress, parseBindAddress, serveMetrics } from '../metrics.js';
import { systemRandom } from '../random.js';
import { InvalidArgumentError, oneOf, parseTime, runVerb, verb } from './command-line.js';
import { explained } from './explain-failure.js';

interface Flags {
  configNamespaces?: readonly string[];
  kubeconfig?: string;
  leaderElect?: boolean;
  leaderElectNamespace: string;
  metricsBindAddress: BindAddress | undefined;
  guards: GuardChoice;
  guardsSettleTime: number;
  webhookUrl?: string;
  webhookTokenFile?: string;
  webhookCaFile?: string;
  prometheusUrl?: string;
  prometheusTokenFile?: string;
  prometheusCaFile?: string;
  logFormat: 'text' | 'json';
}

export async function run(args: string[]): Promise<void> {
  const command = verb(
    'relet controller',
    'Make a NodeConfig for each Node, and let each node read exactly the configs it is assigned. Runs until it is stopped.',
  )
    .option(
      '--config-namespaces <LIST>',
      `only ConfigMaps in these are granted (default: ${configNamespace}, and kube-system while nodes use configs there)`,
      names,
    )
    .option('--kubeconfig <FILE>', 'default $KUBECONFIG, then ~/.kube/config, then the Pod it runs in')
    .option('--leader-elect', 'work only while leading; for several at a time')
    .option('--leader-elect-namespace <NAME>', 'namespace of the Lease', 'relet-system')
    .option('--metrics-bind-address <HOST:PORT>', "for /metrics and /healthz; '0' turns it off", address, undefined)
    .addOption(
      oneOf('--guards <HOW>', 'what keeps a node from writing what is not its own', ['auto', 'policy', 'roles']),
    )
    .addOption(
      new Option('--guards-settle-time <TIME>', 'how long the API server may take to enforce new admission policies')
        .argParser(parseTime)
        .default(5000, '5s'),
    )
    .option('--webhook-url <URL>', 'where to POST when a set halts, waits for approval, is complete or was undone')
    .option('--webhook-token-file <FILE>', 'bearer token for it; read again when it changes')
    .option('--webhook-ca-file <FILE>', 'certificate authorities for it, beside those of Node.js')
    .option('--prometheus-url <URL>', 'where sets with strategy.analysis send the queries of their signals')
    .option('--prometheus-token-file <FILE>', 'bearer token for it; read again when it changes')
    .option('--prometheus-ca-file <FILE>', 'certificate authorities for it, beside those of Node.js')
    .addOption(oneOf('--log-format <FORMAT>', 'how to log to stderr', ['text', 'json']))
    .action(control);
  await runVerb(command, args);
}

async function control(flags: Flags): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort(signal));
  const { signal } = stop;
  const clock = systemClock;
  const log = createLog({ format: flags.logFormat, write: (line) => void process.stderr.write(line) });
  const client = createClient({
    source: identity(flags, log),
    clock,
    random: systemRandom,
    userAgent: `relet/${pkg.version} (controller)`,
    env: process.env,
    onWarning: (warning) => log.debug('API server warning', { warning }),
  });
  const [sendNotice, queryNodes] = [webhook(flags), prometheus(flags)];
  const counters = newControllerCounters();
  let isLeader = false;
  const lead = async (until: AbortSignal, leading: KubeClient) => {
    isLeader = true;
    const { configNamespaces: namespaces, guards, guardsSettleTime: settleMs } = flags;
    await runController(
      { client: leading, log, counters, namespaces, guards, settleMs, sendNotice, queryNodes },
      until,
    );
    isLeader = false;
  };
  if (flags.metricsBindAddress)
    void serveMetrics({
      ...flags.metricsBindAddress,
      paths: { '/metrics': () => controllerMetrics(counters, isLeader), '/healthz': () => 'ok\n' },
      log,
      signal,
    });
  log.info('controller', {
    server: client.connection.server,
    namespaces: flags.configNamespaces?.join(',') ?? 'default',
  });
  if (flags.leaderElect) {
    const name = 'relet-controller';
    const namespace = flags.leaderElectNamespace;
    await runWhileLeader({
      client,
      namespace,
      name,
      identity: `${hostname()}_${systemRandom.uuid()}`,
      log,
      signal,
      lead,
    });
  } else await lead(signal, client);
  client.close();
}

function webhook({ webhookUrl: url, webhookTokenFile: tokenFile, webhookCaFile: caFile }: Flags) {
  const options = outboundOptions('webhook', { url, tokenFile, caFile });
  return options && webhookSender(options);
}

function prometheus({ prometheusUrl: url, prometheusTokenFile: tokenFile, prometheusCaFile: caFile }: Flags) {
  const options = outboundOptions('prometheus', { url, tokenFile, caFile });
  return options && prometheusQueries(options);
}

function outboundOptions(
  flag: string,
  { url, ...files }: { url: string | undefined; tokenFile: string | undefined; caFile: string | undefined },
) {
  if (url === undefined) {
    if (files.tokenFile !== undefined || files.caFile !== undefined)
      throw new CannotRun(`--${flag}-token-file and --${flag}-ca-file need --${flag}-url`);
    return undefined;
  }
  const userAgent = `relet/${pkg.version} (controller)`;
  return { url, ...files, files: systemFileReader, env: process.env, clock: systemClock, userAgent };
}

function identity({ kubeconfig }: Flags, log: ReturnType<typeof createLog>) {
  const { paths, mustExist } = kubeconfigPaths({ explicit: kubeconfig, env: process.env });
  try {
    return kubeconfigSource({
      paths,
      mustExist,
      readYaml: readPlain,
      files: systemFileReader,
      env: process.env,
      clock: systemClock,
      log,
    });
  } catch (error) {
    throw explained(error, '');
  }
}

function names(text: string): string[] {
  const list = text.split(',').map((name) => name.trim());
  if (list.every((name) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name))) return list;
  throw new InvalidArgumentError('Names of namespaces, separated by commas, are expected.');
}

function address(text: string): BindAddress | undefined {
  if (text === '0') return undefined;
  const address = parseBindAddress(text);
  if (address === undefined) throw new InvalidArgumentError('Must be HOST:PORT, :PORT or 0.');
  return address;
}

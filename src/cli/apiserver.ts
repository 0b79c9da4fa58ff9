/** `relet apiserver`: runs the embedded control plane as a separate process. */

import { InvalidArgumentError, Option } from 'commander';
import pkg from '../../package.json' with { type: 'json' };
import { systemClock } from '../clock.js';
import { parseModes } from '../lab/apiserver/access/access.js';
import { readTokenFile } from '../lab/apiserver/access/token-file.js';
import { type ApiServerOptions, startApiServer } from '../lab/apiserver/apiserver.js';
import { createLog, type Log } from '../log.js';
import { systemRandom } from '../random.js';
import { runVerb, verb } from './command-line.js';
import { readNamedBy } from './read-file.js';
import { writeOut } from './terminal/terminal.js';

interface Flags {
  dataDir: string;
  storage: 'disk' | 'memory';
  bindAddress: string;
  port: number;
  tokenAuthFile?: string;
  anonymousAuth: boolean;
  authorizationMode: string;
  nodeConfigAccess: 'automatic' | 'manual';
  kubeletCertificateAuthority?: string;
  featureGates: { dynamicKubeletConfig: boolean };
  logFormat: 'text' | 'json';
}

const command = verb(
  'relet apiserver',
  'A small Kubernetes API server in one process, for laptops, tests and CI. Keeps everything in --data-dir.',
)
  .version(pkg.version)
  .requiredOption('--data-dir <dir>', 'certificates, admin.kubeconfig and the store; created when missing')
  .option('--bind-address <address>', 'where to listen', '127.0.0.1')
  .option('--port <number>', 'where to listen; 0 picks a free port', parsePort, 6443)
  .addOption(
    new Option('--storage <kind>', 'disk: acknowledged writes survive a restart; memory: they do not')
      .choices(['disk', 'memory'])
      .default('disk'),
  )
  .option('--token-auth-file <file>', 'static tokens: CSV of token,user,uid,"group1,group2"')
  .option('--anonymous-auth [bool]', 'let requests without credentials in as system:anonymous', parseBoolean, false)
  .option('--authorization-mode <modes>', 'asked in this order: Node, RBAC, AlwaysAllow', 'Node,RBAC')
  .addOption(
    new Option(
      '--node-config-access <how>',
      'automatic: a node may read the ConfigMap assigned to it; manual: grant it with RBAC',
    )
      .choices(['automatic', 'manual'])
      .default('automatic'),
  )
  .option('--kubelet-certificate-authority <file>', "check kubelets' certificates against this authority")
  .addOption(
    new Option('--feature-gates <gates>', 'DynamicKubeletConfig=true|false')
      .argParser(parseGates)
      .default({ dynamicKubeletConfig: true }, 'true'),
  )
  .addOption(new Option('--log-format <format>', 'how to log to stderr').choices(['text', 'json']).default('text'))
  // The longest flag leaves less than commander would wrap by itself.
  .configureHelp({ minWidthToWrap: 30 })
  .action(serve);

void main();

async function main(): Promise<void> {
  // The first word picked this program; bin/relet.cjs leaves it in place.
  const words = process.argv.slice(2);
  const args = words[0] === 'apiserver' ? words.slice(1) : words;
  await runVerb(command, args);
}

async function serve(flags: Flags): Promise<void> {
  const log = createLog({ format: flags.logFormat, write: (line) => void process.stderr.write(line) });
  try {
    await run(flags, log);
  } catch (error) {
    log.error('relet apiserver cannot start', { error: whyNot(error as NodeJS.ErrnoException, flags) });
    process.exit(1);
  }
}

async function run(flags: Flags, log: Log): Promise<void> {
  const stopping = new Promise<NodeJS.Signals>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
  });
  const server = await startApiServer(serverOptions(flags, log));
  writeOut(`url: ${server.url}\nkubeconfig: ${server.kubeconfig}\nca: ${server.caFile}\nready\n`);
  log.info('serving', { url: server.url, dataDir: flags.dataDir, storage: flags.storage });
  const signal = await stopping;
  log.info('closing', { signal });
  await server.close();
  process.exit(0);
}

/** Errors of the system about a path or an address, as a remedy that names the flag. */
function whyNot(error: NodeJS.ErrnoException, { dataDir, bindAddress, port }: Flags): unknown {
  switch (`${error.code} ${error.syscall}`) {
    case 'EADDRINUSE listen':
      return `port ${port} is taken by another program: stop it, or choose another with --port (0 takes any)`;
    case 'EADDRNOTAVAIL listen':
      return `--bind-address=${bindAddress} is not an address of this machine`;
    case 'EACCES listen':
      return `port ${port} needs root: choose one of at least 1024 with --port`;
    case 'EEXIST mkdir':
    case 'ENOTDIR mkdir':
      return `--data-dir=${dataDir} is not a directory: give another`;
    case 'ENOENT mkdir':
    case 'EROFS mkdir':
    case 'EACCES mkdir':
    case 'EPERM mkdir':
      return `--data-dir=${dataDir} cannot be created (${error.message}): give another`;
    default:
      return error;
  }
}

function serverOptions(flags: Flags, log: Log): ApiServerOptions {
  const { tokenAuthFile, kubeletCertificateAuthority } = flags;
  return {
    dataDir: flags.dataDir,
    storage: flags.storage,
    bindAddress: flags.bindAddress,
    port: flags.port,
    anonymous: flags.anonymousAuth,
    modes: parseModes(flags.authorizationMode),
    nodeConfigAccess: flags.nodeConfigAccess,
    dynamicKubeletConfig: flags.featureGates.dynamicKubeletConfig,
    version: pkg.version,
    clock: systemClock,
    random: systemRandom,
    log,
    ...(tokenAuthFile === undefined
      ? {}
      : { tokens: [readTokenFile(readNamedBy('token-auth-file', tokenAuthFile), tokenAuthFile)] }),
    ...(kubeletCertificateAuthority === undefined
      ? {}
      : { kubeletCa: readNamedBy('kubelet-certificate-authority', kubeletCertificateAuthority) }),
  };
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('a port is a number from 0 to 65535.');
  return port;
}

function parseBoolean(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new InvalidArgumentError('true or false is expected.');
}

function parseGates(text: string): Flags['featureGates'] {
  let dynamicKubeletConfig = true;
  for (const gate of text.split(',')) {
    const [name = '', value = ''] = gate.trim().split('=');
    if (name !== 'DynamicKubeletConfig') {
      throw new InvalidArgumentError(`there is no feature gate '${name}'; there is DynamicKubeletConfig.`);
    }
    dynamicKubeletConfig = parseBoolean(value);
  }
  return { dynamicKubeletConfig };
}

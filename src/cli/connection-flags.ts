/** kubectl's connection flags, under kubectl's names, for every verb that connects to a cluster. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { configNamespace } from '../api/node-config.js';
import { tryParseDuration } from '../go/duration.js';
import { collect } from './command-line.js';

/** As commander hands them over. */
export interface ConnectionOptions {
  kubeconfig?: string;
  context?: string;
  cluster?: string;
  user?: string;
  namespace?: string;
  server?: string;
  tlsServerName?: string;
  insecureSkipTlsVerify?: boolean;
  certificateAuthority?: string;
  clientCertificate?: string;
  clientKey?: string;
  proxyUrl?: string;
  token?: string;
  username?: string;
  password?: string;
  as?: string;
  asUid?: string;
  asGroup?: string[];
  /** Milliseconds; 0: no limit. */
  requestTimeout?: number;
  verbose?: number;
}

const rarely: readonly (readonly [flags: string, description: string])[] = [
  ['--cluster <NAME>', 'cluster entry of the kubeconfig'],
  ['--user <NAME>', 'user entry of the kubeconfig'],
  ['--tls-server-name <NAME>', "name in the server's certificate"],
  ['--insecure-skip-tls-verify', "do not check the server's certificate"],
  ['--certificate-authority <FILE>', "authority of the server's certificate"],
  ['--client-certificate <FILE>', 'certificate to show'],
  ['--client-key <FILE>', 'its key'],
  ['--proxy-url <URL>', 'proxy to the server'],
  ['--username <NAME>', 'for basic authentication'],
  ['--password <WORD>', 'for basic authentication'],
  ['--as-uid <UID>', 'uid to impersonate'],
];

/** Those in daily use are shown in the help; the others are known all the same, as kubectl's are. */
export function addConnectionFlags(
  command: Command,
  namespaceMeans = `of the ConfigMaps (default '${configNamespace}')`,
): void {
  command
    .optionsGroup('Connection, as for kubectl:')
    .option('-n, --namespace <NAME>', namespaceMeans)
    .option('--context <NAME>', 'context of the kubeconfig')
    .option('--kubeconfig <FILE>', 'default $KUBECONFIG, then ~/.kube/config')
    .option('-s, --server <URL>', 'address of the API server')
    .option('--token <TOKEN>', 'bearer token for the API server')
    .option('--as <USER>', 'user to impersonate')
    .option('--as-group <GROUP>', 'group to impersonate; may be repeated', collect)
    .addOption(
      new Option('--request-timeout <TIME>', 'limit of one request, such as 10s; 0 for none')
        .argParser(parseTime)
        .default(30_000, '30s'),
    )
    .addOption(
      new Option('-v, --verbose [LEVEL]', 'print each request to the server; LEVEL 6 when left out').argParser(
        parseLevel,
      ),
    );
  for (const [flags, description] of rarely) command.addOption(new Option(flags, description).hideHelp());
}

/** Milliseconds from `10s` or, as kubectl has it, a bare number of seconds. */
export function parseTime(text: string): number {
  const nanoseconds = /^\d+$/.test(text) ? BigInt(text) * 1_000_000_000n : tryParseDuration(text);
  if (nanoseconds === undefined || nanoseconds < 0n) throw new InvalidArgumentError('Write it as 30s, 5m or 1h30m.');
  return Number(nanoseconds / 1_000_000n);
}

function parseLevel(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Must be a number.');
  return Number(text);
}

/** See fillIn: what a bare `-v` and `--dry-run` stand for. */
export const presets = {
  '-v': { value: '6', fits: /^\d+$/ },
  '--verbose': { value: '6', fits: /^\d+$/ },
  '--dry-run': { value: 'client', fits: /^(none|client|server)$/ },
};

/** `relet dashboard`: serves the dashboard. It acts with the credential of the user who is logged in, and has no permissions of its own. */
import type { BlockList } from 'node:net';
import { aborted } from '../aborted.js';
import { CannotRun } from '../cannot-run.js';
import { isLoopbackAddress, proxiesOf } from '../dashboard/server/request-checks.js';
import { createLog } from '../log.js';
import {
  addConnectionFlags,
  type ConnectionOptions,
  InvalidArgumentError,
  oneOf,
  runVerb,
  verb,
  withExamples,
} from './command-line.js';
import { readLink } from './dashboard-links.js';
import { explained } from './explain-failure.js';
import { defaultPort, serveDashboard } from './serve-dashboard.js';
import { openTerminal } from './terminal/terminal.js';

interface Flags extends ConnectionOptions {
  address: string;
  port?: number;
  basePath: string;
  readOnly?: boolean;
  allowedHosts: string[];
  trustProxyHeader?: string;
  trustedProxies?: BlockList;
  tlsCertFile?: string;
  tlsPrivateKeyFile?: string;
  logFormat: 'text' | 'json';
  link?: boolean;
}

export const run = (args: string[]): Promise<void> => runVerb(dashboardVerb(), args);

export function dashboardVerb() {
  const command = withExamples(
    verb(
      'relet dashboard',
      'Serve a page with the fleet, its rollouts and the buttons for them. It acts as the person who is logged in, and has no rights of its own.',
    )
      .option('--address <ADDRESS>', 'where to listen', '127.0.0.1')
      .option('--port <N>', `port; 0: any (default: ${defaultPort}, or any where that is taken)`, port)
      .option('--base-path <PATH>', 'path in front of everything, behind an Ingress', basePath, '/')
      .option('--link', "only print another link to the dashboard of 'relet up', which logs in once")
      .option('--read-only', 'only show: there are no buttons, and no request changes anything')
      .option('--allowed-hosts <LIST>', 'names under which it may be opened; with commas', list, [])
      .option('--trust-proxy-header <NAME>', "header in which a proxy sends the person's bearer token")
      .option(
        '--trusted-proxies <LIST>',
        'addresses, or networks such as 10.0.0.0/8, from which that header is believed (127.0.0.1,::1)',
        proxies,
      )
      .option('--tls-cert-file <FILE>', 'serve TLS with this certificate')
      .option('--tls-private-key-file <FILE>', 'and this key')
      .addOption(oneOf('--log-format <FORMAT>', 'how to log to stderr', ['text', 'json']))
      .action(serve),
    [
      ['relet dashboard', 'prints a link that logs in once, with the rights of the kubeconfig'],
      ['relet dashboard --link', "another link to the dashboard of 'relet up'"],
      ['relet dashboard --read-only --port 0', 'for a look only'],
    ],
  );
  addConnectionFlags(command);
  return command;
}

async function serve(flags: Flags): Promise<void> {
  const { print } = openTerminal();
  if (flags.link) return print(await readLink(flags.kubeconfig));
  const { address, tlsCertFile, tlsPrivateKeyFile, trustProxyHeader, port } = flags;
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined))
    throw new CannotRun('--tls-cert-file and --tls-private-key-file go together');
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal));
  const log = createLog({ format: flags.logFormat, write: (line) => void process.stderr.write(line) });
  const { url, newLink } = await serveDashboard({
    connection: flags,
    address,
    basePath: flags.basePath,
    readOnly: flags.readOnly ?? false,
    allowedHosts: flags.allowedHosts,
    log,
    signal: stop.signal,
    ...(port !== undefined && { port }),
    ...(flags.trustedProxies && { trustedProxies: flags.trustedProxies }),
    ...(trustProxyHeader !== undefined && { proxyHeader: trustProxyHeader }),
    ...(tlsCertFile !== undefined && { tls: { certFile: tlsCertFile, keyFile: tlsPrivateKeyFile! } }),
  }).catch((error: unknown) => {
    throw explained(cannotServe(error, flags), '');
  });
  if (!isLoopbackAddress(address) && tlsCertFile === undefined)
    log.warn('served without TLS: let it be reached only through a proxy that has TLS, or use --tls-cert-file', {
      url,
    });
  print(newLink ? `dashboard, this link logs in once, within 10 minutes:\n  ${newLink()}` : `dashboard: ${url}`);
  await aborted(stop.signal);
}

function cannotServe(error: unknown, { address, port, tlsCertFile }: Flags): unknown {
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return new CannotRun(`port ${port} of ${address} is taken; choose another with --port`);
  if (code === 'EACCES' && syscall === 'listen')
    return new CannotRun(`port ${port} needs more rights; choose one from 1024 on`);
  if (code === 'EADDRNOTAVAIL') return new CannotRun(`${address} is not an address of this machine; see --address`);
  if (syscall === 'open' && path !== undefined) return new CannotRun(`read ${path}: ${code}`);
  if (code?.startsWith('ERR_OSSL') && tlsCertFile !== undefined)
    return new CannotRun(`${tlsCertFile} and its key cannot be used: ${(error as Error).message}`);
  return error;
}

function port(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('Must be a whole number from 0 to 65535.');
}

/** With a slash at both ends. It goes into a page, so it is plain. */
function basePath(text: string): string {
  const path = `/${text.replace(/^\/+|\/+$/g, '')}/`.replace('//', '/');
  if (/^\/([\w.~-]+\/)*$/.test(path) && !/\/\.+\//.test(path)) return path;
  throw new InvalidArgumentError('Must be a path such as /relet, of letters, digits, dots, dashes and underscores.');
}

function proxies(text: string): BlockList {
  const found = proxiesOf(list(text));
  if (found === undefined)
    throw new InvalidArgumentError('Must be addresses, or networks such as 10.0.0.0/8, with commas.');
  return found;
}

const list = (text: string): string[] =>
  text
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '');

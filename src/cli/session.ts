/**
 * One run of a verb against a cluster: the connection, the selected nodes, the acting user, the terminal, and Ctrl-C. An interrupted
 * verb finishes the request in progress, prints what was done, and exits with 130; a second Ctrl-C ends it at once.
 */

import { setMaxListeners } from 'node:events';
import pkg from '../../package.json' with { type: 'json' };
import { parseLabelSelector, SelectorError } from '../api/label-selector.js';
import { checkDnsSubdomain } from '../api/names.js';
import { configNamespace } from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { ApiError } from '../api/status.js';
import { CannotRun } from '../cannot-run.js';
import { systemClock } from '../clock.js';
import { readPlain } from '../config/plain-document.js';
import { nearest } from '../config/suggest.js';
import { configReferences } from '../fleet/config-references.js';
import type { ConfigReferences, ConfiguredNode } from '../fleet/configured-node.js';
import { reviewSelf } from '../kube/access-review.js';
import { createClient, type KubeClient } from '../kube/client.js';
import type { ConnectionFlags } from '../kube/connection.js';
import { type IdentitySource, kubeconfigSource } from '../kube/identity.js';
import { kubeconfigPaths, systemFileReader } from '../kube/kubeconfig.js';
import { liveKeepAliveMs } from '../kube/liveness.js';
import { nodes, resourcePath } from '../kube/resource-type.js';
import { silentLog } from '../log.js';
import { byName as byNodeName } from '../natural-order.js';
import { systemRandom } from '../random.js';
import type { ConnectionOptions } from './command-line.js';
import { explained, missingNode } from './explain-failure.js';
import { openTerminal, printError, showProgress, type Terminal, terminalFor } from './terminal/terminal.js';

export interface Session {
  client: KubeClient;
  references: ConfigReferences;
  /** Default namespace of ConfigMaps. */
  namespace: string;
  /** The namespace of --namespace; without the flag all of them. */
  scope: { namespace?: string };
  terminal: Terminal;
  /** Fires at Ctrl-C and SIGTERM. Give it to what only reads or waits; a write is let finish. */
  signal: AbortSignal;
  /** Until the function ends, Ctrl-C is somebody else's: an editor that runs in the same terminal. */
  leavingKeyboardAlone<T>(work: () => Promise<T>): Promise<T>;
}

/** For a verb with `-o`, whose result may be for a program. */
export const withResultSession = <T>(
  options: ConnectionOptions & { output?: string | undefined },
  work: (session: Session) => Promise<T>,
): Promise<T> => withSession(options, work, terminalFor(options));

/** Runs a verb's work; errors of the API come out as words for people. */
export async function withSession<T>(
  options: ConnectionOptions,
  work: (session: Session) => Promise<T>,
  terminal: Terminal = openTerminal(),
): Promise<T> {
  const interrupt = new AbortController();
  // Every request under way listens to it.
  setMaxListeners(0, interrupt.signal);
  let isOurs = true;
  const onSignal = (name: NodeJS.Signals) => {
    if (!isOurs && name === 'SIGINT') return;
    const code = name === 'SIGINT' ? 130 : 143;
    if (interrupt.signal.aborted) process.exit(code);
    process.exitCode = code;
    interrupt.abort(new Interrupted(name));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  let client: KubeClient | undefined;
  try {
    client = connect(options);
    return await work({
      client,
      references: await configReferences(client, { signal: interrupt.signal }),
      namespace: options.namespace ?? configNamespace,
      scope: options.namespace === undefined ? {} : { namespace: options.namespace },
      terminal,
      signal: interrupt.signal,
      async leavingKeyboardAlone(inner) {
        isOurs = false;
        try {
          return await inner();
        } finally {
          isOurs = true;
        }
      },
    });
  } catch (error) {
    if (interrupt.signal.aborted && (error === interrupt.signal.reason || isAbort(error)))
      throw interrupt.signal.reason;
    throw explained(error, client?.connection.server ?? '', client && (await nearestNode(client, missingNode(error))));
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    client?.close();
  }
}

/** A name that is near to one that there is not, among the first 500; undefined also where the nodes cannot be listed. */
async function nearestNode(client: KubeClient, name: string | undefined): Promise<string | undefined> {
  if (name === undefined) return undefined;
  try {
    return nearest(name, await listNames(client, resourcePath(nodes, {})));
  } catch {
    return undefined;
  }
}

/** The first 500. Only metadata travels, where the server can do that. */
export async function listNames(client: KubeClient, path: string, labelSelector?: string): Promise<string[]> {
  const { text } = await client.raw({
    method: 'GET',
    path,
    query: { limit: '500', labelSelector },
    accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
  });
  const { items } = JSON.parse(text) as { items?: Pick<KubeObject, 'metadata'>[] | null };
  return (items ?? []).map(({ metadata }) => metadata.name);
}

/** Recognised by its name where the verb ends. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
  constructor(signal: NodeJS.Signals) {
    super(signal === 'SIGINT' ? 'interrupted' : 'stopped by SIGTERM');
  }
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

/** Credential and server from the kubeconfig and the flags. */
export const identitySource = (options: ConnectionOptions): IdentitySource =>
  kubeconfigSource({
    ...kubeconfigPaths({ explicit: options.kubeconfig, env: process.env }),
    readYaml: readPlain,
    files: systemFileReader,
    flags: connectionFlags(options),
    env: process.env,
    clock: systemClock,
    log: silentLog,
    interactive: process.stdin.isTTY === true,
  });

function connect(options: ConnectionOptions): KubeClient {
  const { env } = process;
  const source = identitySource(options);
  const isVerbose = (options.verbose ?? 0) >= 6;
  return createClient({
    source,
    clock: systemClock,
    random: systemRandom,
    userAgent: `relet/${pkg.version} (cli)`,
    env,
    tcpKeepAliveMs: liveKeepAliveMs,
    // setTimeout cannot wait longer than 24 days.
    timeoutMs: options.requestTimeout || 2 ** 31 - 1,
    onWarning: warnOnce(),
    ...(isVerbose && {
      onAnswer: ({ method, url, status, ms }) =>
        printError(`relet: ${method} ${url.href} ${status} in ${Math.round(ms)} ms`),
    }),
  });
}

/** Each text once. That the field is deprecated on servers from 1.22 to 1.25 is what relet is made for, and no news. */
function warnOnce(): (text: string) => void {
  const printed = new Set(['spec.configSource: deprecated in v1.22, support removal is planned in v1.23']);
  return (text) => {
    if (!printed.has(text)) printError(`relet: the API server warns: ${text}`);
    printed.add(text);
  };
}

function connectionFlags(options: ConnectionOptions): ConnectionFlags {
  const flags: Record<string, unknown> = {
    context: options.context,
    cluster: options.cluster,
    user: options.user,
    namespace: options.namespace,
    server: options.server,
    'tls-server-name': options.tlsServerName,
    'insecure-skip-tls-verify': options.insecureSkipTlsVerify,
    'certificate-authority': options.certificateAuthority,
    'client-certificate': options.clientCertificate,
    'client-key': options.clientKey,
    'proxy-url': options.proxyUrl,
    token: options.token,
    username: options.username,
    password: options.password,
    as: options.as,
    'as-uid': options.asUid,
    'as-groups': options.asGroup,
  };
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined)) as ConnectionFlags;
}

export interface NodeSelection {
  names: string[];
  selector?: string | undefined;
  all?: boolean | undefined;
}

/** The selected nodes, each once, in the given order. Throws if none was named, or none exists. */
export async function selectNodes(
  session: Session,
  { names, selector, all }: NodeSelection,
): Promise<ConfiguredNode[]> {
  const ways = [names.length > 0, selector !== undefined, all === true].filter(Boolean).length;
  if (ways === 0) throw new CannotRun('name the nodes, or use --selector or --all');
  if (ways > 1) throw new CannotRun('names of nodes, --selector and --all do not go together; keep one of them');
  if (names.length > 0) return byName(session, names);
  if (selector !== undefined) checkSelector(selector);
  const found: ConfiguredNode[] = [];
  const scope = selector === undefined ? {} : { labelSelector: selector };
  for await (const page of session.references.pages({ ...scope, signal: session.signal })) found.push(...page);
  if (found.length > 0) return found.sort(byNodeName);
  throw new CannotRun(
    selector === undefined
      ? 'the cluster has no nodes; nothing was changed'
      : `no node matches '${selector}'; nothing was changed. 'relet get --show-labels' shows their labels`,
  );
}

/** Nodes read at the same time. */
const mostAtOnce = 8;

/** Results of `read` for each node, in their order. With many, a line shows the progress. */
export async function readEach<N, T>(
  { terminal }: Session,
  nodes: readonly N[],
  read: (node: N) => Promise<T>,
): Promise<T[]> {
  const found: T[] = [];
  const progress = showProgress(terminal, () => performance.now(), { isQuietInPipe: true });
  let [next, done] = [0, 0];
  const worker = async () => {
    for (let at = next++; at < nodes.length; at = next++) {
      found[at] = await read(nodes[at]!);
      done++;
      if (nodes.length > mostAtOnce) progress.at('Reading', `what runs now, ${done} of ${nodes.length} nodes`);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(mostAtOnce, nodes.length) }, worker));
  } finally {
    progress.close();
  }
  return found;
}

/** From a word of the command line, `node-1` or `node/node-1`. Any other word cannot name a node and is rejected without a request. */
export function nodeName(word: string): string {
  const name = word.replace(/^(node|nodes|no)\//, '');
  if (checkDnsSubdomain(name).length === 0) return name;
  throw new CannotRun(`'${word}' cannot be the name of a node; 'relet get' lists them`);
}

export function checkSelector(selector: string): void {
  try {
    parseLabelSelector(selector);
  } catch (error) {
    if (error instanceof SelectorError)
      throw new CannotRun(`--selector '${selector}': ${error.message}; write it as key=value,other!=value`);
    throw error;
  }
}

async function byName({ references, signal }: Session, names: string[]): Promise<ConfiguredNode[]> {
  const wanted = [...new Set(names.map(nodeName))];
  const nodes: ConfiguredNode[] = [];
  for (const name of wanted) nodes.push(await references.get(name, { signal }));
  return nodes;
}

/** User name for histories and requests: from the API server, else from the kubeconfig. */
export async function whoAmI({ client, signal }: Session): Promise<string> {
  const { user, userName } = client.connection;
  try {
    const { username } = await reviewSelf(client, { signal });
    if (username) return username;
  } catch (error) {
    // Servers before 1.28 have no such review, and it may be forbidden.
    if (!(error instanceof ApiError)) throw error;
  }
  return user.as ?? (userName || 'unknown');
}

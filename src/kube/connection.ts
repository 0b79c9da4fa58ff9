/**
 * Resolves a kubeconfig and command-line overrides to one connection: server, CA, user. It has only texts and paths; identity.ts reads
 * the files.
 */
import { join } from 'node:path';
import {
  type ClusterEntry,
  type ContextEntry,
  type FileReader,
  type Kubeconfig,
  KubeconfigError,
  type UserEntry,
} from './kubeconfig.js';

export interface Connection {
  /** Scheme, host and any path prefix, without a trailing slash. */
  server: string;
  cluster: ClusterEntry;
  user: UserEntry;
  userName: string;
  /** The context's namespace, or `default`. */
  namespace: string;
  /** Empty in a cluster. */
  contextName: string;
}

/** kubectl's connection flags, under kubectl's names. */
export interface ConnectionFlags {
  context?: string;
  cluster?: string;
  user?: string;
  namespace?: string;
  server?: string;
  'tls-server-name'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'certificate-authority'?: string;
  'client-certificate'?: string;
  'client-key'?: string;
  'proxy-url'?: string;
  token?: string;
  username?: string;
  password?: string;
  as?: string;
  'as-uid'?: string;
  'as-groups'?: string[];
}

const clusterFlags = ['server', 'tls-server-name', 'certificate-authority', 'proxy-url'] as const;
const userFlags = [
  'client-certificate',
  'client-key',
  'token',
  'username',
  'password',
  'as',
  'as-uid',
  'as-groups',
] as const;

export function resolveConnection(config: Kubeconfig, flags: ConnectionFlags = {}): Connection {
  const contextName = flags.context ?? config.currentContext;
  const context = pickContext(config, contextName, flags);
  const clusterName = flags.cluster ?? context.cluster ?? '';
  const userName = flags.user ?? context.user ?? '';
  const cluster = withClusterFlags(pickCluster(config, clusterName, contextName, flags), flags);
  const user = withUserFlags(pickUser(config, userName, contextName), flags);
  const connection: Connection = {
    server: serverUrl(cluster, clusterName, config),
    cluster,
    user,
    userName,
    namespace: flags.namespace || context.namespace || 'default',
    contextName,
  };
  checkUser(connection);
  return connection;
}

const serviceAccountDir = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The connection of a Pod, from its service account; undefined outside a cluster. */
export function inClusterConnection(
  env: Record<string, string | undefined>,
  files: FileReader,
  dir: string = serviceAccountDir,
): Connection | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  const tokenFile = join(dir, 'token');
  if (!host || !port || files.stamp(tokenFile) === undefined) return undefined;
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const namespaceFile = join(dir, 'namespace');
  return {
    server,
    cluster: { server, 'certificate-authority': join(dir, 'ca.crt') },
    user: { tokenFile },
    userName: '',
    namespace: (files.stamp(namespaceFile) && files.read(namespaceFile).trim()) || 'default',
    contextName: '',
  };
}

/** True when neither kubeconfig nor flags name a server: then the client may run in a Pod. */
export function namesNoServer(config: Kubeconfig, flags: ConnectionFlags): boolean {
  return config.clusters.size === 0 && config.contexts.size === 0 && !flags.server && !flags.context && !flags.cluster;
}

function pickContext(config: Kubeconfig, name: string, flags: ConnectionFlags): ContextEntry {
  if (name === '') return {};
  const context = config.contexts.get(name);
  if (context !== undefined) return context;
  if (flags.context === undefined && flags.server !== undefined) return {};
  throw new KubeconfigError(
    `context "${name}" does not exist in ${place(config)}${choices('contexts', config.contexts)}`,
  );
}

function pickCluster(config: Kubeconfig, name: string, contextName: string, flags: ConnectionFlags): ClusterEntry {
  const cluster = config.clusters.get(name);
  if (cluster !== undefined) return cluster;
  if (flags.server !== undefined) return {};
  if (name !== '')
    throw new KubeconfigError(
      `cluster "${name}"${contextName && ` of context "${contextName}"`} does not exist in ${place(config)}${choices('clusters', config.clusters)}`,
    );
  if (contextName !== '') throw new KubeconfigError(`context "${contextName}" in ${place(config)} names no cluster`);
  if (config.contexts.size > 0)
    throw new KubeconfigError(
      `${place(config)} has no current-context: choose one with --context or 'kubectl config use-context'${choices('contexts', config.contexts)}`,
    );
  const why = config.files.length > 0 ? 'names no cluster' : 'does not exist';
  throw new KubeconfigError(`${place(config)} ${why}: point KUBECONFIG or --kubeconfig at one, or pass --server`);
}

function pickUser(config: Kubeconfig, name: string, contextName: string): UserEntry {
  if (name === '') return {};
  const user = config.users.get(name);
  if (user !== undefined) return user;
  throw new KubeconfigError(
    `user "${name}"${contextName && ` of context "${contextName}"`} does not exist in ${place(config)}${choices('users', config.users)}`,
  );
}

function withClusterFlags(cluster: ClusterEntry, flags: ConnectionFlags): ClusterEntry {
  const merged: ClusterEntry = { ...cluster };
  for (const field of clusterFlags) if (flags[field]) merged[field] = flags[field];
  // The name in a certificate is that of one server, not of the one that the flag names.
  if (flags.server && !flags['tls-server-name']) delete merged['tls-server-name'];
  if (flags['certificate-authority']) delete merged['certificate-authority-data'];
  if (flags['insecure-skip-tls-verify'] !== undefined) {
    merged['insecure-skip-tls-verify'] = flags['insecure-skip-tls-verify'];
    if (flags['insecure-skip-tls-verify']) {
      delete merged['certificate-authority'];
      delete merged['certificate-authority-data'];
    }
  }
  return merged;
}

function withUserFlags(user: UserEntry, flags: ConnectionFlags): UserEntry {
  const merged: UserEntry = { ...user };
  for (const field of userFlags) if (flags[field]?.length) Object.assign(merged, { [field]: flags[field] });
  if (flags.token) delete merged.tokenFile;
  if (flags['client-certificate']) delete merged['client-certificate-data'];
  if (flags['client-key']) delete merged['client-key-data'];
  // Credentials of the command line replace those of the plugin.
  if (flags.token || flags.username || flags['client-certificate']) {
    delete merged.exec;
    delete merged['auth-provider'];
  }
  return merged;
}

function serverUrl(cluster: ClusterEntry, name: string, config: Kubeconfig): string {
  const server = cluster.server ?? '';
  if (server === '') throw new KubeconfigError(`cluster "${name}" in ${place(config)} has no server`);
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(server) ? server : `http://${server}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new KubeconfigError(`cluster "${name}" in ${place(config)}: server "${server}" is not an http(s) URL`);
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function checkUser({ cluster, user, userName }: Connection): void {
  const reject = (why: string) => {
    throw new KubeconfigError(`user "${userName}": ${why}`);
  };
  const hasCert = user['client-certificate'] || user['client-certificate-data'];
  const hasKey = user['client-key'] || user['client-key-data'];
  if (hasCert && !hasKey) reject('a client certificate without a key; set client-key or client-key-data');
  if ((user.token || user.tokenFile) && (user.username || user.password))
    reject('both a token and a username are given; keep one');
  if (user.exec && user['auth-provider']) reject('both exec and auth-provider are given; keep one');
  if (!user.as && (user['as-uid'] || user['as-groups']?.length || user['as-user-extra']))
    reject('a uid, groups or extra to impersonate without a user (--as)');
  if (
    cluster['insecure-skip-tls-verify'] &&
    (cluster['certificate-authority'] || cluster['certificate-authority-data'])
  )
    throw new KubeconfigError(
      `cluster of user "${userName}": a certificate authority together with insecure-skip-tls-verify; keep one`,
    );
}

function place(config: Kubeconfig): string {
  return `kubeconfig ${(config.files.length > 0 ? config.files : config.missing).join(':')}`;
}

function choices(what: string, known: Map<string, unknown>): string {
  const names = [...known.keys()];
  if (names.length === 0) return ` (it has no ${what})`;
  return ` (${what}: ${names.slice(0, 8).join(', ')}${names.length > 8 ? ', …' : ''})`;
}

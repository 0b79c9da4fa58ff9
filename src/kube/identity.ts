/**
 * The identity of a client, resolved for every request: client certificate, authorization header and trusted authorities, from
 * kubeconfig files or the Pod we run in. Rotated files, expired credentials of plugins and an edited kubeconfig take effect
 * without a restart.
 */
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import {
  type Connection,
  type ConnectionFlags,
  inClusterConnection,
  namesNoServer,
  resolveConnection,
} from './connection.js';
import {
  createExecPlugin,
  type ExecCredential,
  type ExecPlugin,
  ExecPluginError,
  type RunPlugin,
} from './exec-plugin.js';
import {
  type CachedFile,
  cachedFile,
  type FileReader,
  KubeconfigError,
  loadKubeconfig,
  type ReadYaml,
  type UserEntry,
} from './kubeconfig.js';

/** Certificates and keys for TLS, as PEM. */
export interface TlsMaterial {
  ca?: string;
  cert?: string;
  key?: string;
  serverName?: string;
  insecure: boolean;
}

export interface Credentials {
  headers: Record<string, string | string[]>;
  tls: TlsMaterial;
  /** To be called after a 401; true when there may be new credentials to try. */
  rejected(): boolean;
}

export interface Identity {
  connection: Connection;
  current(limit?: { readonly signal?: AbortSignal | undefined }): Promise<Credentials>;
}

export interface IdentityOptions {
  connection: Connection;
  env: Record<string, string | undefined>;
  files: FileReader;
  clock: Clock;
  interactive?: boolean;
  /** Runs exec plugins. Default: as children of this process. */
  runPlugin?: RunPlugin | undefined;
}

export function createIdentity(options: IdentityOptions): Identity {
  const { connection, env, files, clock, interactive = false, runPlugin } = options;
  const { cluster, user, userName } = connection;
  const place = (field: string) =>
    `${field} of ${field === 'certificate-authority' ? 'the cluster' : `user "${userName}"`}`;
  const ca = pem(cluster, 'certificate-authority', { place, files });
  const cert = pem(user, 'client-certificate', { place, files });
  const key = pem(user, 'client-key', { place, files });
  const tokenFile = user.tokenFile ? cachedFile(user.tokenFile, files) : undefined;
  let plugin: ExecPlugin | undefined;

  return {
    connection,
    async current(limit) {
      const tls: TlsMaterial = {
        insecure: cluster['insecure-skip-tls-verify'] ?? false,
        ...optional('ca', ca?.()),
        ...optional('serverName', cluster['tls-server-name']),
      };
      const headers = impersonation(connection);
      let given: ExecCredential | undefined;
      if (connection.server.startsWith('https:')) {
        // Credentials are sent over TLS only.
        if (user.exec) {
          plugin ??= createExecPlugin({
            exec: user.exec,
            cluster,
            certificateAuthority: tls.ca,
            userName,
            runPlugin,
            env,
            clock,
            interactive,
          });
          given = await plugin.credential(limit?.signal);
        }
        Object.assign(tls, optional('cert', given?.clientCertificate ?? cert?.()));
        Object.assign(tls, optional('key', given?.clientKey ?? key?.()));
        Object.assign(headers, authorization(connection, given, tokenFile, clock));
      }
      checkHeaders(headers, userName);
      return {
        headers,
        tls,
        rejected() {
          if (given === undefined) return false;
          plugin?.rejected(given);
          return true;
        },
      };
    },
  };
}

function optional<K extends string>(field: K, value: string | undefined): { [field in K]?: string } {
  return value === undefined ? {} : ({ [field]: value } as { [field in K]?: string });
}

type PemField = 'certificate-authority' | 'client-certificate' | 'client-key';
type PemEntry = { [field in PemField | `${PemField}-data`]?: string };

/** Inline data wins over a file, as in client-go. */
function pem(
  entry: PemEntry,
  field: PemField,
  { place, files }: { place(field: string): string; files: FileReader },
): (() => string) | undefined {
  const data = entry[`${field}-data`];
  if (data) {
    const text = Buffer.from(data, 'base64').toString('utf8');
    if (!text.includes('-----BEGIN ')) throw new KubeconfigError(`${place(`${field}-data`)} is not PEM in base64`);
    return () => text;
  }
  const path = entry[field];
  if (!path) return undefined;
  const file = cachedFile(path, files);
  return () => readOrExplain(file, path, place(field));
}

function readOrExplain(file: CachedFile, path: string, what: string): string {
  try {
    return file();
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const reason = code === 'ENOENT' ? 'no such file' : code === 'EACCES' ? 'permission denied' : String(cause);
    throw new KubeconfigError(`read ${what}, ${path}: ${reason}`, { cause });
  }
}

function authorization(
  { user, userName }: Connection,
  given: ExecCredential | undefined,
  tokenFile: CachedFile | undefined,
  clock: Clock,
): Record<string, string> {
  const bearer = (token: string) => ({ authorization: `Bearer ${token.trim()}` });
  if (given?.token) return bearer(given.token);
  if (tokenFile !== undefined) {
    try {
      return bearer(readOrExplain(tokenFile, user.tokenFile!, `tokenFile of user "${userName}"`));
    } catch (error) {
      // With both given the static token is used when the file cannot be read, as in client-go.
      if (!user.token) throw error;
    }
  }
  if (user.token) return bearer(user.token);
  if (user.username || user.password)
    return {
      authorization: `Basic ${Buffer.from(`${user.username ?? ''}:${user.password ?? ''}`).toString('base64')}`,
    };
  if (user['auth-provider']) return bearer(oidcToken(user['auth-provider'], userName, clock.now()));
  return {};
}

/** Node would throw a TypeError that does not name the origin of the text. */
function checkHeaders(headers: Record<string, string | string[]>, userName: string): void {
  for (const [name, value] of Object.entries(headers))
    if (/[^\t\x20-\x7e\x80-\xff]/.test([value].flat().join('')))
      throw new KubeconfigError(
        `user "${userName}": ${name === 'authorization' ? 'its token or password' : name} has a line break or another character that no HTTP header may have; write it again as one line of plain text`,
      );
}

function impersonation({ user }: Connection): Record<string, string | string[]> {
  if (!user.as) return {};
  const headers: Record<string, string | string[]> = { 'impersonate-user': user.as };
  if (user['as-uid']) headers['impersonate-uid'] = user['as-uid'];
  if (user['as-groups']?.length) headers['impersonate-group'] = user['as-groups'];
  for (const [name, values] of Object.entries(user['as-user-extra'] ?? {}))
    headers[`impersonate-extra-${encodeURIComponent(name.toLowerCase())}`] = values;
  return headers;
}

// A token may not expire while the request is sent.
const leewayMs = 10_000;

/**
 * The `oidc` auth provider of a kubeconfig: its id-token is the bearer token. It is not refreshed here: a refresh token may
 * be valid once, and using it is up to the tool that owns the file. kubectl writes the new one into the kubeconfig, which is
 * then read again.
 */
function oidcToken(provider: NonNullable<UserEntry['auth-provider']>, userName: string, now: number): string {
  if (provider.name !== 'oidc')
    throw new KubeconfigError(
      `user "${userName}": auth-provider "${provider.name}" was removed from Kubernetes clients in 1.26; use its exec plugin`,
    );
  const token = provider.config?.['id-token'];
  if (!token) throw new KubeconfigError(`user "${userName}": auth-provider oidc has no id-token; log in first`);
  const expiresAt = expiry(token);
  if (expiresAt !== undefined && expiresAt - leewayMs <= now)
    throw new KubeconfigError(
      `user "${userName}": the id-token expired at ${new Date(expiresAt).toISOString()}; ` +
        (provider.config?.['refresh-token']
          ? 'any kubectl command with this context refreshes it'
          : 'log in again (it has no refresh-token)'),
    );
  return token;
}

/** The `exp` claim in milliseconds; undefined when the token has no readable one. */
function expiry(token: string): number | undefined {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return typeof claims.exp === 'number' ? claims.exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}

/** The identity to use for the next request. */
export type IdentitySource = () => Identity;

export interface KubeconfigSourceOptions {
  /** From kubeconfigPaths(), or the kubelet's --kubeconfig. */
  paths: string[];
  /** A missing file is an error instead of empty. Default false. */
  mustExist?: boolean;
  flags?: ConnectionFlags;
  readYaml: ReadYaml;
  files: FileReader;
  /** For exec plugins, and for the address of the server in a Pod. */
  env: Record<string, string | undefined>;
  clock: Clock;
  log: Log;
  /** Standard input is a terminal, so that exec plugins may prompt. Default false. */
  interactive?: boolean;
  /** Runs exec plugins. Default: as children of this process. */
  runPlugin?: RunPlugin | undefined;
}

/** Throws when the files are unusable. Later, an edit that makes them unusable is logged and the identity stays. */
export function kubeconfigSource(options: KubeconfigSourceOptions): IdentitySource {
  const { paths, files, log } = options;
  const stamps = () => paths.map((path) => files.stamp(path) ?? 'absent').join(' ');
  let stamp = stamps();
  let identity = load(options);
  return () => {
    const now = stamps();
    if (now === stamp) return identity;
    stamp = now;
    try {
      identity = load(options);
      log.info('kubeconfig reloaded', { paths });
    } catch (error) {
      log.warn('kubeconfig changed and is unusable, keeping the previous one', { paths, error });
    }
    return identity;
  };
}

function load(options: KubeconfigSourceOptions): Identity {
  const { paths, mustExist = false, flags = {}, env, files, readYaml } = options;
  const config = loadKubeconfig(paths, { mustExist, readYaml, files });
  const inCluster = namesNoServer(config, flags) ? inClusterConnection(env, files) : undefined;
  const connection = inCluster ?? resolveConnection(config, flags);
  return createIdentity({ ...options, connection });
}

/** A plugin is a program, often one that makes a request: it is not run every second. */
const pluginEveryMs = 10_000;

/**
 * As kubeconfigSource, but waits for files that do not exist yet: during TLS bootstrap the kubelet writes its
 * kubeconfig, and the certificate that it names, only after its request was approved. It also waits while a file is
 * invalid, since it may be half written; each new reason is logged once.
 */
export async function waitForKubeconfig(
  options: KubeconfigSourceOptions & { signal?: AbortSignal; everyMs?: number },
): Promise<IdentitySource> {
  const { clock, log, signal, everyMs = 1000 } = options;
  let reason = '';
  for (;;) {
    let failedPlugin = false;
    signal?.throwIfAborted();
    try {
      const source = kubeconfigSource({ ...options, mustExist: true });
      await source().current({ signal });
      return source;
    } catch (error) {
      signal?.throwIfAborted();
      failedPlugin = error instanceof ExecPluginError;
      if ((error as Error).message !== reason) log.info('waiting for a usable kubeconfig', { error });
      reason = (error as Error).message;
    }
    await clock.sleep(failedPlugin ? pluginEveryMs : everyMs, signal);
  }
}

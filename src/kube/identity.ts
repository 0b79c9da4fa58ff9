/**
 * The identity of a client, resolved for every request: client certificate, authorization header and trusted authorities.
 * Rotated files, expired credentials of plugins and an edited kubeconfig take effect without a restart.
 */
import type { Clock } from '../clock.js';
import { type CachedFile, cachedFile, type FileReader } from './cached-file.js';
import type { Connection } from './connection.js';
import { createExecPlugin, type ExecCredential, type ExecPlugin } from './exec-plugin.js';
import { KubeconfigError } from './kubeconfig.js';
import { oidcToken } from './oidc.js';

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
  current(signal?: AbortSignal): Promise<Credentials>;
}

export interface IdentityOptions {
  connection: Connection;
  env: Record<string, string | undefined>;
  files: FileReader;
  clock: Clock;
  interactive?: boolean;
}

export function createIdentity({ connection, env, files, clock, interactive = false }: IdentityOptions): Identity {
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
    async current(signal) {
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
            env,
            clock,
            interactive,
          });
          given = await plugin.credential(signal);
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

/**
 * Reads kubeconfig files as kubectl does: several files are merged, the first to define an entry wins, relative paths are relative to
 * the file they are in. connection.ts interprets the entries. Also has the file cache that notices when others replace a file.
 */

import { readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

export interface ClusterEntry {
  server?: string;
  'tls-server-name'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'certificate-authority'?: string;
  'certificate-authority-data'?: string;
  'proxy-url'?: string;
  extensions?: { name: string; extension?: unknown }[];
}

export interface ExecEntry {
  apiVersion?: string;
  command?: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
  installHint?: string;
  provideClusterInfo?: boolean;
  interactiveMode?: string;
}

export interface UserEntry {
  'client-certificate'?: string;
  'client-certificate-data'?: string;
  'client-key'?: string;
  'client-key-data'?: string;
  token?: string;
  tokenFile?: string;
  username?: string;
  password?: string;
  as?: string;
  'as-uid'?: string;
  'as-groups'?: string[];
  'as-user-extra'?: Record<string, string[]>;
  exec?: ExecEntry;
  'auth-provider'?: { name: string; config?: Record<string, string> | null };
}

export interface ContextEntry {
  cluster?: string;
  user?: string;
  namespace?: string;
}

export interface Kubeconfig {
  currentContext: string;
  clusters: Map<string, ClusterEntry>;
  users: Map<string, UserEntry>;
  contexts: Map<string, ContextEntry>;
  /** The files it was read from, for messages. */
  files: string[];
  /** Files that do not exist. */
  missing: string[];
}

/** Reads YAML (and JSON) as Go does: undefined or null for an empty text. Injected, since a node already has a reader. */
export type ReadYaml = (text: string) => unknown;

/** A kubeconfig that cannot be used. The message names the file or entry, the reason and what to do. */
export class KubeconfigError extends Error {
  override name = 'KubeconfigError';
}

/**
 * Which files to read: an explicit one must exist; those of the KUBECONFIG list and the default may be missing.
 * Duplicates in the list are removed.
 */
export function kubeconfigPaths(options: {
  explicit?: string | undefined;
  env: Record<string, string | undefined>;
  home?: string;
}): { paths: string[]; mustExist: boolean } {
  const { explicit, env, home = env.HOME ?? '/' } = options;
  if (explicit) return { paths: [explicit], mustExist: true };
  const listed = (env.KUBECONFIG ?? '').split(':').filter((path) => path !== '');
  return { paths: listed.length > 0 ? [...new Set(listed)] : [join(home, '.kube', 'config')], mustExist: false };
}

export function loadKubeconfig(
  paths: string[],
  options: { readYaml: ReadYaml; files: FileReader; mustExist?: boolean },
): Kubeconfig {
  const merged: Kubeconfig = {
    currentContext: '',
    clusters: new Map(),
    users: new Map(),
    contexts: new Map(),
    files: [],
    missing: [],
  };
  for (const path of paths) {
    const text = readOrSkip(path, options.files, options.mustExist ?? false);
    if (text === undefined) merged.missing.push(path);
    else mergeInto(merged, parseKubeconfig(text, path, options.readYaml));
  }
  return merged;
}

/** `path` is for messages, and its directory is the base of relative paths. */
export function parseKubeconfig(text: string, path: string, readYaml: ReadYaml): Kubeconfig {
  const document = parseDocument(text, path, readYaml);
  const base = dirname(path);
  const clusters = entries<ClusterEntry>(document, 'clusters', 'cluster', path);
  const users = entries<UserEntry>(document, 'users', 'user', path);
  for (const cluster of clusters.values()) resolvePath(cluster, 'certificate-authority', base);
  for (const user of users.values()) {
    for (const field of ['client-certificate', 'client-key', 'tokenFile'] as const) resolvePath(user, field, base);
    // A bare name is looked up in PATH; only a path is relative to the file.
    if (user.exec?.command?.includes('/')) resolvePath(user.exec, 'command', base);
  }
  return {
    currentContext: typeof document['current-context'] === 'string' ? document['current-context'] : '',
    clusters,
    users,
    contexts: entries<ContextEntry>(document, 'contexts', 'context', path),
    files: [path],
    missing: [],
  };
}

function readOrSkip(path: string, files: FileReader, mustExist: boolean): string | undefined {
  try {
    return files.read(path);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' && !mustExist) return undefined;
    const reason =
      code === 'ENOENT' ? 'no such file' : code === 'EACCES' ? 'permission denied' : (cause as Error).message;
    throw new KubeconfigError(`read kubeconfig ${path}: ${reason}`, { cause });
  }
}

function parseDocument(text: string, path: string, readYaml: ReadYaml): Record<string, unknown> {
  let document: unknown;
  try {
    document = readYaml(text);
  } catch (cause) {
    throw new KubeconfigError(`read kubeconfig ${path}: ${(cause as Error).message.split('\n')[0]}`, { cause });
  }
  if (document === null || document === undefined) return {};
  if (typeof document !== 'object' || Array.isArray(document))
    throw new KubeconfigError(`read kubeconfig ${path}: not a mapping of clusters, users and contexts`);
  return document as Record<string, unknown>;
}

function entries<T extends object>(
  document: Record<string, unknown>,
  list: 'clusters' | 'users' | 'contexts',
  inner: 'cluster' | 'user' | 'context',
  path: string,
): Map<string, T> {
  const found = new Map<string, T>();
  const items = document[list] ?? [];
  if (!Array.isArray(items)) throw new KubeconfigError(`read kubeconfig ${path}: ${list} is not a list`);
  for (const [index, item] of items.entries()) {
    const name = item?.name;
    const value = item?.[inner] ?? {};
    if (typeof name !== 'string' && typeof name !== 'number')
      throw new KubeconfigError(`read kubeconfig ${path}: ${list}[${index}] has no name`);
    if (typeof value !== 'object' || Array.isArray(value))
      throw new KubeconfigError(`read kubeconfig ${path}: ${list}[${index}].${inner} is not a mapping`);
    if (found.has(String(name)))
      throw new KubeconfigError(`read kubeconfig ${path}: ${list} has "${name}" twice; remove or rename one`);
    checkFields(value as Record<string, unknown>, fieldTypes[inner], `${path}: ${inner} "${name}"`);
    found.set(String(name), value as T);
  }
  return found;
}

type FieldType = 'string' | 'boolean' | 'list' | 'mapping';
const fieldTypes: Record<'cluster' | 'user' | 'context' | 'exec', Record<string, FieldType>> = {
  cluster: {
    server: 'string',
    'tls-server-name': 'string',
    'insecure-skip-tls-verify': 'boolean',
    'certificate-authority': 'string',
    'certificate-authority-data': 'string',
    'proxy-url': 'string',
    extensions: 'list',
  },
  user: {
    'client-certificate': 'string',
    'client-certificate-data': 'string',
    'client-key': 'string',
    'client-key-data': 'string',
    token: 'string',
    tokenFile: 'string',
    username: 'string',
    password: 'string',
    as: 'string',
    'as-uid': 'string',
    'as-groups': 'list',
    'as-user-extra': 'mapping',
    exec: 'mapping',
    'auth-provider': 'mapping',
  },
  context: { cluster: 'string', user: 'string', namespace: 'string' },
  exec: {
    apiVersion: 'string',
    command: 'string',
    args: 'list',
    env: 'list',
    installHint: 'string',
    provideClusterInfo: 'boolean',
    interactiveMode: 'string',
  },
};

/** Types of the items in a list, or of the values in a mapping. */
const itemTypes: Record<string, FieldType> = {
  args: 'string',
  env: 'mapping',
  extensions: 'mapping',
  'as-groups': 'string',
  'as-user-extra': 'list',
};

const typeOf = (value: unknown): string =>
  Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value === 'object' ? 'mapping' : typeof value;

/** Null means absent, as in Go; such fields are removed. Unknown fields stay, as newer clients may know them. */
function checkFields(entry: Record<string, unknown>, types: Record<string, FieldType>, place: string): void {
  for (const [field, type] of Object.entries(types)) {
    const value = entry[field];
    if (value === null) delete entry[field];
    if (value === null || value === undefined) continue;
    checkType(value, type, `${place}: ${field}`);
    const itemType = itemTypes[field];
    for (const [at, item] of itemType === undefined ? [] : Object.entries(value))
      checkType(item, itemType!, `${place}: ${field}[${at}]`);
    if (field === 'exec') checkFields(value as Record<string, unknown>, fieldTypes.exec, `${place} exec`);
  }
}

function checkType(value: unknown, type: FieldType, place: string): void {
  const is = typeOf(value);
  if (is === type) return;
  throw new KubeconfigError(
    `read kubeconfig ${place} must be a ${type}, not a ${is}${type === 'string' ? ' (quote it)' : ''}`,
  );
}

function resolvePath<K extends string>(entry: { [field in K]?: string }, field: K, base: string): void {
  const path = entry[field];
  if (typeof path === 'string' && path !== '' && !isAbsolute(path)) entry[field] = join(base, path);
}

function mergeInto(merged: Kubeconfig, next: Kubeconfig): void {
  merged.files.push(...next.files);
  if (merged.currentContext === '') merged.currentContext = next.currentContext;
  for (const kind of ['clusters', 'users', 'contexts'] as const) {
    const into = merged[kind] as Map<string, unknown>;
    for (const [name, entry] of next[kind]) if (!into.has(name)) into.set(name, entry);
  }
}

/** How a client reads files. Symbolic links are followed: a Pod's service account consists of them. */
export interface FileReader {
  /** Throws the error of the file system when the file cannot be read. */
  read(path: string): string;
  /** Differs whenever the content may differ; equal means unchanged. Undefined when there is no file. */
  stamp(path: string): string | undefined;
}

export const systemFileReader: FileReader = {
  read: (path) => readFileSync(path, 'utf8'),
  stamp(path) {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat && `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
  },
};

/** Returns the present content of the file, and throws as FileReader does. */
export type CachedFile = () => string;

/**
 * Files that others replace while we run: certificates, tokens, kubeconfigs. Their content is cached, and read again when
 * inode, size or times changed; of a symbolic link those of its target count.
 */
export function cachedFile(path: string, files: FileReader): CachedFile {
  let cached: { stamp: string | undefined; content: string } | undefined;
  return () => {
    // Stamp first: after a write in between, the next call reads again.
    const stamp = files.stamp(path);
    if (cached === undefined || cached.stamp !== stamp) cached = { stamp, content: files.read(path) };
    return cached.content;
  };
}

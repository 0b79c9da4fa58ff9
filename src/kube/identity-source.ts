/** Where a client's identity comes from: kubeconfig files, read again when they change, or the Pod we run in. */
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import type { FileReader } from './cached-file.js';
import { type ConnectionFlags, inClusterConnection, namesNoServer, resolveConnection } from './connection.js';
import { createIdentity, type Identity } from './identity.js';
import { loadKubeconfig, type ReadYaml } from './kubeconfig.js';

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
  const { paths, mustExist = false, flags = {}, env, files, clock, readYaml, interactive = false } = options;
  const config = loadKubeconfig(paths, { mustExist, readYaml, files });
  const inCluster = namesNoServer(config, flags) ? inClusterConnection(env, files) : undefined;
  const connection = inCluster ?? resolveConnection(config, flags);
  return createIdentity({ connection, env, files, clock, interactive });
}

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
    signal?.throwIfAborted();
    try {
      const source = kubeconfigSource({ ...options, mustExist: true });
      await source().current(signal);
      return source;
    } catch (error) {
      signal?.throwIfAborted();
      if ((error as Error).message !== reason) log.info('waiting for a usable kubeconfig', { error });
      reason = (error as Error).message;
    }
    await clock.sleep(everyMs, signal);
  }
}

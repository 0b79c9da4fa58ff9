/** Where a client's identity comes from: kubeconfig files, read again when they change, or the Pod we run in. */
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import type { FileReader } from './cached-file.js';
import { type ConnectionFlags, inClusterConnection, resolveConnection, saysNothing } from './connection.js';
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
  /** The environment of exec plugins, and where a Pod finds its server. */
  env: Record<string, string | undefined>;
  clock: Clock;
  log: Log;
  /** A person sits at standard input: exec plugins may ask. Default false. */
  interactive?: boolean;
}

/** Throws at once when the files are unusable; once they were usable, a broken edit is logged and the last good one stays. */
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
      log.info('kubeconfig changed, read again', { paths });
    } catch (error) {
      log.warn('kubeconfig changed and is unusable, the one read before stays in use', { paths, error });
    }
    return identity;
  };
}

function load(options: KubeconfigSourceOptions): Identity {
  const { paths, mustExist = false, flags = {}, env, files, clock, readYaml, interactive = false } = options;
  const config = loadKubeconfig(paths, { mustExist, readYaml, files });
  const inCluster = saysNothing(config, flags) ? inClusterConnection(env, files) : undefined;
  const connection = inCluster ?? resolveConnection(config, flags);
  return createIdentity({ connection, env, files, clock, interactive });
}

/**
 * As kubeconfigSource, but waits for files that do not exist yet: during TLS bootstrap the kubelet writes its
 * kubeconfig, and the certificate it names, only after its request was approved. A file that exists and is wrong
 * is waited for too, since the writer may be half-way; each new reason is logged once.
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

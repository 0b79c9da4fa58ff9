/**
 * Decides when a failed config is started again without a new assignment.
 *
 *   failed ── the kubelet's executable changed ─────────────────────► tried again
 *      ├───── a file that it names changed, and some time passed ───► tried again
 *      └───── it was last known good, and its fallback is healthy ──► started once more; if it crashes, it stays failed
 */
import type { Clock } from '../../clock.js';
import { readPlain } from '../../config/plain-document.js';
import type { KubeletDriver } from '../drivers/driver.js';
import type { HostFiles } from '../host-files.js';
import type { Environment, Failure } from './trial.js';

const mostPaths = 100;
const firstWaitMs = 60_000;
const mostWaitMs = 3_600_000;

/** Every absolute path in a config: certificates, static pods, resolv.conf. A document that cannot be read names none. */
export function pathsIn(config: string): string[] {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value === 'string' && /^\/[^\0]*[^\0/]/.test(value)) found.add(value);
    else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) visit(inner);
  };
  try {
    visit(readPlain(config));
  } catch {
    return [];
  }
  return [...found].sort().slice(0, mostPaths);
}

/** Backoff for files that change all the time: each failure doubles the time in which changes are ignored, up to an hour. */
export function mayRetry({ environment, failures = 1, at }: Failure, present: Environment, nowMs: number): boolean {
  if (environment === undefined) return false;
  if (environment.binary !== present.binary) return true;
  const sinceMs = nowMs - Date.parse(at);
  const isEarly = sinceMs >= 0 && sinceMs < Math.min(firstWaitMs * 2 ** (failures - 1), mostWaitMs);
  return !isEarly && Object.entries(environment.files).some(([path, content]) => present.files[path] !== content);
}

/**
 * A fallback that is healthy shows that nothing else is broken now. If the fallback itself took as long as the deadline
 * allows, something else was broken also for a config that only was not healthy in time.
 */
export function retriesOnce({ reason, retryOnce }: Failure, fallback: { tookLong: boolean }): boolean {
  return retryOnce === true && (reason === 'CrashLoop' || fallback.tookLong);
}

interface Host {
  driver: Pick<KubeletDriver, 'fingerprint'>;
  hostFiles: Pick<HostFiles, 'contentOf'>;
  clock: Pick<Clock, 'now'>;
}

/** True if an input of the result has changed since: the config may be tried again. */
export function isOutdated(host: Host, failure: Failure): boolean {
  return mayRetry(failure, environmentNow(host, failure), host.clock.now());
}

/** The failure once more: the changed input did not help, and it is retried only after another change. */
export function failedAgain(host: Host, failure: Failure): Failure {
  const at = new Date(host.clock.now()).toISOString();
  return { ...failure, at, failures: (failure.failures ?? 1) + 1, environment: environmentNow(host, failure) };
}

const environmentNow = (host: Host, { environment }: Failure): Environment =>
  environmentOf(host, Object.keys(environment?.files ?? {}));

export function environmentOf({ driver, hostFiles }: Pick<Host, 'driver' | 'hostFiles'>, paths: string[]): Environment {
  const files = Object.fromEntries(paths.map((path) => [path, hostFiles.contentOf(path)]));
  return { binary: driver.fingerprint(), files };
}

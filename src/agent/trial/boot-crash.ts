/**
 * Records that the last known good crashed at a boot. In the same boot it may become healthy, because another config has set what it
 * needs (protectKernelDefaults), so success there proves nothing: the crash stays reported until the config has survived a boot.
 *
 *   crashed at a boot ─► reported ─► healthy in that boot: reported ─► healthy in a later boot: over
 *                                                   └─ another config runs as it should: over
 */
import { isObject } from '../../json.js';
import { defineRecord } from '../state/json-record.js';
import type { NodeState } from '../state/node-state.js';

export interface BootCrash {
  /** RFC 3339. */
  at: string;
  cause: string;
}

interface BootRecord {
  /** Digest of the document. */
  digest: string;
  /** The last boot in which its kubelet was healthy. */
  healthyIn?: string;
  crashed?: BootCrash & { bootId: string };
}

const bootRecord = defineRecord('boot', isBootRecord);

export function bootCrashOf(state: NodeState): BootCrash | undefined {
  const { crashed } = state.read(bootRecord) ?? {};
  return crashed && { at: crashed.at, cause: crashed.cause };
}

/** The kubelet has stayed healthy with the config that should run. */
export function noteHealthy(state: NodeState, digest: string, bootId: string): void {
  const before = state.read(bootRecord);
  if (before?.digest === digest && before.healthyIn === bootId) return;
  const crashed = before?.digest === digest && before.crashed?.bootId === bootId ? before.crashed : undefined;
  state.write(bootRecord, { digest, healthyIn: bootId, ...(crashed && { crashed }) });
}

/** The last known good config has failed. Not where it was healthy in this boot before. */
export function noteFailed(state: NodeState, digest: string, bootId: string, crash: BootCrash): void {
  const before = state.read(bootRecord);
  const healthyIn = before?.digest === digest ? before.healthyIn : undefined;
  if (healthyIn === bootId) return;
  state.write(bootRecord, { digest, ...(healthyIn && { healthyIn }), crashed: { ...crash, bootId } });
}

function isBootRecord(value: unknown): value is BootRecord {
  if (!isObject(value) || typeof value.digest !== 'string') return false;
  const { healthyIn, crashed } = value;
  if (healthyIn !== undefined && typeof healthyIn !== 'string') return false;
  if (crashed === undefined) return true;
  return isObject(crashed) && ['at', 'cause', 'bootId'].every((name) => typeof crashed[name] === 'string');
}

/**
 * What changing each field on a live node needs, and why. Separate from the rest of the module: only people read it, so
 * only the command line carries it. Versions, defaults and flags of a field are in fields.ts.
 */
import { apiTraffic } from './catalogue/api-traffic.js';
import { cgroups } from './catalogue/cgroups.js';
import { type Entries, type Entry, type Needs, needsInOrder } from './catalogue/entry.js';
import { eviction } from './catalogue/eviction.js';
import { imagesAndLogs } from './catalogue/images-and-logs.js';
import { loggingAndGates } from './catalogue/logging-and-gates.js';
import { network } from './catalogue/network.js';
import { pods } from './catalogue/pods.js';
import { resourceManagers } from './catalogue/resource-managers.js';
import { server } from './catalogue/server.js';
import { staticPods } from './catalogue/static-pods.js';
import type { Minor } from './model.js';

export { type Entry, type Needs, needsMeaning } from './catalogue/entry.js';

/** The themes, in the order a person meets them. */
export const themes: readonly (readonly [title: string, entries: Entries])[] = [
  ['Pods', pods],
  ['Eviction', eviction],
  ['Cgroups and reservations', cgroups],
  ['CPU, memory and topology managers', resourceManagers],
  ['Images, container logs and the runtime', imagesAndLogs],
  ['The kubelet as a server', server],
  ['Talking to the API server', apiTraffic],
  ['Static pods', staticPods],
  ['Network', network],
  ['Log, traces and feature gates', loggingAndGates],
];

const byPath = new Map(themes.flatMap(([, entries]) => Object.entries(entries)));

/** The entry of a field path such as `logging.format` or `reservedMemory[].limits`. */
export function entryOf(path: string): Entry | undefined {
  return byPath.get(path);
}

export interface Impact {
  needs: Needs;
  why: string;
  risk: string;
}

/**
 * What changing the value at a path needs on a kubelet of that minor. Paths into maps and lists
 * (`evictionHard[memory.available]`, `clusterDNS[0]`) are answered by their field.
 */
export function impactOf(path: string, minor: Minor): Impact | undefined {
  const entry = nearestEntry(path);
  if (entry === undefined) return undefined;
  const { needs, why, risk, later } = entry;
  return later !== undefined && minor >= later.from
    ? { needs: later.needs, why: later.why, risk }
    : { needs, why, risk };
}

/** The most demanding of several; `none` when there are none. */
export function mostDemanding(needs: Iterable<Needs>): Needs {
  let rank = 0;
  for (const one of needs) rank = Math.max(rank, needsInOrder.indexOf(one));
  return needsInOrder[rank]!;
}

function nearestEntry(path: string): Entry | undefined {
  let candidate = path.replace(/\[\d+\]/g, '[]');
  for (;;) {
    const entry = byPath.get(candidate);
    if (entry !== undefined) return entry;
    const shorter = candidate.replace(/(\[[^\]]*\]|\.[^.[\]]+)$/, '');
    if (shorter === candidate) return undefined;
    candidate = shorter;
  }
}

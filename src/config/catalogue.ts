/**
 * The catalogue: what changing each field requires on a live node (restart, drain, reboot, …), and why. For previews, sets and `relet
 * config explain`. Versions, defaults and flags of a field are in fields.ts.
 */
import { apiTraffic } from './catalogue/api-traffic.js';
import { cgroups } from './catalogue/cgroups.js';
import {
  type Case,
  type Entries,
  type Entry,
  type Impact,
  type ImpactContext,
  type Needs,
  needsInOrder,
  type PodsEffect,
  type Situation,
} from './catalogue/entry.js';
import { eviction } from './catalogue/eviction.js';
import { imagesAndLogs } from './catalogue/images-and-logs.js';
import { loggingAndGates } from './catalogue/logging-and-gates.js';
import { network } from './catalogue/network.js';
import { pods } from './catalogue/pods.js';
import { reservations } from './catalogue/reservations.js';
import { resourceManagers } from './catalogue/resource-managers.js';
import { server } from './catalogue/server.js';
import { staticPods } from './catalogue/static-pods.js';
import { setDefaults } from './defaults.js';
import type { Change } from './diff.js';
import { type Minor, parentPath } from './model.js';

export {
  type Case,
  type Entry,
  type Impact,
  type ImpactContext,
  type Needs,
  needsMeaning,
  type PodsEffect,
} from './catalogue/entry.js';
export { signalSources, watchOf, watchSentence } from './catalogue/watch.js';

/** The themes, in the order a person meets them. */
export const themes: readonly (readonly [title: string, entries: Entries])[] = [
  ['Pods', pods],
  ['Eviction', eviction],
  ['Cgroups and memory', cgroups],
  ['Reservations', reservations],
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

/** General entry of a field for a kubelet of that minor; a single change may differ by its direction. */
export function fieldImpact(path: string, minor: Minor): Pick<Entry, 'needs' | 'why' | 'risk'> | undefined {
  const entry = nearestEntry(path);
  if (entry === undefined) return undefined;
  const { needs, why, risk, later } = entry;
  return later !== undefined && minor >= later.from
    ? { needs: later.needs, why: later.why, risk }
    : { needs, why, risk };
}

/** All classes that a change of the field can have, by direction and by what runs, mildest first. */
export function classesOf(path: string, minor: Minor): Needs[] {
  const general = fieldImpact(path, minor)?.needs;
  const all = [general, ...(nearestEntry(path)?.cases ?? []).map(({ needs }) => needs)];
  return needsInOrder.filter((one) => all.includes(one));
}

/**
 * Needs and risks of a change on a kubelet of that minor, by its direction and by the known facts of the node. Paths into maps and
 * lists (`evictionHard[memory.available]`, `clusterDNS[0]`) are answered by their field. Undefined if there is no such field.
 */
export const impactOf = (change: Change, context: ImpactContext): Impact | undefined => impactsOf([change], context)[0];

/** The same of many changes of one config: the defaults of both sides are set once, however many keys of a map differ. */
export function impactsOf(changes: readonly Change[], context: ImpactContext): (Impact | undefined)[] {
  const { before, after, minor, facts = {} } = context;
  const situation = { minor, before: setDefaults(before, minor), after: setDefaults(after, minor), facts };
  return changes.map((change) => impactIn(situation, change));
}

function impactIn(situation: Situation, change: Change): Impact | undefined {
  const entry = nearestEntry(change.path);
  const general = fieldImpact(change.path, situation.minor);
  if (entry === undefined || general === undefined) return undefined;
  const one: Partial<Case> = entry.cases?.find((each) => each.applies(change, situation)) ?? {};
  const needs = one.needs ?? general.needs;
  const risk = one.risk ?? general.risk;
  const atBoot = one.atBoot ?? entry.atBoot ?? '';
  return {
    needs,
    ...(one.mayNeed && { mayNeed: one.mayNeed }),
    why: one.why ?? general.why,
    ...(risk !== '' && { risk }),
    ...(atBoot !== '' && { atBoot }),
    pods: effectOf(one.pods ?? entry.pods ?? usualEffect(needs), change, situation),
  };
}

const usualEffect = (needs: Needs): PodsEffect['kind'] =>
  needs === 'none' || needs === 'restart' ? 'unaffected' : 'unknown';

function effectOf(pods: NonNullable<Case['pods']>, change: Change, situation: Situation): PodsEffect {
  if (typeof pods === 'function') return pods(change, situation);
  return pods === 'fail admission' ? { kind: pods, pods: [] } : { kind: pods };
}

/** The most demanding of several; `none` when there are none. */
export function mostDemanding(needs: Iterable<Needs>): Needs {
  let rank = 0;
  for (const one of needs) rank = Math.max(rank, needsInOrder.indexOf(one));
  return needsInOrder[rank]!;
}

function nearestEntry(path: string): Entry | undefined {
  for (let candidate = path.replace(/\[\d+\]/g, '[]'); candidate !== ''; candidate = parentPath(candidate)) {
    const entry = byPath.get(candidate);
    if (entry !== undefined) return entry;
  }
  return undefined;
}

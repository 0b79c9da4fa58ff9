/**
 * Predicts which pods of a node the kubelet will reject when it restarts with another config. A kubelet that starts admits every pod
 * again: static pods first, then the others from the oldest to the youngest, each against the resources that are left. A critical pod
 * is not rejected for lack of resources; the kubelet evicts others in its favour (preemption).
 *
 * The kubelet reads allocatable from its Node, so a pod may also pass because the Node still had the old values at that moment; it then
 * fails at the next restart.
 */
import { setDefaults } from './defaults.js';
import { reservation } from './forecast/reservations.js';
import type { KubeletConfig, Minor } from './model.js';
import type { Amounts, NodeFacts, PodFacts } from './node-facts.js';
import { ConfigView } from './rules/config-view.js';

export interface PodFailure {
  /** `namespace/name`. */
  pod: string;
  /** As the kubelet reports it in the status of the pod: OutOfpods, OutOfmemory, SysctlForbidden, Preempting. */
  reason: string;
}

export interface Restart {
  minor: Minor;
  before: KubeletConfig;
  after: KubeletConfig;
  facts: NodeFacts;
}

/** Undefined if the pods or the resources of the node are not known. */
export function admissionFailures(restart: Restart): PodFailure[] | undefined {
  const { pods } = restart.facts;
  const limits = allocatableAfter(restart);
  if (pods === undefined || limits === undefined) return undefined;
  const allowed = patterns(setDefaults(restart.after, restart.minor));
  const wereAllowed = patterns(setDefaults(restart.before, restart.minor));
  const failures: PodFailure[] = [];
  let admitted: PodFacts[] = [];
  for (const pod of inOrder(pods)) {
    if (
      pod.sysctls.some((name) => matches(name, wereAllowed) && !matches(name, allowed) && !isSafe(name, restart.minor))
    ) {
      failures.push({ pod: pod.name, reason: 'SysctlForbidden' });
      continue;
    }
    const short = shortages(pod, admitted, limits);
    const victims = short.size === 0 ? [] : podsToPreempt(pod, admitted, short, restart.minor);
    if (victims === undefined) {
      failures.push({
        pod: pod.name,
        reason: isCritical(pod, restart.minor) ? 'UnexpectedAdmissionError' : `OutOf${[...short.keys()][0]}`,
      });
      continue;
    }
    for (const { name } of victims) failures.push({ pod: name, reason: 'Preempting' });
    admitted = [...admitted.filter((other) => !victims.includes(other)), pod];
  }
  return failures;
}

/** The file source is faster than the API, and its pods have no time of creation. */
const inOrder = (pods: readonly PodFacts[]): PodFacts[] =>
  [...pods].sort(
    (a, b) => Number(b.isStatic) - Number(a.isStatic) || Date.parse(a.createdAt) - Date.parse(b.createdAt),
  );

const giga = 1_000_000_000n;
const reservable = ['cpu', 'memory', 'ephemeral-storage'] as const;

/**
 * Allocatable resources as the node reports them now, less the increase of what the new config reserves. So values that flags set, and
 * huge pages, which are in neither config, are taken into account.
 */
export function allocatableAfter({
  before,
  after,
  minor,
  facts: { capacity, allocatable },
}: Restart): Amounts | undefined {
  if (capacity === undefined || allocatable === undefined) return undefined;
  const [old, next] = [before, after].map((config) => viewOf(setDefaults(config, minor), minor, capacity));
  const limits: Record<string, bigint> = { ...allocatable };
  const cores = Number((capacity.cpu ?? 0n) / giga);
  if (podLimit(old!, cores) !== podLimit(next!, cores)) limits.pods = BigInt(podLimit(next!, cores)) * giga;
  for (const name of reservable) {
    const [was, will] = [old!, next!].map((view) => reservation(view, name, Number((capacity[name] ?? 0n) / giga)));
    if (limits[name] === undefined || was === undefined || will === undefined) continue;
    const left = limits[name] - (will - was);
    limits[name] = left < 0n ? 0n : left;
  }
  return limits;
}

const viewOf = (config: KubeletConfig, minor: Minor, capacity: Amounts): ConfigView =>
  new ConfigView(config, { minor, flags: new Map(), host: { cpus: Number((capacity.cpu ?? 0n) / giga) } }, () => false);

function podLimit(view: ConfigView, cores: number): number {
  const [most, perCore] = [view.number('maxPods'), view.number('podsPerCore')];
  return perCore > 0 ? Math.min(perCore * cores, most) : most;
}

/** Resources that this pod lacks beside those that are admitted, in the order in which the kubelet reports them. */
function shortages(pod: PodFacts, admitted: readonly PodFacts[], limits: Amounts): Map<string, bigint> {
  const short = new Map<string, bigint>();
  for (const name of ['pods', ...reservable]) {
    const limit = limits[name];
    const asked = amount(pod, name);
    if (limit === undefined || asked === 0n) continue;
    const missing = admitted.reduce((sum, other) => sum + amount(other, name), asked) - limit;
    if (missing > 0n) short.set(name, missing);
  }
  return short;
}

const amount = (pod: PodFacts, name: string): bigint => (name === 'pods' ? giga : (pod.requests[name] ?? 0n));

const systemCritical = 2_000_000_000;

/** Static pods are critical since 1.16; before that only those whose priority says so. */
const isCritical = ({ isStatic, priority }: PodFacts, minor: Minor): boolean =>
  (isStatic && minor >= 16) || (priority ?? 0) >= systemCritical;

const canPreempt = (pod: PodFacts, other: PodFacts, minor: Minor): boolean =>
  (isCritical(pod, minor) && !isCritical(other, minor)) ||
  (pod.priority !== undefined && other.priority !== undefined && pod.priority > other.priority);

/** Undefined if the pod is not critical, or all that could go is not enough. Guaranteed pods go last, BestEffort ones first. */
function podsToPreempt(
  pod: PodFacts,
  admitted: PodFacts[],
  short: Map<string, bigint>,
  minor: Minor,
): PodFacts[] | undefined {
  if (!isCritical(pod, minor)) return undefined;
  const [bestEffort, burstable, guaranteed] = (['BestEffort', 'Burstable', 'Guaranteed'] as const).map((qosClass) =>
    admitted.filter((other) => other.qosClass === qosClass && canPreempt(pod, other, minor)),
  ) as [PodFacts[], PodFacts[], PodFacts[]];
  if (without(short, [...bestEffort, ...burstable, ...guaranteed]).size > 0) return undefined;
  const last = nearest(guaranteed, without(short, [...bestEffort, ...burstable]));
  const next = nearest(burstable, without(short, [...bestEffort, ...last]));
  return [...nearest(bestEffort, without(short, [...next, ...last])), ...next, ...last];
}

/** Shortages that remain when these pods are gone. */
function without(short: Map<string, bigint>, pods: readonly PodFacts[]): Map<string, bigint> {
  const left = new Map<string, bigint>();
  for (const [name, missing] of short) {
    const rest = pods.reduce((sum, pod) => sum - amount(pod, name), missing);
    if (rest > 0n) left.set(name, rest);
  }
  return left;
}

/** Takes the pod that covers most of what is missing, the smaller one of two alike, until nothing is. */
function nearest(pods: readonly PodFacts[], short: Map<string, bigint>): PodFacts[] {
  const taken: PodFacts[] = [];
  for (let left = short, rest = [...pods]; left.size > 0 && rest.length > 0; ) {
    const best = rest.reduce((one, other) => {
      const difference = distance(other, left) - distance(one, left);
      return difference < 0 || (difference === 0 && isSmaller(other, one)) ? other : one;
    });
    taken.push(best);
    left = without(left, [best]);
    rest = rest.filter((pod) => pod !== best);
  }
  return taken;
}

function distance(pod: PodFacts, short: Map<string, bigint>): number {
  let sum = 0;
  for (const [name, missing] of short) {
    const rest = missing - amount(pod, name);
    if (rest > 0n) sum += (Number(rest) / Number(missing)) ** 2;
  }
  return sum;
}

function isSmaller(a: PodFacts, b: PodFacts): boolean {
  for (const name of ['memory', 'cpu'])
    if (amount(a, name) !== amount(b, name)) return amount(a, name) < amount(b, name);
  return true;
}

const patterns = (config: KubeletConfig): string[] =>
  Array.isArray(config.allowedUnsafeSysctls) ? config.allowedUnsafeSysctls.map(String) : [];

const matches = (name: string, allowed: readonly string[]): boolean =>
  allowed.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern));

/** Sysctls that need no permission, and since which minor. */
const safeSysctls: Record<string, Minor> = {
  'kernel.shm_rmid_forced': 11,
  'net.ipv4.ip_local_port_range': 11,
  'net.ipv4.tcp_syncookies': 11,
  'net.ipv4.ping_group_range': 18,
  'net.ipv4.ip_unprivileged_port_start': 22,
  'net.ipv4.ip_local_reserved_ports': 27,
  'net.ipv4.tcp_keepalive_time': 29,
  'net.ipv4.tcp_fin_timeout': 29,
  'net.ipv4.tcp_keepalive_intvl': 29,
  'net.ipv4.tcp_keepalive_probes': 29,
  'net.ipv4.tcp_rmem': 32,
  'net.ipv4.tcp_wmem': 32,
  'net.ipv4.tcp_notsent_lowat': 37,
  'net.ipv4.tcp_slow_start_after_idle': 37,
};

const isSafe = (name: string, minor: Minor): boolean => (safeSysctls[name] ?? Number.POSITIVE_INFINITY) <= minor;

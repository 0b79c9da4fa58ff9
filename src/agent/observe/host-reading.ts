/**
 * Reads the counters of this host that survive a restart of the kubelet: memory and CPU of its cgroups, pressure, OOM kills. A file that
 * is missing, or says something else than expected, leaves its value out: missing is never 0.
 *
 *   cgroup v2   ROOT/kubepods.slice/memory.pressure …
 *   cgroup v1   ROOT/memory/kubepods/… ROOT/cpu/… ROOT/cpuacct/…, and the pressure of the whole machine from /proc/pressure
 */

import { rootPath } from '../../config/forecast/cgroups.js';

/** Seam to the host. */
export interface HostText {
  /** Undefined if there is no such file, or it cannot be read. */
  read(path: string): string | undefined;
  /** Names of the directories in a directory; empty where there is none. */
  dirs(path: string): string[];
}

/** Counters count up from the boot, or from the start of a cgroup. Gauges are values of this moment. */
export const columns = {
  memoryFullUs: 'counter',
  cpuSomeUs: 'counter',
  ioSomeUs: 'counter',
  /** CPU periods of all pods with a limit, and those of them in which the limit held the pod back. */
  periods: 'counter',
  throttled: 'counter',
  systemOomKills: 'counter',
  kubeletCpuUs: 'counter',
  runtimeCpuUs: 'counter',
  kubeletBytes: 'gauge',
  runtimeBytes: 'gauge',
  /** The most since the runtime was started, with page cache. */
  runtimePeakBytes: 'gauge',
  podTasks: 'gauge',
  /** Services of the host: system.slice, with the kubelet and the runtime where they are in it. */
  systemBytes: 'gauge',
  systemMemoryFullUs: 'counter',
} as const;

export type Column = keyof typeof columns;
export type Reading = Partial<Record<Column, number>>;

export interface CgroupPlaces {
  /** Mount point of the cgroup file systems; undefined if the agent does not see those of the host. */
  mount: string | undefined;
  /** As in the running config; '' and / for the top. */
  cgroupRoot: string;
  /** Cgroups of the kubelet; the first that exists is read. */
  kubelet: readonly string[];
}

const system = '/system.slice';
/** Units of the container runtimes that Kubernetes supports. k3s and RKE2 run theirs in their own unit. */
const runtimes = ['containerd', 'crio', 'docker'].map((name) => `${system}/${name}.service`);

export class HostReader {
  readonly #host: HostText;
  /** Last counters of each pod, since pods come and go: their sum would go back with every pod that ends. */
  readonly #pods = new Map<string, Pick<Reading, 'periods' | 'throttled'>>();
  #throttling: { periods: number; throttled: number };

  /** `from`: the sums of the last reading before this process began. */
  constructor(host: HostText, from: Reading = {}) {
    this.#host = host;
    this.#throttling = { periods: from.periods ?? 0, throttled: from.throttled ?? 0 };
  }

  read(places: CgroupPlaces): Reading {
    const groups = groupsAt(this.#host, places.mount);
    const find = (paths: readonly string[]) => paths.find((path) => groups?.has(path));
    const [pods, kubelet, runtime] = [podsPaths(places.cgroupRoot), places.kubelet, runtimes].map(find);
    const at = (path: string | undefined, value: 'cpuUs' | 'memoryBytes' | 'peakBytes' | 'tasks' | 'oomKills') =>
      path === undefined ? undefined : groups?.[value](path);
    const pressure = (kind: string) =>
      (pods === undefined ? undefined : groups?.pressure(pods, kind)) ?? this.#host.read(`/proc/pressure/${kind}`);
    const kills = keyed(this.#host.read('/proc/vmstat'), 'oom_kill');
    const reading: Record<Column, number | undefined> = {
      memoryFullUs: psiTotal(pressure('memory'), 'full'),
      cpuSomeUs: psiTotal(pressure('cpu'), 'some'),
      ioSomeUs: psiTotal(pressure('io'), 'some'),
      ...this.#throttlingOf(groups, pods),
      systemOomKills: difference(kills, at(pods, 'oomKills')),
      kubeletCpuUs: at(kubelet, 'cpuUs'),
      kubeletBytes: at(kubelet, 'memoryBytes'),
      runtimeCpuUs: at(runtime, 'cpuUs'),
      runtimeBytes: at(runtime, 'memoryBytes'),
      runtimePeakBytes: at(runtime, 'peakBytes'),
      podTasks: at(pods, 'tasks'),
      systemBytes: at(system, 'memoryBytes'),
      systemMemoryFullUs: psiTotal(groups?.pressure(system, 'memory'), 'full'),
    };
    return Object.fromEntries(Object.entries(reading).filter(([, value]) => value !== undefined));
  }

  /** A pod that is seen for the first time by this process counts from then on, a later one from its creation. */
  #throttlingOf(
    groups: Groups | undefined,
    pods: string | undefined,
  ): Record<'periods' | 'throttled', number | undefined> {
    if (groups === undefined || pods === undefined) return { periods: undefined, throttled: undefined };
    const isFirst = this.#pods.size === 0;
    const present = new Set(podGroups(groups, pods));
    for (const path of present) {
      const stat = groups.cpuStat(path);
      const now = { periods: keyed(stat, 'nr_periods'), throttled: keyed(stat, 'nr_throttled') };
      if (now.periods === undefined || now.throttled === undefined) continue;
      const last = this.#pods.get(path) ?? (isFirst ? now : {});
      this.#throttling.periods += Math.max(0, now.periods - (last.periods ?? 0));
      this.#throttling.throttled += Math.max(0, now.throttled - (last.throttled ?? 0));
      this.#pods.set(path, { periods: now.periods, throttled: now.throttled });
    }
    for (const path of this.#pods.keys()) if (!present.has(path)) this.#pods.delete(path);
    return { ...this.#throttling };
  }
}

/** The files of one cgroup; paths are of cgroups, as /system.slice/kubelet.service. */
interface Groups {
  has(path: string): boolean;
  children(path: string): string[];
  pressure(path: string, kind: string): string | undefined;
  cpuStat(path: string): string | undefined;
  cpuUs(path: string): number | undefined;
  /** Without the page cache that the kernel takes back first, as the kubelet counts it. */
  memoryBytes(path: string): number | undefined;
  peakBytes(path: string): number | undefined;
  /** Processes and threads, with those of the cgroups below it. */
  tasks(path: string): number | undefined;
  /** Kills in the cgroup and in those below it. */
  oomKills(path: string): number | undefined;
}

function groupsAt(host: HostText, mount: string | undefined): Groups | undefined {
  if (mount === undefined) return undefined;
  const isV2 = host.read(`${mount}/cgroup.controllers`) !== undefined;
  return isV2 ? new GroupsV2(host, mount) : new GroupsV1(host, mount);
}

class GroupsV2 implements Groups {
  readonly #host: HostText;
  readonly #mount: string;

  constructor(host: HostText, mount: string) {
    this.#host = host;
    this.#mount = mount;
  }

  has = (path: string) => this.cpuStat(path) !== undefined;
  children = (path: string) => this.#host.dirs(this.#mount + path);
  pressure = (path: string, kind: string) => this.#read(path, `${kind}.pressure`);
  cpuStat = (path: string) => this.#read(path, 'cpu.stat');
  cpuUs = (path: string) => keyed(this.cpuStat(path), 'usage_usec');
  oomKills = (path: string) => keyed(this.#read(path, 'memory.events'), 'oom_kill');
  /** Linux 5.19 and later. */
  peakBytes = (path: string) => whole(this.#read(path, 'memory.peak'));
  tasks = (path: string) => whole(this.#read(path, 'pids.current'));
  memoryBytes = (path: string) =>
    difference(whole(this.#read(path, 'memory.current')), keyed(this.#read(path, 'memory.stat'), 'inactive_file'));

  #read(path: string, file: string): string | undefined {
    return this.#host.read(`${this.#mount}${path}/${file}`);
  }
}

class GroupsV1 implements Groups {
  readonly #host: HostText;
  readonly #mount: string;

  constructor(host: HostText, mount: string) {
    this.#host = host;
    this.#mount = mount;
  }

  has = (path: string) => this.#read('memory', path, 'memory.usage_in_bytes') !== undefined;
  children = (path: string) => this.#host.dirs(`${this.#mount}/cpu${path}`);
  pressure = () => undefined;
  cpuStat = (path: string) => this.#read('cpu', path, 'cpu.stat');
  /** In nanoseconds there. */
  cpuUs = (path: string) => {
    const nanoseconds = whole(this.#read('cpuacct', path, 'cpuacct.usage'));
    return nanoseconds === undefined ? undefined : Math.round(nanoseconds / 1000);
  };
  /** Only those of the cgroup itself are counted there, not those of pods below it. */
  oomKills = () => undefined;
  peakBytes = (path: string) => whole(this.#read('memory', path, 'memory.max_usage_in_bytes'));
  tasks = (path: string) => whole(this.#read('pids', path, 'pids.current'));
  memoryBytes = (path: string) =>
    difference(
      whole(this.#read('memory', path, 'memory.usage_in_bytes')),
      keyed(this.#read('memory', path, 'memory.stat'), 'total_inactive_file'),
    );

  #read(controller: string, path: string, file: string): string | undefined {
    return this.#host.read(`${this.#mount}/${controller}${path}/${file}`);
  }
}

/** Paths of kubepods, as both cgroup drivers name it: the kubelet may have taken the driver from the runtime, so what exists counts. */
const podsPaths = (cgroupRoot: string): string[] =>
  ['systemd', 'cgroupfs'].map((driver) => rootPath(cgroupRoot, { text: () => driver }, ['kubepods']));

const maxPodGroups = 500;

/** Pods of the classes Guaranteed and Burstable: those of BestEffort have no limit. */
function podGroups(groups: Groups, pods: string): string[] {
  const below = (path: string) => groups.children(path).map((name) => `${path}/${name}`);
  const top = below(pods);
  const burstable = top.find((path) => /[/-]burstable(\.slice)?$/.test(path));
  return [...top, ...(burstable === undefined ? [] : below(burstable))]
    .filter((path) => /pod[0-9a-f]/.test(path.slice(path.lastIndexOf('/'))))
    .slice(0, maxPodGroups);
}

/** `total=` of a line of a pressure file, in microseconds. */
export function psiTotal(text: string | undefined, line: 'some' | 'full'): number | undefined {
  return whole(new RegExp(`^${line} .*\\btotal=(\\d+)$`, 'm').exec(text ?? '')?.[1]);
}

/** Value of a line `NAME VALUE`. */
export function keyed(text: string | undefined, name: string): number | undefined {
  return whole(new RegExp(`^${name} (\\d+)$`, 'm').exec(text ?? '')?.[1]);
}

function whole(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d+\s*$/.test(text)) return undefined;
  return Number(text);
}

const difference = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : Math.max(0, a - b);

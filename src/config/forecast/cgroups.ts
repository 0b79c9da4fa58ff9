/**
 * Forecast for the cgroups that the kubelet sets limits on. If a cgroup does not exist, the kubelet exits. A limit below the present
 * usage starves the processes in it, which may be the kubelet, the container runtime and relet themselves.
 */
import { readQuantity } from '../../go/quantity.js';
import type { CgroupUse } from '../model.js';
import type { ConfigView } from '../rules/config-view.js';
import { entryPath, type Outlook } from './outlook.js';
import { reservation } from './reservations.js';

const giga = 1_000_000_000n;

export function forecastCgroups(outlook: Outlook): void {
  const { view } = outlook;
  const enforced = view.list('enforceNodeAllocatable').map(String);
  for (const which of ['system', 'kube'] as const) {
    const isEnforced = enforced.some((one) => one.startsWith(`${which}-reserved`));
    if (isEnforced) forecastReservedCgroup(outlook, which, enforced.includes(`${which}-reserved`));
  }
  forecastRoot(outlook);
  if (enforced.includes('pods') && view.bool('cgroupsPerQOS')) forecastPods(outlook);
}

function forecastReservedCgroup(outlook: Outlook, which: 'system' | 'kube', hasLimits: boolean): void {
  const { view } = outlook;
  const field = `${which}ReservedCgroup`;
  const path = cgroupPath(view.text(field), view);
  const use = view.host.cgroups?.[path];
  if (use === false) missing(outlook, field, path);
  if (!use || !hasLimits) return;
  const map = `${which}Reserved`;
  const limitOf = (name: string) => {
    const quantity = readQuantity(String(view.map(map)[name] ?? ''));
    return typeof quantity === 'string' ? undefined : Number(quantity.nano / giga);
  };
  forecastMemory(outlook, entryPath(map, 'memory'), { path, use, limit: limitOf('memory') });
  forecastPids(outlook, entryPath(map, 'pid'), { path, use, limit: limitOf('pid') });
}

function forecastRoot(outlook: Outlook): void {
  const { view } = outlook;
  const path = rootPath(view.text('cgroupRoot'), view);
  // Without cgroups of its own for pods, the kubelet does not check that the root exists.
  const isRead = path !== '/' && view.bool('cgroupsPerQOS');
  if (isRead && view.host.cgroups?.[path] === false) missing(outlook, 'cgroupRoot', path);
}

/**
 * The limit over all pods is what no reservation holds back; the eviction threshold is not a part of it. CPU is not limited: the kubelet
 * sets a weight, which counts only under contention. podPidsLimit is not checked either: it applies to new pods only.
 */
function forecastPods(outlook: Outlook): void {
  const { view } = outlook;
  const { memoryBytes, maxPids, cgroups } = view.host;
  const path = podsCgroup(view);
  const use = path === undefined ? undefined : cgroups?.[path];
  if (path === undefined || !use) return;
  const fieldOf = (name: string) =>
    entryPath(view.map('kubeReserved')[name] === undefined ? 'systemReserved' : 'kubeReserved', name);
  const limitOf = (name: 'memory' | 'pid', capacity: number | undefined) => {
    const held = reservation(view, name, capacity, { withEviction: false });
    return capacity === undefined || held === undefined ? undefined : Math.max(0, capacity - Number(held / giga));
  };
  forecastMemory(outlook, fieldOf('memory'), { path, use, limit: limitOf('memory', memoryBytes) });
  forecastPids(outlook, fieldOf('pid'), { path, use, limit: limitOf('pid', maxPids) });
}

interface Limit {
  path: string;
  use: CgroupUse;
  limit: number | undefined;
}

function forecastPids(outlook: Outlook, field: string, { path, use, limit }: Limit): void {
  if (limit === undefined || use.pids === undefined || use.pids <= limit) return;
  outlook.starves(field, {
    why: `${nameOf(path)} has ${use.pids} processes and threads, the limit would be ${limit}: nothing in it could start another one`,
    remedy: 'reserve another number, or do not enforce it',
  });
}

function forecastMemory(outlook: Outlook, field: string, { path, use, limit }: Limit): void {
  if (limit === undefined || use.memoryBytes === undefined || use.memoryBytes <= limit) return;
  const [uses, allowed] = [use.memoryBytes, limit].map((bytes) => `${Math.round(bytes / 2 ** 20)} Mi`);
  outlook.starves(field, {
    why: `${nameOf(path)} uses ${uses}, the limit would be ${allowed}: the kernel kills or starves what is in it`,
    remedy: 'reserve another amount, or do not enforce it',
  });
}

function missing(outlook: Outlook, field: string, path: string): void {
  outlook.stops(field, {
    why: `there is no cgroup ${path} on the host`,
    says: 'could not read controllers for cgroup',
    remedy: 'name one that exists when the kubelet starts',
  });
}

const nameOf = (path: string): string => path.slice(1);

/** Cgroup of pods; undefined below a root of their own. */
export function podsCgroup(view: Pick<ConfigView, 'text'>): string | undefined {
  if (!['', '/'].includes(view.text('cgroupRoot'))) return undefined;
  return view.text('cgroupDriver') === 'systemd' ? '/kubepods.slice' : '/kubepods';
}

/**
 * As the kubelet reads systemReservedCgroup and kubeReservedCgroup. With the driver systemd only the last part counts, a slice that is
 * below those which its name is made from: `/x/a-b.slice` and `a-b` are `/a.slice/a-b.slice`.
 */
export function cgroupPath(name: string, view: Pick<ConfigView, 'text'>): string {
  const parts = partsOf(name);
  if (parts.length === 0) return '/';
  if (view.text('cgroupDriver') !== 'systemd') return `/${parts.join('/')}`;
  const words = parts
    .at(-1)!
    .replace(/\.slice$/, '')
    .split('-');
  return slices(words);
}

/**
 * As the kubelet reads cgroupRoot, with what it makes below it. With the driver systemd each part is a slice of its own, whose name
 * cannot have a `-`: `/a-b/c` is `/a_b.slice/a_b-c.slice`, and `/a.slice` is `/a.slice.slice`.
 */
export function rootPath(name: string, view: Pick<ConfigView, 'text'>, below: readonly string[] = []): string {
  const parts = [...partsOf(name), ...below];
  if (parts.length === 0) return '/';
  if (view.text('cgroupDriver') !== 'systemd') return `/${parts.join('/')}`;
  return slices(parts.map((part) => part.replaceAll('-', '_')));
}

const partsOf = (name: string): string[] => name.split('/').filter((part) => part !== '');

/** A slice is inside the one that its name begins with. */
const slices = (words: readonly string[]): string =>
  words.map((_word, at) => `/${words.slice(0, at + 1).join('-')}.slice`).join('');

/** Rules about node allocatable: cgroups, enforceNodeAllocatable, reserved CPUs and reserved memory. */
import { quote } from '../../go/quote.js';
import { atoiError } from '../../go/text.js';
import type { ConfigView } from './config-view.js';

const flag = '(--enforce-node-allocatable)';

/** Until 1.30 one rule for the whole list; since then checkEnforcement says it of each entry. */
export function checkCgroupsPerQOS(view: ConfigView): void {
  if (view.minor > 30 || view.bool('cgroupsPerQOS') || view.list('enforceNodeAllocatable').length === 0) return;
  view.report(
    'cgroupsPerQOS',
    view.minor >= 20
      ? `invalid configuration: enforceNodeAllocatable ${flag} is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true`
      : `invalid configuration: EnforceNodeAllocatable ${flag} is not supported unless CgroupsPerQOS (--cgroups-per-qos) feature is turned on`,
  );
}

export function checkSystemCgroups(view: ConfigView): void {
  if (view.text('systemCgroups') === '' || view.text('cgroupRoot') !== '') return;
  const [system, root] = view.minor >= 20 ? ['systemCgroups', 'cgroupRoot'] : ['SystemCgroups', 'CgroupRoot'];
  view.report(
    'systemCgroups',
    `invalid configuration: ${system} (--system-cgroups) was specified and ${root} (--cgroup-root) was not specified`,
  );
}

export function checkEnforcement(view: ConfigView): void {
  const values = view.list('enforceNodeAllocatable').map(String);
  if (view.minor >= 32) checkExclusive(view, values);
  const seen = new Set<string>();
  for (const [index, value] of values.entries()) {
    const path = `enforceNodeAllocatable[${index}]`;
    if (view.minor >= 31 && seen.has(value)) {
      view.report(
        path,
        `invalid configuration: duplicated enforcements ${quote(value)} in enforceNodeAllocatable ${flag}`,
      );
      continue;
    }
    seen.add(value);
    const isEnforced = checkOneEnforcement(view, value, path, values.length);
    if (isEnforced && view.minor >= 31 && !view.bool('cgroupsPerQOS'))
      view.report(
        'cgroupsPerQOS',
        `invalid configuration: cgroupsPerQOS (--cgroups-per-qos) must be set to true when ${quote(value)} contained in enforceNodeAllocatable ${flag}`,
      );
  }
}

function checkExclusive(view: ConfigView, values: readonly string[]): void {
  for (const whose of ['system-reserved', 'kube-reserved'])
    if (values.includes(whose) && values.includes(`${whose}-compressible`))
      view.report(
        'enforceNodeAllocatable',
        `invalid configuration: both "${whose}" and "${whose}-compressible" cannot be specified together in enforceNodeAllocatable ${flag}`,
      );
}

/** True when the value names something to enforce. */
function checkOneEnforcement(view: ConfigView, value: string, path: string, count: number): boolean {
  const reserved = /^(system|kube)-reserved(-compressible)?$/.exec(value);
  if (value === 'pods') return true;
  if (reserved !== null && (reserved[2] === undefined || view.minor >= 32)) {
    checkReservedCgroup(view, reserved[1] as 'system' | 'kube');
    return true;
  }
  const name = view.minor >= 20 ? 'enforceNodeAllocatable' : 'EnforceNodeAllocatable';
  if (value !== 'none')
    view.report(
      path,
      `invalid configuration: option ${quote(value)} specified for ${name} ${flag}. Valid options are ${validOptions(view.minor)}`,
    );
  else if (count > 1)
    view.report(
      path,
      `invalid configuration: ${name} ${flag} may not contain additional enforcements when ${view.minor >= 24 ? '"none"' : "'none'"} is specified`,
    );
  return false;
}

function validOptions(minor: number): string {
  if (minor >= 32)
    return '"pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"';
  // 1.11 names pods twice and forgets none.
  return `"pods", "system-reserved", "kube-reserved", or "${minor === 11 ? 'pods' : 'none'}"`;
}

function checkReservedCgroup(view: ConfigView, whose: 'system' | 'kube'): void {
  const field = `${whose}ReservedCgroup`;
  if (view.minor < 15 || view.text(field) !== '') return;
  const name = view.minor >= 20 ? 'enforceNodeAllocatable' : 'EnforceNodeAllocatable';
  let when = `${whose}-reserved contained in`;
  if (view.minor >= 32) when = `"${whose}-reserved" or "${whose}-reserved-compressible" included in`;
  else if (view.minor >= 24) when = `"${whose}-reserved" contained in`;
  else if (view.minor >= 20) when = `'${whose}-reserved' contained in`;
  view.report(
    field,
    `invalid configuration: ${field} (--${whose}-reserved-cgroup) must be specified when ${when} ${name} ${flag}`,
  );
}

export function checkReservedCPUs(view: ConfigView): void {
  const cpus = view.text('reservedSystemCPUs');
  if (view.minor < 17 || cpus === '') return;
  const prefix = view.minor >= 24 ? 'invalid configuration: ' : '';
  const isNamed = view.minor >= 20;
  if (view.text('systemReservedCgroup') !== '' || view.text('kubeReservedCgroup') !== '')
    view.report(
      'reservedSystemCPUs',
      isNamed
        ? `${prefix}can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)`
        : "can't use --reserved-cpus with --system-reserved-cgroup or --kube-reserved-cgroup",
    );
  const error = cpuListError(cpus, view.minor);
  if (error === undefined) return;
  const name = isNamed ? 'reservedSystemCPUs (--reserved-cpus)' : '--reserved-cpus';
  const shown = view.minor >= 24 ? ` ${cpus}` : '';
  view.report('reservedSystemCPUs', `${prefix}unable to parse ${name}${shown}, error: ${error}`);
}

/** A list such as `0-3,8`. Until 1.21 ranges ran backwards unnoticed, and a third dash was dropped. */
function cpuListError(cpus: string, minor: number): string | undefined {
  for (const range of cpus.split(',')) {
    const parts = range.split('-');
    if (minor < 22 && parts.length > 2) continue;
    const bounds = parts.length > 2 ? [parts[0]!, parts.slice(1).join('-')] : parts;
    for (const bound of bounds) {
      const error = atoiError(bound);
      if (error !== undefined) return error;
    }
    const [start, end] = bounds.map(Number);
    if (minor >= 22 && end !== undefined && start! > end)
      return `invalid range ${quote(range)} (${start} ${minor >= 27 ? '>' : '>='} ${end})`;
  }
  return undefined;
}

export function checkReservedMemory(view: ConfigView): void {
  if (view.minor < 21) return;
  const prefix = view.minor >= 24 ? 'invalid configuration: ' : '';
  const seen = new Set<string>();
  for (const [index, entry] of view.list('reservedMemory').entries()) {
    const { numaNode = 0, limits } = (entry ?? {}) as { numaNode?: number; limits?: Record<string, unknown> };
    // The kubelet walks a Go map: its order is random, ours alphabetical.
    for (const name of Object.keys(limits ?? {}).sort()) {
      const path = `reservedMemory[${index}].limits[${name}]`;
      if (name !== 'memory' && !name.startsWith('hugepages-'))
        view.report(
          path,
          `${prefix}the limit type ${quote(name)} for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`,
        );
      if (String(limits![name]) === '0')
        view.report(
          path,
          `${prefix}reserved memory may not be zero for NUMA node ${numaNode} and resource ${quote(name)}`,
        );
      if (seen.has(`${numaNode}/${name}`))
        view.report(
          path,
          `${prefix}the reserved memory has a duplicate value for NUMA node ${numaNode} and resource ${quote(name)}`,
        );
      seen.add(`${numaNode}/${name}`);
    }
  }
}

/** Rules about what is reserved and enforced: cgroups, enforceNodeAllocatable, reserved CPUs and reserved memory. */
import { atoiError, quote } from '../../go/text.js';
import type { Judged } from './judged.js';

const flag = '(--enforce-node-allocatable)';

/** Until 1.30 one rule for the whole list; since then checkEnforcement says it of each entry. */
export function checkCgroupsPerQOS(judged: Judged): void {
  if (judged.minor > 30 || judged.bool('cgroupsPerQOS') || judged.list('enforceNodeAllocatable').length === 0) return;
  judged.report(
    'cgroupsPerQOS',
    judged.minor >= 20
      ? `invalid configuration: enforceNodeAllocatable ${flag} is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true`
      : `invalid configuration: EnforceNodeAllocatable ${flag} is not supported unless CgroupsPerQOS (--cgroups-per-qos) feature is turned on`,
  );
}

export function checkSystemCgroups(judged: Judged): void {
  if (judged.text('systemCgroups') === '' || judged.text('cgroupRoot') !== '') return;
  const [system, root] = judged.minor >= 20 ? ['systemCgroups', 'cgroupRoot'] : ['SystemCgroups', 'CgroupRoot'];
  judged.report(
    'systemCgroups',
    `invalid configuration: ${system} (--system-cgroups) was specified and ${root} (--cgroup-root) was not specified`,
  );
}

export function checkEnforcement(judged: Judged): void {
  const values = judged.list('enforceNodeAllocatable').map(String);
  if (judged.minor >= 32) checkExclusive(judged, values);
  const seen = new Set<string>();
  for (const [index, value] of values.entries()) {
    const path = `enforceNodeAllocatable[${index}]`;
    if (judged.minor >= 31 && seen.has(value)) {
      judged.report(
        path,
        `invalid configuration: duplicated enforcements ${quote(value)} in enforceNodeAllocatable ${flag}`,
      );
      continue;
    }
    seen.add(value);
    const isEnforced = checkOneEnforcement(judged, value, path, values.length);
    if (isEnforced && judged.minor >= 31 && !judged.bool('cgroupsPerQOS'))
      judged.report(
        'cgroupsPerQOS',
        `invalid configuration: cgroupsPerQOS (--cgroups-per-qos) must be set to true when ${quote(value)} contained in enforceNodeAllocatable ${flag}`,
      );
  }
}

function checkExclusive(judged: Judged, values: readonly string[]): void {
  for (const whose of ['system-reserved', 'kube-reserved'])
    if (values.includes(whose) && values.includes(`${whose}-compressible`))
      judged.report(
        'enforceNodeAllocatable',
        `invalid configuration: both "${whose}" and "${whose}-compressible" cannot be specified together in enforceNodeAllocatable ${flag}`,
      );
}

/** True when the value names something to enforce. */
function checkOneEnforcement(judged: Judged, value: string, path: string, count: number): boolean {
  const reserved = /^(system|kube)-reserved(-compressible)?$/.exec(value);
  if (value === 'pods') return true;
  if (reserved !== null && (reserved[2] === undefined || judged.minor >= 32)) {
    checkReservedCgroup(judged, reserved[1] as 'system' | 'kube');
    return true;
  }
  const name = judged.minor >= 20 ? 'enforceNodeAllocatable' : 'EnforceNodeAllocatable';
  if (value !== 'none')
    judged.report(
      path,
      `invalid configuration: option ${quote(value)} specified for ${name} ${flag}. Valid options are ${validOptions(judged.minor)}`,
    );
  else if (count > 1)
    judged.report(
      path,
      `invalid configuration: ${name} ${flag} may not contain additional enforcements when ${judged.minor >= 24 ? '"none"' : "'none'"} is specified`,
    );
  return false;
}

function validOptions(minor: number): string {
  if (minor >= 32)
    return '"pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"';
  // 1.11 names pods twice and forgets none.
  return `"pods", "system-reserved", "kube-reserved", or "${minor === 11 ? 'pods' : 'none'}"`;
}

function checkReservedCgroup(judged: Judged, whose: 'system' | 'kube'): void {
  const field = `${whose}ReservedCgroup`;
  if (judged.minor < 15 || judged.text(field) !== '') return;
  const name = judged.minor >= 20 ? 'enforceNodeAllocatable' : 'EnforceNodeAllocatable';
  let when = `${whose}-reserved contained in`;
  if (judged.minor >= 32) when = `"${whose}-reserved" or "${whose}-reserved-compressible" included in`;
  else if (judged.minor >= 24) when = `"${whose}-reserved" contained in`;
  else if (judged.minor >= 20) when = `'${whose}-reserved' contained in`;
  judged.report(
    field,
    `invalid configuration: ${field} (--${whose}-reserved-cgroup) must be specified when ${when} ${name} ${flag}`,
  );
}

export function checkReservedCPUs(judged: Judged): void {
  const cpus = judged.text('reservedSystemCPUs');
  if (judged.minor < 17 || cpus === '') return;
  const prefix = judged.minor >= 24 ? 'invalid configuration: ' : '';
  const isNamed = judged.minor >= 20;
  if (judged.text('systemReservedCgroup') !== '' || judged.text('kubeReservedCgroup') !== '')
    judged.report(
      'reservedSystemCPUs',
      isNamed
        ? `${prefix}can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)`
        : "can't use --reserved-cpus with --system-reserved-cgroup or --kube-reserved-cgroup",
    );
  const error = cpuListError(cpus, judged.minor);
  if (error === undefined) return;
  const name = isNamed ? 'reservedSystemCPUs (--reserved-cpus)' : '--reserved-cpus';
  const shown = judged.minor >= 24 ? ` ${cpus}` : '';
  judged.report('reservedSystemCPUs', `${prefix}unable to parse ${name}${shown}, error: ${error}`);
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

export function checkReservedMemory(judged: Judged): void {
  if (judged.minor < 21) return;
  const prefix = judged.minor >= 24 ? 'invalid configuration: ' : '';
  const seen = new Set<string>();
  for (const [index, entry] of judged.list('reservedMemory').entries()) {
    const { numaNode = 0, limits } = (entry ?? {}) as { numaNode?: number; limits?: Record<string, unknown> };
    // The kubelet walks a Go map: its order is random, ours alphabetical.
    for (const name of Object.keys(limits ?? {}).sort()) {
      const path = `reservedMemory[${index}].limits[${name}]`;
      if (name !== 'memory' && !name.startsWith('hugepages-'))
        judged.report(
          path,
          `${prefix}the limit type ${quote(name)} for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`,
        );
      if (String(limits![name]) === '0')
        judged.report(
          path,
          `${prefix}reserved memory may not be zero for NUMA node ${numaNode} and resource ${quote(name)}`,
        );
      if (seen.has(`${numaNode}/${name}`))
        judged.report(
          path,
          `${prefix}the reserved memory has a duplicate value for NUMA node ${numaNode} and resource ${quote(name)}`,
        );
      seen.add(`${numaNode}/${name}`);
    }
  }
}

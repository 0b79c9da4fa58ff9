/** Rules of the operating system below the kubelet. Those that ask the host hold only where the host is known. */
import type { Judged } from './judged.js';

const idsUnit = 65536n;
const maxIds = 2n ** 32n - 1n;

/** The kubelet reports only the first of these. */
export function checkOS(judged: Judged): void {
  const error = judged.host.os === 'windows' ? windowsError(judged) : linuxError(judged);
  if (error !== undefined) judged.report(error[0], error[1]);
}

function linuxError(judged: Judged): [path: string, message: string] | undefined {
  const isCgroup1 = judged.host.cgroupVersion === 1;
  if (judged.minor >= 31 && isCgroup1 && judged.bool('failCgroupV1'))
    return [
      'failCgroupV1',
      judged.minor >= 35
        ? 'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release'
        : 'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is in maintenance mode',
    ];
  if (judged.minor >= 32 && isCgroup1 && judged.get('singleProcessOOMKill') === false)
    return [
      'singleProcessOOMKill',
      'invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1',
    ];
  return judged.minor >= 33 && judged.isSet('userNamespaces.idsPerPod') ? idsError(judged) : undefined;
}

function idsError(judged: Judged): [path: string, message: string] | undefined {
  const path = 'userNamespaces.idsPerPod';
  const ids = BigInt(judged.get(path) as number | bigint);
  let rule: string | undefined;
  if (ids < idsUnit) rule = `must not be less than ${idsUnit}`;
  else if (ids % idsUnit !== 0n) rule = `must be a multiple of ${idsUnit}`;
  else if (ids > maxIds) rule = `must not be more than ${maxIds}`;
  return rule === undefined ? undefined : [path, `invalid configuration: ${path} ${rule}`];
}

function windowsError(judged: Judged): [path: string, message: string] | undefined {
  if (judged.minor <= 30) {
    const enforced = judged.list('enforceNodeAllocatable');
    const errors = [
      ...(judged.bool('cgroupsPerQOS') ? ['CgroupsPerQOS (--cgroups-per-qos) true'] : []),
      ...(enforced.length > 0 ? [`EnforceNodeAllocatable (--enforce-node-allocatable) [${enforced.join(' ')}]`] : []),
    ].map((what) => `invalid configuration: ${what} is not supported on Windows`);
    if (errors.length === 0) return undefined;
    return ['cgroupsPerQOS', errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]`];
  }
  if (judged.minor >= 32 && judged.isSet('singleProcessOOMKill'))
    return ['singleProcessOOMKill', 'invalid configuration: singleProcessOOMKill is not supported on Windows'];
  if (judged.minor >= 33 && judged.isSet('userNamespaces'))
    return ['userNamespaces', 'invalid configuration: userNamespaces is not supported on Windows'];
  return undefined;
}

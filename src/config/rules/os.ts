/** Rules of the operating system below the kubelet. Those that ask the host hold only where the host is known. */
import type { ConfigView } from './config-view.js';

const idsUnit = 65536n;
const maxIds = 2n ** 32n - 1n;

/** The kubelet reports only the first of these. */
export function checkOS(view: ConfigView): void {
  const error = view.host.os === 'windows' ? windowsError(view) : linuxError(view);
  if (error !== undefined) view.report(error[0], error[1]);
}

function linuxError(view: ConfigView): [path: string, message: string] | undefined {
  const isCgroup1 = view.host.cgroupVersion === 1;
  if (view.minor >= 31 && isCgroup1 && view.bool('failCgroupV1'))
    return [
      'failCgroupV1',
      view.minor >= 35
        ? 'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release'
        : 'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is in maintenance mode',
    ];
  if (view.minor >= 32 && isCgroup1 && view.get('singleProcessOOMKill') === false)
    return [
      'singleProcessOOMKill',
      'invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1',
    ];
  return view.minor >= 33 && view.isSet('userNamespaces.idsPerPod') ? idsError(view) : undefined;
}

function idsError(view: ConfigView): [path: string, message: string] | undefined {
  const path = 'userNamespaces.idsPerPod';
  const ids = BigInt(view.get(path) as number | bigint);
  let rule: string | undefined;
  if (ids < idsUnit) rule = `must not be less than ${idsUnit}`;
  else if (ids % idsUnit !== 0n) rule = `must be a multiple of ${idsUnit}`;
  else if (ids > maxIds) rule = `must not be more than ${maxIds}`;
  return rule === undefined ? undefined : [path, `invalid configuration: ${path} ${rule}`];
}

function windowsError(view: ConfigView): [path: string, message: string] | undefined {
  if (view.minor <= 30) {
    const enforced = view.list('enforceNodeAllocatable');
    const errors = [
      ...(view.bool('cgroupsPerQOS') ? ['CgroupsPerQOS (--cgroups-per-qos) true'] : []),
      ...(enforced.length > 0 ? [`EnforceNodeAllocatable (--enforce-node-allocatable) [${enforced.join(' ')}]`] : []),
    ].map((what) => `invalid configuration: ${what} is not supported on Windows`);
    if (errors.length === 0) return undefined;
    return ['cgroupsPerQOS', errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]`];
  }
  if (view.minor >= 32 && view.isSet('singleProcessOOMKill'))
    return ['singleProcessOOMKill', 'invalid configuration: singleProcessOOMKill is not supported on Windows'];
  if (view.minor >= 33 && view.isSet('userNamespaces'))
    return ['userNamespaces', 'invalid configuration: userNamespaces is not supported on Windows'];
  return undefined;
}

/** Rules that depend on the operating system. Those that need facts of the host apply only if the host is known. */
import { aggregate } from '../../go/text.js';
import { fieldAt } from '../fields.js';
import type { ConfigView, RuleError } from './config-view.js';

const idsUnit = 65536n;
const maxIds = 2n ** 32n - 1n;

/** The kubelet reports only the first of these. */
export function checkOS(view: ConfigView): void {
  view.reportFirst(view.host.os === 'windows' ? windowsErrors(view) : linuxErrors(view));
}

function linuxErrors(view: ConfigView): RuleError[] {
  const isCgroup1 = view.host.cgroupVersion === 1;
  const errors: RuleError[] = [];
  if (view.minor >= 31 && isCgroup1 && view.bool('failCgroupV1'))
    errors.push({
      path: 'failCgroupV1',
      message:
        view.minor >= 35
          ? 'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release'
          : 'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is in maintenance mode',
    });
  if (view.minor >= 32 && isCgroup1 && view.get('singleProcessOOMKill') === false)
    errors.push({
      path: 'singleProcessOOMKill',
      message: 'invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1',
    });
  return [...errors, ...(view.minor >= 33 && view.isSet('userNamespaces.idsPerPod') ? idsErrors(view) : [])];
}

function idsErrors(view: ConfigView): RuleError[] {
  const path = 'userNamespaces.idsPerPod';
  const ids = BigInt(view.get(path) as number | bigint);
  let rule: string | undefined;
  if (ids < idsUnit) rule = `must not be less than ${idsUnit}`;
  else if (ids % idsUnit !== 0n) rule = `must be a multiple of ${idsUnit}`;
  else if (ids > maxIds) rule = `must not be more than ${maxIds}`;
  return rule === undefined ? [] : [{ path, message: `invalid configuration: ${path} ${rule}` }];
}

function windowsErrors(view: ConfigView): RuleError[] {
  if (view.minor <= 30) {
    const enforced = view.list('enforceNodeAllocatable');
    const errors = [
      ...(view.bool('cgroupsPerQOS') ? ['CgroupsPerQOS (--cgroups-per-qos) true'] : []),
      ...(enforced.length > 0 ? [`EnforceNodeAllocatable (--enforce-node-allocatable) [${enforced.join(' ')}]`] : []),
    ].map((what) => `invalid configuration: ${what} is not supported on Windows`);
    return errors.length === 0 ? [] : [{ path: 'cgroupsPerQOS', message: aggregate(errors) }];
  }
  const sysctls = Object.keys(view.map('defaultPodSysctls')).length > 0 ? ['defaultPodSysctls'] : [];
  return [...['singleProcessOOMKill', 'userNamespaces'].filter((path) => view.isSet(path)), ...sysctls]
    .filter((path) => view.minor >= fieldAt(path)!.first)
    .map((path) => ({ path, message: `invalid configuration: ${path} is not supported on Windows` }));
}

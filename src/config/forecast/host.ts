/** What only the host can decide. Nothing is said of what is not known of it. */
import type { Outlook } from './outlook.js';

export function foreseeHost(outlook: Outlook): void {
  const { judged } = outlook;
  const { swap, cgroupVersion, systemd } = judged.host;
  if (swap === true && judged.bool('failSwapOn'))
    outlook.stops('failSwapOn', {
      why: 'swap is on and failSwapOn is true',
      says: 'running with swap on is not supported',
      remedy: 'turn swap off, or set failSwapOn to false',
    });
  const isLimited = judged.text('memorySwap.swapBehavior') === 'LimitedSwap';
  if (cgroupVersion === 1 && judged.minor >= 30 && isLimited && judged.gate('NodeSwap'))
    outlook.stops('memorySwap.swapBehavior', {
      why: 'LimitedSwap needs cgroup v2 and this host has v1',
      says: 'swap feature is enabled and LimitedSwap but it is only supported with cgroupv2',
      remedy: 'use NoSwap, or move the host to cgroup v2',
    });
  const isAskedOfRuntime = judged.minor >= 28 && judged.gate('KubeletCgroupDriverFromCRI');
  if (
    systemd === false &&
    judged.text('cgroupDriver') === 'systemd' &&
    judged.bool('cgroupsPerQOS') &&
    !isAskedOfRuntime
  )
    outlook.stops('cgroupDriver', {
      why: 'the cgroup driver systemd needs systemd and this host runs without',
      remedy: 'use cgroupfs, as the container runtime must as well',
    });
}

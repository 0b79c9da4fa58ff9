/** What only the host can decide. Nothing is said of what is not known of it. */
import type { Outlook } from './outlook.js';

export function foreseeHost(outlook: Outlook): void {
  const { view } = outlook;
  const { swap, cgroupVersion, systemd } = view.host;
  if (swap === true && view.bool('failSwapOn'))
    outlook.stops('failSwapOn', {
      why: 'swap is on and failSwapOn is true',
      says: 'running with swap on is not supported',
      remedy: 'turn swap off, or set failSwapOn to false',
    });
  const isLimited = view.text('memorySwap.swapBehavior') === 'LimitedSwap';
  if (cgroupVersion === 1 && view.minor >= 30 && isLimited && view.gate('NodeSwap'))
    outlook.stops('memorySwap.swapBehavior', {
      why: 'LimitedSwap needs cgroup v2 and this host has v1',
      says: 'swap feature is enabled and LimitedSwap but it is only supported with cgroupv2',
      remedy: 'use NoSwap, or move the host to cgroup v2',
    });
  const isAskedOfRuntime = view.minor >= 28 && view.gate('KubeletCgroupDriverFromCRI');
  if (systemd === false && view.text('cgroupDriver') === 'systemd' && view.bool('cgroupsPerQOS') && !isAskedOfRuntime)
    outlook.stops('cgroupDriver', {
      why: 'the cgroup driver systemd needs systemd and this host runs without',
      remedy: 'use cgroupfs, as the container runtime must as well',
    });
}

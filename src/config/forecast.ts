/** Forecast: configs that pass the kubelet's validation and still make it exit at start. The findings are relet's own. */
import { forecastCgroups } from './forecast/cgroups.js';
import { forecastCPUManager } from './forecast/cpu-manager.js';
import { forecastEviction } from './forecast/eviction.js';
import { forecastKernel } from './forecast/kernel.js';
import { forecastLimits } from './forecast/limits.js';
import { forecastMemoryManager } from './forecast/memory-manager.js';
import { Outlook } from './forecast/outlook.js';
import { forecastReservations } from './forecast/reservations.js';
import { forecastServing } from './forecast/serving.js';
import { forecastTopologyManager } from './forecast/topology-manager.js';
import { forecastKnownBugs } from './known-bugs.js';
import type { Finding, KubeletConfig, ValidationContext } from './model.js';
import { viewOf } from './rules/config-view.js';

const themes: readonly ((outlook: Outlook) => void)[] = [
  forecastEviction,
  forecastReservations,
  forecastTopologyManager,
  forecastCPUManager,
  forecastMemoryManager,
  forecastServing,
  forecastLimits,
  forecastCgroups,
  forecastKernel,
  forecastHost,
  forecastKnownBugs,
];

/**
 * Errors mean: this kubelet would not start. Warnings: it may not, or not as meant. Written for accepted configs; what validation
 * refuses is not said again. Never guesses: where the outcome hangs on the host, it speaks only if that part of the host is known.
 */
export function forecast(config: KubeletConfig, context: ValidationContext): Finding[] {
  const outlook = new Outlook(viewOf(config, context));
  for (const forecastTheme of themes) forecastTheme(outlook);
  return outlook.findings;
}

/** Checks that depend on the host. A host fact that is not known gives no finding. */
function forecastHost(outlook: Outlook): void {
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

/** What passes the kubelet's validation and still stops it at start. Findings are relet's own. */
import { foreseeCPUManager } from './forecast/cpu-manager.js';
import { foreseeEviction } from './forecast/eviction.js';
import { foreseeHost } from './forecast/host.js';
import { foreseeLimits } from './forecast/limits.js';
import { foreseeMemoryManager } from './forecast/memory-manager.js';
import { Outlook } from './forecast/outlook.js';
import { foreseeReservations } from './forecast/reservations.js';
import { foreseeServing } from './forecast/serving.js';
import { foreseeTopologyManager } from './forecast/topology-manager.js';
import { gatesIn, isOn, settle } from './gates.js';
import type { Finding, KubeletConfig, ValidationContext } from './model.js';
import { gatesOfFlags } from './rules/command-line.js';
import { ConfigView } from './rules/config-view.js';

const themes: readonly ((outlook: Outlook) => void)[] = [
  foreseeEviction,
  foreseeReservations,
  foreseeTopologyManager,
  foreseeCPUManager,
  foreseeMemoryManager,
  foreseeServing,
  foreseeLimits,
  foreseeHost,
];

/**
 * Errors mean: this kubelet would not start. Warnings: it may not, or not as meant. Written for accepted configs; what validation
 * refuses is not said again. Never guesses: where the outcome hangs on the host, it speaks only if that part of the host is known.
 */
export function forecast(config: KubeletConfig, context: ValidationContext): Finding[] {
  const settled = settle([gatesOfFlags(context.flags), gatesIn(config)], context.minor);
  const outlook = new Outlook(new ConfigView(config, context, (name) => isOn(name, settled, context.minor)));
  for (const foresee of themes) foresee(outlook);
  return outlook.findings;
}

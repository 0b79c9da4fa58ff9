/** Rules about the allocation of CPU, memory and devices: quota period, topology manager, memory QoS. And hairpin mode. */

import { quote } from '../../go/quote.js';
import { float } from '../../go/text.js';
import { spell } from './bounds.js';
import type { ConfigView } from './config-view.js';

const defaultPeriod = 100_000_000n;
const second = 1_000_000_000n;

export function checkQuotaPeriod(view: ConfigView): void {
  if (view.minor < 12) return;
  const period = view.duration('cpuCFSQuotaPeriod');
  const shown = `{${view.text('cpuCFSQuotaPeriod') || '0s'}}`;
  const name = spell('cpuCFSQuotaPeriod', view.minor);
  const flag = ' (--cpu-cfs-quota-period)';
  if (!view.gate('CustomCPUCFSQuotaPeriod')) {
    if (view.minor >= 20 && period !== defaultPeriod)
      view.report(
        'cpuCFSQuotaPeriod',
        `invalid configuration: ${name}${view.minor >= 24 ? flag : ''} ${shown} requires feature gate CustomCPUCFSQuotaPeriod`,
      );
    return;
  }
  const [least, leastText] = view.minor >= 26 ? [1_000_000n, '1ms'] : [1_000n, '1usec'];
  if (period < least || period > second)
    view.report(
      'cpuCFSQuotaPeriod',
      `invalid configuration: ${name}${flag} ${shown} must be between ${leastText} and 1sec, inclusive`,
    );
}

const policies = ['none', 'best-effort', 'restricted', 'single-numa-node'];

/** Until 1.26 the topology manager was behind a gate. */
export function checkTopologyGate(view: ConfigView): void {
  const policy = view.text('topologyManagerPolicy');
  if (view.minor < 16 || view.minor > 26 || policy === 'none' || view.gate('TopologyManager')) return;
  const name = view.minor >= 20 ? 'topologyManagerPolicy' : 'TopologyManager';
  view.report(
    'topologyManagerPolicy',
    `invalid configuration: ${name} ${policy} requires feature gate TopologyManager`,
  );
}

export function checkTopology(view: ConfigView): void {
  if (view.minor < 20) return;
  const policy = view.text('topologyManagerPolicy');
  const scope = view.text('topologyManagerScope');
  if (!policies.includes(policy))
    view.report(
      'topologyManagerPolicy',
      view.minor >= 24
        ? `invalid configuration: topologyManagerPolicy (--topology-manager-policy) ${quote(policy)} must be one of: ["none" "best-effort" "restricted" "single-numa-node"]`
        : `invalid configuration: topologyManagerPolicy non-allowable value: ${policy}`,
    );
  if (view.minor <= 26 && scope !== 'container' && !view.gate('TopologyManager'))
    view.report(
      'topologyManagerScope',
      `invalid configuration: topologyManagerScope ${scope} requires feature gate TopologyManager`,
    );
  if (scope !== 'container' && scope !== 'pod')
    view.report(
      'topologyManagerScope',
      view.minor >= 24
        ? `invalid configuration: topologyManagerScope (--topology-manager-scope) ${quote(scope)} must be one of: "container", or "pod"`
        : `invalid configuration: topologyManagerScope non-allowable value: ${scope}`,
    );
}

export function checkMemoryQoS(view: ConfigView): void {
  if (view.minor < 22) return;
  const isOn = view.gate('MemoryQoS');
  const factor = view.get('memoryThrottlingFactor') as number | null | undefined;
  if (view.minor >= 37) checkFactorWithoutQoS(view, isOn);
  else if (isOn && !view.isSet('memoryThrottlingFactor'))
    view.report(
      'memoryThrottlingFactor',
      'invalid configuration: memoryThrottlingFactor is required when MemoryQoS feature flag is enabled',
    );
  // Until 1.23 the kubelet prints the address of the number, not the number.
  if (typeof factor === 'number' && (factor <= 0 || factor > 1))
    view.report(
      'memoryThrottlingFactor',
      `invalid configuration: memoryThrottlingFactor ${view.minor >= 24 ? float(factor) : '<PTR>'} must be greater than 0 and less than or equal to 1.0`,
    );
  if (view.minor >= 36) checkMemoryReservation(view, isOn);
}

/** 0.9, the default of 1.27 to 1.36, is in many files and is still taken. */
function checkFactorWithoutQoS(view: ConfigView, isOn: boolean): void {
  if (isOn || !view.isSet('memoryThrottlingFactor') || view.number('memoryThrottlingFactor') === 0.9) return;
  view.report(
    'memoryThrottlingFactor',
    'invalid configuration: memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled',
  );
}

function checkMemoryReservation(view: ConfigView, isOn: boolean): void {
  const policy = view.text('memoryReservationPolicy');
  if (!isOn && policy === 'TieredReservation')
    view.report(
      'memoryReservationPolicy',
      `invalid configuration: memoryReservationPolicy ${quote(policy)} requires MemoryQoS feature gate to be enabled`,
    );
  if (policy !== 'None' && policy !== 'TieredReservation')
    view.report(
      'memoryReservationPolicy',
      `invalid configuration: option ${quote(policy)} specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"`,
    );
}

export function checkHairpin(view: ConfigView): void {
  const mode = view.text('hairpinMode');
  if (['none', 'hairpin-veth', 'promiscuous-bridge'].includes(mode)) return;
  view.report(
    'hairpinMode',
    `invalid configuration: option ${quote(mode)} specified for ${spell('hairpinMode', view.minor)} (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"`,
  );
}

/** Rules about how CPU, memory and devices are handed out: quota period, topology manager, memory QoS, hairpin mode. */

import { float, quote } from '../../go/text.js';
import { spell } from './bounds.js';
import type { Judged } from './judged.js';

const defaultPeriod = 100_000_000n;
const second = 1_000_000_000n;

export function checkQuotaPeriod(judged: Judged): void {
  if (judged.minor < 12) return;
  const period = judged.duration('cpuCFSQuotaPeriod');
  const shown = `{${judged.text('cpuCFSQuotaPeriod') || '0s'}}`;
  const name = spell('cpuCFSQuotaPeriod', judged.minor);
  const flag = ' (--cpu-cfs-quota-period)';
  if (!judged.gate('CustomCPUCFSQuotaPeriod')) {
    if (judged.minor >= 20 && period !== defaultPeriod)
      judged.report(
        'cpuCFSQuotaPeriod',
        `invalid configuration: ${name}${judged.minor >= 24 ? flag : ''} ${shown} requires feature gate CustomCPUCFSQuotaPeriod`,
      );
    return;
  }
  const [least, said] = judged.minor >= 26 ? [1_000_000n, '1ms'] : [1_000n, '1usec'];
  if (period < least || period > second)
    judged.report(
      'cpuCFSQuotaPeriod',
      `invalid configuration: ${name}${flag} ${shown} must be between ${said} and 1sec, inclusive`,
    );
}

const policies = ['none', 'best-effort', 'restricted', 'single-numa-node'];

/** Until 1.26 the topology manager was behind a gate. */
export function checkTopologyGate(judged: Judged): void {
  const policy = judged.text('topologyManagerPolicy');
  if (judged.minor < 16 || judged.minor > 26 || policy === 'none' || judged.gate('TopologyManager')) return;
  const name = judged.minor >= 20 ? 'topologyManagerPolicy' : 'TopologyManager';
  judged.report(
    'topologyManagerPolicy',
    `invalid configuration: ${name} ${policy} requires feature gate TopologyManager`,
  );
}

export function checkTopology(judged: Judged): void {
  if (judged.minor < 20) return;
  const policy = judged.text('topologyManagerPolicy');
  const scope = judged.text('topologyManagerScope');
  if (!policies.includes(policy))
    judged.report(
      'topologyManagerPolicy',
      judged.minor >= 24
        ? `invalid configuration: topologyManagerPolicy (--topology-manager-policy) ${quote(policy)} must be one of: ["none" "best-effort" "restricted" "single-numa-node"]`
        : `invalid configuration: topologyManagerPolicy non-allowable value: ${policy}`,
    );
  if (judged.minor <= 26 && scope !== 'container' && !judged.gate('TopologyManager'))
    judged.report(
      'topologyManagerScope',
      `invalid configuration: topologyManagerScope ${scope} requires feature gate TopologyManager`,
    );
  if (scope !== 'container' && scope !== 'pod')
    judged.report(
      'topologyManagerScope',
      judged.minor >= 24
        ? `invalid configuration: topologyManagerScope (--topology-manager-scope) ${quote(scope)} must be one of: "container", or "pod"`
        : `invalid configuration: topologyManagerScope non-allowable value: ${scope}`,
    );
}

export function checkMemoryQoS(judged: Judged): void {
  if (judged.minor < 22) return;
  const isOn = judged.gate('MemoryQoS');
  const factor = judged.get('memoryThrottlingFactor') as number | null | undefined;
  if (isOn && !judged.isSet('memoryThrottlingFactor'))
    judged.report(
      'memoryThrottlingFactor',
      'invalid configuration: memoryThrottlingFactor is required when MemoryQoS feature flag is enabled',
    );
  // Until 1.23 the kubelet prints the address of the number, not the number.
  if (typeof factor === 'number' && (factor <= 0 || factor > 1))
    judged.report(
      'memoryThrottlingFactor',
      `invalid configuration: memoryThrottlingFactor ${judged.minor >= 24 ? float(factor) : '<PTR>'} must be greater than 0 and less than or equal to 1.0`,
    );
  if (judged.minor >= 36) checkMemoryReservation(judged, isOn);
}

function checkMemoryReservation(judged: Judged, isOn: boolean): void {
  const policy = judged.text('memoryReservationPolicy');
  if (!isOn && policy === 'TieredReservation')
    judged.report(
      'memoryReservationPolicy',
      `invalid configuration: memoryReservationPolicy ${quote(policy)} requires MemoryQoS feature gate to be enabled`,
    );
  if (policy !== 'None' && policy !== 'TieredReservation')
    judged.report(
      'memoryReservationPolicy',
      `invalid configuration: option ${quote(policy)} specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"`,
    );
}

export function checkHairpin(judged: Judged): void {
  const mode = judged.text('hairpinMode');
  if (['none', 'hairpin-veth', 'promiscuous-bridge'].includes(mode)) return;
  judged.report(
    'hairpinMode',
    `invalid configuration: option ${quote(mode)} specified for ${spell('hairpinMode', judged.minor)} (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"`,
  );
}

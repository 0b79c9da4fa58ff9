/** Forecast for the CPU manager: the kubelet checks its policy and options only when it creates the manager. */

import { quote } from '../../go/quote.js';
import type { Minor } from '../model.js';
import { forecastOptions, type Option } from './manager-options.js';
import { entryPath, type Outlook } from './outlook.js';
import { reservation } from './reservations.js';

const giga = 1_000_000_000n;

export const cpuOptions: Record<string, Option> = {
  'full-pcpus-only': { stages: [22, 23, 33], kind: 'bool' },
  'distribute-cpus-across-numa': { stages: [23, 33, Infinity], kind: 'bool' },
  'align-by-socket': { stages: [25, Infinity, Infinity], kind: 'bool' },
  'distribute-cpus-across-cores': { stages: [31, Infinity, Infinity], kind: 'bool' },
  'strict-cpu-reservation': { stages: [32, 33, 35], kind: 'bool' },
  'prefer-align-cpus-by-uncorecache': { stages: [32, 34, 36], kind: 'bool' },
};

export function forecastCPUManager(outlook: Outlook): void {
  const { view } = outlook;
  if (view.minor <= 25 && !view.gate('CPUManager')) return;
  const policy = view.text('cpuManagerPolicy');
  const options = Object.keys(view.map('cpuManagerPolicyOptions'));
  if (
    view.minor >= 22 &&
    view.minor <= 32 &&
    view.isSet('cpuManagerPolicyOptions') &&
    !view.gate('CPUManagerPolicyOptions')
  ) {
    outlook.stops('cpuManagerPolicyOptions', {
      why: 'options of the CPU manager need the feature gate CPUManagerPolicyOptions',
      remedy: 'turn the gate on, or remove the options',
    });
    return;
  }
  if (policy === 'none' && view.minor >= 22 && options.length > 0)
    outlook.stops('cpuManagerPolicyOptions', {
      why: 'the CPU manager policy none takes no options',
      says: `None policy: received unsupported options=map[${options
        .map((name) => `${name}:${view.map('cpuManagerPolicyOptions')[name]}`)
        .sort()
        .join(' ')}]`,
      remedy: 'set cpuManagerPolicy to static, or remove the options',
    });
  // Until 1.15 an unknown policy was logged and read as none.
  else if (policy !== 'none' && policy !== 'static' && view.minor >= 16)
    outlook.stops('cpuManagerPolicy', {
      why: `${quote(policy)} is not a valid CPU manager policy`,
      says: `unknown policy: "${policy}"`,
      remedy: 'use none or static, in lower case',
    });
  else if (policy === 'static') forecastStaticCPUs(outlook);
}

function forecastStaticCPUs(outlook: Outlook): void {
  const { view } = outlook;
  const reserved = reservation(view, 'cpu');
  const { cpus } = view.host;
  if (reserved === 0n)
    outlook.stops('cpuManagerPolicy', {
      why: 'the static CPU manager needs CPU that is kept for the system',
      says: '[cpumanager] unable to determine reserved CPU resources for static policy',
      remedy: 'set kubeReserved.cpu, systemReserved.cpu or reservedSystemCPUs',
    });
  else if (reserved !== undefined && cpus !== undefined && (reserved + giga - 1n) / giga > BigInt(cpus))
    outlook.stops('cpuManagerPolicy', {
      why: `the static CPU manager cannot reserve more than the ${cpus} CPUs of this host`,
      remedy: 'reserve fewer CPUs',
    });
  if (view.minor >= 22) forecastStaticOptions(outlook);
}

const exclusive: readonly [Minor, string, string][] = [
  [31, 'full-pcpus-only', 'distribute-cpus-across-cores'],
  [31, 'distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  [32, 'prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  [32, 'prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
];

function forecastStaticOptions(outlook: Outlook): void {
  const { view } = outlook;
  const path = 'cpuManagerPolicyOptions';
  forecastOptions(outlook, path, cpuOptions, 'CPUManager');
  const isOn = (name: string) => /^[1tT]/.test(String(view.map(path)[name] ?? ''));
  for (const [since, one, other] of exclusive)
    if (view.minor >= since && isOn(one) && isOn(other))
      outlook.stops(entryPath(path, one), {
        why: `${one} and ${other} exclude each other`,
        says: `static policy options ${one} and ${other} can not be used at the same time`,
        remedy: 'keep one of them',
      });
  if (view.minor >= 25 && isOn('align-by-socket') && view.text('topologyManagerPolicy') === 'single-numa-node')
    outlook.stops(entryPath(path, 'align-by-socket'), {
      why: 'align-by-socket does not go with the topology manager policy single-numa-node',
      remedy: 'drop the option or choose another topologyManagerPolicy',
    });
}

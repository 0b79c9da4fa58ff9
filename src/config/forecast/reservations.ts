/** Forecast for reserved resources: quantities that the kubelet parses only at start, and whether the host has that much. */

import { parseFloat32 } from '../../go/float.js';
import { readQuantity } from '../../go/quantity.js';
import { quote } from '../../go/quote.js';
import type { ConfigView } from '../rules/config-view.js';
import { entryPath, type Outlook } from './outlook.js';

const giga = 1_000_000_000n;

export function forecastReservations(outlook: Outlook): void {
  for (const map of ['kubeReserved', 'systemReserved'] as const)
    for (const [name, value] of Object.entries(reservedIn(outlook.view, map)))
      forecastReserved(outlook, map, name, String(value));
  for (const [name, value] of Object.entries(outlook.view.map('qosReserved')))
    forecastQOSReserved(outlook, name, String(value));
  forecastCapacity(outlook);
}

/** reservedSystemCPUs replaces what both maps say of cpu, before they are read. */
function reservedIn(view: ConfigView, map: 'kubeReserved' | 'systemReserved'): Record<string, unknown> {
  const reserved = view.map(map);
  if (reservedCPUs(view).length === 0) return reserved;
  const { cpu: _, ...others } = reserved;
  return others;
}

function forecastReserved(outlook: Outlook, map: string, name: string, value: string): void {
  const path = entryPath(map, name);
  const known = reservable(outlook.view);
  if (!known.includes(name)) {
    outlook.stops(path, {
      why: `${quote(name)} cannot be reserved`,
      says: `cannot reserve ${quote(name)} resource`,
      remedy: `reserve only ${known.join(', ')}`,
    });
    return;
  }
  const quantity = outlook.quantity(path, value, 'write one such as 500m or 1Gi');
  if (quantity !== undefined && quantity.nano < 0n)
    outlook.stops(path, {
      why: `${value} is less than nothing`,
      says: `resource quantity for ${quote(name)} cannot be negative: ${value}`,
      remedy: 'write zero or more',
    });
}

function reservable(view: ConfigView): string[] {
  const hasPids = view.minor >= 20 || (view.minor >= 14 && view.gate('SupportNodePidsLimit'));
  return ['cpu', 'memory', 'ephemeral-storage', ...(hasPids ? ['pid'] : [])];
}

/** Read also while the gate QOSReserved is off. */
function forecastQOSReserved(outlook: Outlook, name: string, value: string): void {
  const path = entryPath('qosReserved', name);
  const percent = /^([+-]?\d+)%+$/.exec(value)?.[1];
  if (name !== 'memory')
    outlook.stops(path, {
      why: `qosReserved knows only memory, not ${quote(name)}`,
      says: `cannot reserve ${quote(name)} resource`,
      remedy: 'remove this entry',
    });
  else if (percent === undefined || Number(percent) < 0 || Number(percent) > 100)
    outlook.stops(path, { why: `${quote(value)} is not a whole percentage`, remedy: 'write 0% to 100%' });
}

type Ranges = readonly (readonly [from: number, to: number])[];

/** Several forecasts need the ranges, and 100 kB of text have 25,000: parsed once for each view. */
const rangesIn = new WeakMap<ConfigView, Ranges>();

/** Each CPU of reservedSystemCPUs as a range of ids; empty when unset or unreadable, which validation reports. */
export function reservedCPUs(view: ConfigView): Ranges {
  if (view.minor < 17) return [];
  const known = rangesIn.get(view);
  if (known !== undefined) return known;
  const ranges = Array.from(view.text('reservedSystemCPUs').matchAll(/(\d+)(?:-(\d+))?/g), ([, from, to]) => {
    return [Number(from), Number(to ?? from)] as const;
  });
  rangesIn.set(view, ranges);
  return ranges;
}

function countCPUs(ranges: Ranges): number {
  let count = 0;
  let next = 0;
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    count += Math.max(0, to + 1 - Math.max(from, next));
    next = Math.max(next, to + 1);
  }
  return count;
}

/**
 * In billionths; undefined when a part cannot be read or depends on a capacity that is unknown. `capacity` is of the resource, in
 * bytes; that of memory is known from the host.
 */
export function reservation(
  view: ConfigView,
  name: 'cpu' | 'memory' | 'ephemeral-storage' | 'pid',
  capacity: number | undefined = view.host.memoryBytes,
  { withEviction = true } = {},
): bigint | undefined {
  const ranges = reservedCPUs(view);
  if (name === 'cpu' && ranges.length > 0) return BigInt(countCPUs(ranges)) * giga;
  let total = name === 'cpu' || name === 'pid' || !withEviction ? 0n : evictionReserve(view, signalOf[name], capacity);
  for (const map of ['kubeReserved', 'systemReserved']) {
    const quantity = readQuantity(String(view.map(map)[name] ?? '0'));
    if (total === undefined || typeof quantity === 'string') return undefined;
    total += name === 'cpu' && view.minor >= 37 ? toMillis(quantity.nano) : quantity.nano;
  }
  return total;
}

/** Since 1.37 each CPU reservation is rounded to thousandths: 0.4m reserves nothing. */
function toMillis(nano: bigint): bigint {
  const micro = (nano + 999n) / 1000n;
  return ((micro + 500n) / 1000n) * 1_000_000n;
}

const signalOf = { memory: 'memory.available', 'ephemeral-storage': 'nodefs.available' };

/** The hard threshold is held back as well. */
function evictionReserve(view: ConfigView, signal: string, capacity: number | undefined): bigint | undefined {
  const threshold = view.map('evictionHard')[signal];
  const ignores = view.context.flags.get('experimental-allocatable-ignore-eviction')?.at(-1);
  if (threshold === undefined || threshold === '0%' || threshold === '100%' || /^[1tT]/.test(ignores ?? '')) return 0n;
  const text = String(threshold);
  if (text.endsWith('%')) {
    const percent = parseFloat32(text.replace(/%+$/, ''));
    if (percent === undefined || capacity === undefined) return undefined;
    return BigInt(Math.trunc(capacity * Math.fround(percent / 100))) * giga;
  }
  const quantity = readQuantity(text);
  return typeof quantity === 'string' ? undefined : quantity.nano;
}

function forecastCapacity(outlook: Outlook): void {
  const { view } = outlook;
  const { cpus, memoryBytes } = view.host;
  const ranges = reservedCPUs(view);
  if (cpus !== undefined && ranges.some(([, to]) => to >= cpus)) {
    outlook.stops('reservedSystemCPUs', {
      why: `${view.text('reservedSystemCPUs')} names CPUs beyond the ${cpus} of this host`,
      remedy: `use ids 0 to ${cpus - 1}`,
    });
    return;
  }
  for (const [name, capacity] of [
    ['cpu', cpus],
    ['memory', memoryBytes],
  ] as const) {
    const reserved = reservation(view, name);
    if (capacity === undefined || reserved === undefined || reserved <= BigInt(Math.trunc(capacity)) * giga) continue;
    outlook.stops(entryPath(view.map('kubeReserved')[name] === undefined ? 'systemReserved' : 'kubeReserved', name), {
      why: `more ${name} is reserved than the host has (${capacity}${name === 'memory' ? ' bytes' : ''})`,
      says: 'invalid Node Allocatable configuration',
      remedy: 'reserve less in kubeReserved, systemReserved and evictionHard together',
    });
  }
}

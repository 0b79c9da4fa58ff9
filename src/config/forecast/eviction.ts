/** Forecast for eviction thresholds: validation accepts any text, and the kubelet parses it only at start. */
import { tryParseDuration } from '../../go/duration.js';
import { parseFloat32 } from '../../go/float.js';
import { formatQuantity } from '../../go/quantity.js';
import { quote } from '../../go/quote.js';
import type { Minor } from '../model.js';
import { entryPath, type Outlook } from './outlook.js';

const signals: Record<string, Minor> = {
  'memory.available': 11,
  'allocatableMemory.available': 11,
  'nodefs.available': 11,
  'nodefs.inodesFree': 11,
  'imagefs.available': 11,
  'imagefs.inodesFree': 11,
  'pid.available': 14,
  'containerfs.available': 29,
  'containerfs.inodesFree': 29,
};

export const evictionSignals = (minor: Minor): string[] =>
  Object.keys(signals).filter((name) => signals[name]! <= minor);

export function forecastEviction(outlook: Outlook): void {
  const { view } = outlook;
  for (const map of ['evictionHard', 'evictionSoft'] as const)
    for (const [signal, value] of Object.entries(view.map(map)))
      if (isSignal(outlook, map, signal)) forecastThreshold(outlook, entryPath(map, signal), signal, String(value));
  for (const [signal, value] of Object.entries(view.map('evictionSoftGracePeriod')))
    if (isSignal(outlook, 'evictionSoftGracePeriod', signal)) forecastGracePeriod(outlook, signal, String(value));
  for (const [signal, value] of Object.entries(view.map('evictionMinimumReclaim')))
    if (isSignal(outlook, 'evictionMinimumReclaim', signal)) forecastReclaim(outlook, signal, String(value));
  forecastMissingGrace(outlook);
}

function isSignal(outlook: Outlook, map: string, signal: string): boolean {
  const since = Object.hasOwn(signals, signal) ? signals[signal]! : Infinity;
  if (since <= outlook.view.minor) return true;
  outlook.stops(entryPath(map, signal), {
    why: Number.isFinite(since)
      ? `${signal} is an eviction signal only since 1.${since}`
      : `${quote(signal)} is not an eviction signal`,
    says: `unsupported eviction signal ${signal}`,
    remedy: `use one of ${evictionSignals(outlook.view.minor).join(', ')}`,
  });
  return false;
}

/** The kubelet ignores these two, and requires no grace period for them. */
const isOff = (value: string) => value === '0%' || value === '100%';

function forecastThreshold(outlook: Outlook, path: string, signal: string, value: string): void {
  if (isOff(value)) return;
  if (value.endsWith('%')) {
    forecastPercentage(outlook, path, signal, value);
    return;
  }
  const quantity = outlook.quantity(path, value, 'write one such as 100Mi, or a percentage such as 5%');
  if (quantity !== undefined && quantity.nano <= 0n)
    outlook.stops(path, {
      why: `${value} is not more than nothing`,
      says: `eviction threshold ${signal} must be positive: ${formatQuantity(quantity)}`,
      remedy: 'write a positive quantity, or 0% to switch this signal off',
    });
}

/** The number before the sign; undefined when it is not a number, which is reported. */
function readPercentage(outlook: Outlook, path: string, value: string): number | undefined {
  const number = parseFloat32(value.replace(/%+$/, ''));
  if (number === undefined)
    outlook.stops(path, {
      why: `${quote(value)} is not a valid percentage`,
      remedy: 'write a plain number and %, such as 5%',
    });
  return number;
}

function forecastPercentage(outlook: Outlook, path: string, signal: string, value: string): void {
  const number = readPercentage(outlook, path, value);
  if (number === undefined) return;
  // Until 1.20 the kubelet compared a fraction of one with 100, so that only 10000% was too much.
  const most = outlook.view.minor >= 21 ? 1 : 100;
  if (number < 0)
    outlook.stops(path, {
      why: `${value} is less than nothing`,
      says: `eviction percentage threshold ${signal} must be >= 0%: ${value}`,
      remedy: 'write 0% to 100%',
    });
  else if (Math.fround(number / 100) > most)
    outlook.stops(path, {
      why: `${value} is more than all there is`,
      says: `eviction percentage threshold ${signal} must be <= 100%: ${value}`,
      remedy: 'write 0% to 100%',
    });
}

function forecastGracePeriod(outlook: Outlook, signal: string, value: string): void {
  const path = entryPath('evictionSoftGracePeriod', signal);
  const period = tryParseDuration(value);
  if (period === undefined)
    outlook.stops(path, { why: `${quote(value)} is not a valid duration`, remedy: 'write one such as 1m30s' });
  else if (period < 0n)
    outlook.stops(path, {
      why: `${value} is less than nothing`,
      says: `invalid eviction grace period specified: ${value}, must be a positive value`,
      remedy: 'write a duration such as 1m30s',
    });
}

function forecastReclaim(outlook: Outlook, signal: string, value: string): void {
  const path = entryPath('evictionMinimumReclaim', signal);
  if (value.endsWith('%')) {
    const number = readPercentage(outlook, path, value);
    if (number !== undefined && number <= 0)
      outlook.stops(path, {
        why: `${value} is not more than nothing`,
        says: `eviction percentage minimum reclaim ${signal} must be positive: ${value}`,
        remedy: 'write a positive percentage, or leave the signal out',
      });
    return;
  }
  const quantity = outlook.quantity(path, value, 'write one such as 500Mi, or a percentage such as 5%');
  if (quantity !== undefined && quantity.nano < 0n)
    outlook.stops(path, {
      why: `${value} is less than nothing`,
      says: `negative eviction minimum reclaim specified for ${signal}`,
      remedy: 'write zero or more',
    });
}

function forecastMissingGrace(outlook: Outlook): void {
  const periods = outlook.view.map('evictionSoftGracePeriod');
  for (const [signal, value] of Object.entries(outlook.view.map('evictionSoft')))
    if (!isOff(String(value)) && !Object.hasOwn(periods, signal))
      outlook.stops(entryPath('evictionSoft', signal), {
        why: `the soft threshold ${signal} has no grace period`,
        says: `grace period must be specified for the soft eviction threshold ${signal}`,
        remedy: `set evictionSoftGracePeriod[${signal}], for example to 1m30s`,
      });
}

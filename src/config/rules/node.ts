/** Rules about the Node and its lifecycle: lease, taints, registration, certificates, shutdown, swap, crash-loop backoff. */

import { quote } from '../../go/quote.js';
import { float } from '../../go/text.js';
import { print, spell } from './bounds.js';
import { type ConfigView, toNanoseconds } from './config-view.js';
import { nameErrors, valueErrors } from './label.js';

const second = 1_000_000_000n;

export function checkLease(view: ConfigView): void {
  if (view.minor >= 12 && view.number('nodeLeaseDurationSeconds') <= 0)
    view.report(
      'nodeLeaseDurationSeconds',
      `invalid configuration: ${spell('nodeLeaseDurationSeconds', view.minor)} must be greater than 0`,
    );
}

export function checkStatusImages(view: ConfigView): void {
  if (view.minor < 19 || view.number('nodeStatusMaxImages') >= -1) return;
  const shown = view.minor >= 24 ? ` ${print(view, 'nodeStatusMaxImages')}` : '';
  view.report(
    'nodeStatusMaxImages',
    `invalid configuration: ${spell('nodeStatusMaxImages', view.minor)} (--node-status-max-images)${shown} must be -1 or greater`,
  );
}

/** Certificates that need a gate, and run-once mode, which is gone since 1.32. */
export function checkCertificates(view: ConfigView): void {
  for (const [field, gate, last] of [
    ['rotateCertificates', 'RotateKubeletClientCertificate', 18],
    ['serverTLSBootstrap', 'RotateKubeletServerCertificate', Infinity],
  ] as const)
    if (view.minor <= last && view.bool(field) && !view.gate(gate))
      view.report(field, `invalid configuration: ${spell(field, view.minor)} true requires feature gate ${gate}`);
  if (view.minor >= 32 && view.bool('runOnce'))
    view.report(
      'runOnce',
      'invalid configuration: runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set',
    );
}

interface Taint {
  key?: string;
  value?: string;
  effect?: string;
  timeAdded?: string | null;
}

export function checkTaints(view: ConfigView): void {
  if (view.minor < 23) return;
  for (const [index, entry] of view.list('registerWithTaints').entries()) {
    const { key = '', value = '', effect = '', timeAdded = null } = (entry ?? {}) as Taint;
    const path = `registerWithTaints[${index}]`;
    const isEffect = ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect);
    if (nameErrors(key).length > 0 || valueErrors(value).length > 0 || !isEffect)
      view.report(path, `invalid taint: {${key} ${value} ${effect} ${showTime(timeAdded)}}`);
    if (timeAdded !== null)
      view.report(
        `${path}.timeAdded`,
        view.minor >= 24 ? 'invalid configuration: taint.TimeAdded is not nil' : 'taint TimeAdded is not nil',
      );
  }
}

function showTime(time: string | null): string {
  return time === null ? '<nil>' : `${time.replace('T', ' ').replace(/Z$/, '')} +0000 UTC`;
}

export function checkShutdown(view: ConfigView): void {
  if (view.minor < 20) return;
  const total = view.duration('shutdownGracePeriod');
  const critical = view.duration('shutdownGracePeriodCriticalPods');
  if (view.gate('GracefulNodeShutdown')) {
    if (view.minor >= 24) checkShutdownPeriods(view, total, critical);
    else checkOldShutdownPeriods(view, total, critical);
  } else if (total > 0n || critical > 0n)
    view.report(
      'shutdownGracePeriod',
      view.minor >= 24
        ? 'invalid configuration: specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown'
        : 'invalid configuration: Specifying ShutdownGracePeriod or ShutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
    );
  if (view.minor < 23 || view.list('shutdownGracePeriodByPodPriority').length === 0) return;
  if (!view.gate('GracefulNodeShutdownBasedOnPodPriority'))
    view.report(
      'shutdownGracePeriodByPodPriority',
      'invalid configuration: Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
    );
  else if (total > 0n || critical > 0n)
    view.report(
      'shutdownGracePeriodByPodPriority',
      'invalid configuration: Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
    );
}

function checkShutdownPeriods(view: ConfigView, total: bigint, critical: bigint): void {
  const shown = (path: string) => `{${view.text(path) || '0s'}}`;
  if (critical > total)
    view.report(
      'shutdownGracePeriodCriticalPods',
      `invalid configuration: shutdownGracePeriodCriticalPods ${shown('shutdownGracePeriodCriticalPods')} must be <= shutdownGracePeriod ${shown('shutdownGracePeriod')}`,
    );
  for (const [path, value] of [
    ['shutdownGracePeriod', total],
    ['shutdownGracePeriodCriticalPods', critical],
  ] as const)
    if (value !== 0n && value < second)
      view.report(path, `invalid configuration: ${path} ${shown(path)} must be either zero or otherwise >= 1 sec`);
}

/** Until 1.23: Go names, and all that can be wrong with the pair in one sentence. */
function checkOldShutdownPeriods(view: ConfigView, total: bigint, critical: bigint): void {
  const all = `ShutdownGracePeriod {${view.text('shutdownGracePeriod') || '0s'}}`;
  const some = `ShutdownGracePeriodCriticalPods {${view.text('shutdownGracePeriodCriticalPods') || '0s'}}`;
  if (total < 0n || critical < 0n || critical > total)
    view.report(
      critical > total ? 'shutdownGracePeriodCriticalPods' : 'shutdownGracePeriod',
      `invalid configuration: ${all} must be >= 0, ${some} must be >= 0, and ${some} must be <= ${all}`,
    );
  const rule = 'must be either zero or otherwise >= 1 sec';
  if (total > 0n && total < second) view.report('shutdownGracePeriod', `invalid configuration: ${all} ${rule}`);
  if (critical > 0n && critical < second)
    view.report('shutdownGracePeriodCriticalPods', `invalid configuration: ${some} ${rule}`);
}

export function checkSwap(view: ConfigView): void {
  if (view.minor < 22) return;
  const path = 'memorySwap.swapBehavior';
  const behavior = view.text(path);
  if (!view.gate('NodeSwap')) {
    const name = view.minor >= 24 ? path : 'MemorySwap.SwapBehavior';
    if (behavior !== '')
      view.report(path, `invalid configuration: ${name} cannot be set when NodeSwap feature flag is disabled`);
    return;
  }
  const taken = view.minor >= 30 ? ['LimitedSwap', 'NoSwap'] : ['LimitedSwap', 'UnlimitedSwap'];
  if (behavior === '' || taken.includes(behavior)) return;
  if (view.minor >= 30)
    view.report(
      path,
      `invalid configuration: ${path} ${quote(behavior)} must be one of: "", "LimitedSwap" or "NoSwap"`,
    );
  else if (view.minor >= 24)
    view.report(
      path,
      `invalid configuration: ${path} ${quote(behavior)} must be one of: "", "LimitedSwap", or "UnlimitedSwap"`,
    );
  else
    view.report(
      path,
      `invalid configuration: MemorySwap.SwapBehavior ${behavior} must be one of: LimitedSwap, UnlimitedSwap`,
    );
}

export function checkCrashLoop(view: ConfigView): void {
  if (view.minor < 32) return;
  const path = 'crashLoopBackOff.maxContainerRestartPeriod';
  const isSet = view.isSet(path);
  if (!view.gate('KubeletCrashLoopBackOffMax')) {
    if (isSet)
      view.report(
        path,
        'invalid configuration: FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set',
      );
    return;
  }
  if (!isSet) {
    view.report(
      path,
      'invalid configuration: FeatureGate KubeletCrashLoopBackOffMax is enabled, CrashLoopBackOff.MaxContainerRestartPeriod must be set',
    );
    return;
  }
  const ns = toNanoseconds(view.get(path));
  const milliseconds = ns / 1_000_000n;
  if (milliseconds < 1000n || milliseconds > 300_000n)
    view.report(
      path,
      `invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: ${float(Number(ns) / 1e9)} seconds) must be set between 1s and 300s`,
    );
}

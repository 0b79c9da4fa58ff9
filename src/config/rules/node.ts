/** Rules about the node as the cluster sees it: lease, taints, registration, shutdown, swap, crash loops, the OS below. */

import { float, quote } from '../../go/text.js';
import { print, spell } from './bounds.js';
import { type Judged, toNanoseconds } from './judged.js';
import { nameErrors, valueErrors } from './label.js';

const second = 1_000_000_000n;

export function checkLease(judged: Judged): void {
  if (judged.minor >= 12 && judged.number('nodeLeaseDurationSeconds') <= 0)
    judged.report(
      'nodeLeaseDurationSeconds',
      `invalid configuration: ${spell('nodeLeaseDurationSeconds', judged.minor)} must be greater than 0`,
    );
}

export function checkStatusImages(judged: Judged): void {
  if (judged.minor < 19 || judged.number('nodeStatusMaxImages') >= -1) return;
  const shown = judged.minor >= 24 ? ` ${print(judged, 'nodeStatusMaxImages')}` : '';
  judged.report(
    'nodeStatusMaxImages',
    `invalid configuration: ${spell('nodeStatusMaxImages', judged.minor)} (--node-status-max-images)${shown} must be -1 or greater`,
  );
}

/** Certificates that need a gate, and run-once mode, which is gone since 1.32. */
export function checkCertificates(judged: Judged): void {
  for (const [field, gate, last] of [
    ['rotateCertificates', 'RotateKubeletClientCertificate', 18],
    ['serverTLSBootstrap', 'RotateKubeletServerCertificate', Infinity],
  ] as const)
    if (judged.minor <= last && judged.bool(field) && !judged.gate(gate))
      judged.report(field, `invalid configuration: ${spell(field, judged.minor)} true requires feature gate ${gate}`);
  if (judged.minor >= 32 && judged.bool('runOnce'))
    judged.report(
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

export function checkTaints(judged: Judged): void {
  if (judged.minor < 23) return;
  for (const [index, entry] of judged.list('registerWithTaints').entries()) {
    const { key = '', value = '', effect = '', timeAdded = null } = (entry ?? {}) as Taint;
    const path = `registerWithTaints[${index}]`;
    const isEffect = ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect);
    if (nameErrors(key).length > 0 || valueErrors(value).length > 0 || !isEffect)
      judged.report(path, `invalid taint: {${key} ${value} ${effect} ${showTime(timeAdded)}}`);
    if (timeAdded !== null)
      judged.report(
        `${path}.timeAdded`,
        judged.minor >= 24 ? 'invalid configuration: taint.TimeAdded is not nil' : 'taint TimeAdded is not nil',
      );
  }
}

function showTime(time: string | null): string {
  return time === null ? '<nil>' : `${time.replace('T', ' ').replace(/Z$/, '')} +0000 UTC`;
}

export function checkShutdown(judged: Judged): void {
  if (judged.minor < 20) return;
  const total = judged.duration('shutdownGracePeriod');
  const critical = judged.duration('shutdownGracePeriodCriticalPods');
  if (judged.gate('GracefulNodeShutdown')) {
    if (judged.minor >= 24) checkShutdownPeriods(judged, total, critical);
    else checkOldShutdownPeriods(judged, total, critical);
  } else if (total > 0n || critical > 0n)
    judged.report(
      'shutdownGracePeriod',
      judged.minor >= 24
        ? 'invalid configuration: specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown'
        : 'invalid configuration: Specifying ShutdownGracePeriod or ShutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
    );
  if (judged.minor < 23 || judged.list('shutdownGracePeriodByPodPriority').length === 0) return;
  if (!judged.gate('GracefulNodeShutdownBasedOnPodPriority'))
    judged.report(
      'shutdownGracePeriodByPodPriority',
      'invalid configuration: Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
    );
  else if (total > 0n || critical > 0n)
    judged.report(
      'shutdownGracePeriodByPodPriority',
      'invalid configuration: Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
    );
}

function checkShutdownPeriods(judged: Judged, total: bigint, critical: bigint): void {
  const shown = (path: string) => `{${judged.text(path) || '0s'}}`;
  if (critical > total)
    judged.report(
      'shutdownGracePeriodCriticalPods',
      `invalid configuration: shutdownGracePeriodCriticalPods ${shown('shutdownGracePeriodCriticalPods')} must be <= shutdownGracePeriod ${shown('shutdownGracePeriod')}`,
    );
  for (const [path, value] of [
    ['shutdownGracePeriod', total],
    ['shutdownGracePeriodCriticalPods', critical],
  ] as const)
    if (value !== 0n && value < second)
      judged.report(path, `invalid configuration: ${path} ${shown(path)} must be either zero or otherwise >= 1 sec`);
}

/** Until 1.23: Go names, and all that can be wrong with the pair in one sentence. */
function checkOldShutdownPeriods(judged: Judged, total: bigint, critical: bigint): void {
  const all = `ShutdownGracePeriod {${judged.text('shutdownGracePeriod') || '0s'}}`;
  const some = `ShutdownGracePeriodCriticalPods {${judged.text('shutdownGracePeriodCriticalPods') || '0s'}}`;
  if (total < 0n || critical < 0n || critical > total)
    judged.report(
      critical > total ? 'shutdownGracePeriodCriticalPods' : 'shutdownGracePeriod',
      `invalid configuration: ${all} must be >= 0, ${some} must be >= 0, and ${some} must be <= ${all}`,
    );
  const rule = 'must be either zero or otherwise >= 1 sec';
  if (total > 0n && total < second) judged.report('shutdownGracePeriod', `invalid configuration: ${all} ${rule}`);
  if (critical > 0n && critical < second)
    judged.report('shutdownGracePeriodCriticalPods', `invalid configuration: ${some} ${rule}`);
}

export function checkSwap(judged: Judged): void {
  if (judged.minor < 22) return;
  const path = 'memorySwap.swapBehavior';
  const behavior = judged.text(path);
  if (!judged.gate('NodeSwap')) {
    const name = judged.minor >= 24 ? path : 'MemorySwap.SwapBehavior';
    if (behavior !== '')
      judged.report(path, `invalid configuration: ${name} cannot be set when NodeSwap feature flag is disabled`);
    return;
  }
  const taken = judged.minor >= 30 ? ['LimitedSwap', 'NoSwap'] : ['LimitedSwap', 'UnlimitedSwap'];
  if (behavior === '' || taken.includes(behavior)) return;
  if (judged.minor >= 30)
    judged.report(
      path,
      `invalid configuration: ${path} ${quote(behavior)} must be one of: "", "LimitedSwap" or "NoSwap"`,
    );
  else if (judged.minor >= 24)
    judged.report(
      path,
      `invalid configuration: ${path} ${quote(behavior)} must be one of: "", "LimitedSwap", or "UnlimitedSwap"`,
    );
  else
    judged.report(
      path,
      `invalid configuration: MemorySwap.SwapBehavior ${behavior} must be one of: LimitedSwap, UnlimitedSwap`,
    );
}

export function checkCrashLoop(judged: Judged): void {
  if (judged.minor < 32) return;
  const path = 'crashLoopBackOff.maxContainerRestartPeriod';
  const isSet = judged.isSet(path);
  if (!judged.gate('KubeletCrashLoopBackOffMax')) {
    if (isSet)
      judged.report(
        path,
        'invalid configuration: FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set',
      );
    return;
  }
  if (!isSet) {
    judged.report(
      path,
      'invalid configuration: FeatureGate KubeletCrashLoopBackOffMax is enabled, CrashLoopBackOff.MaxContainerRestartPeriod must be set',
    );
    return;
  }
  const ns = toNanoseconds(judged.get(path));
  const milliseconds = ns / 1_000_000n;
  if (milliseconds < 1000n || milliseconds > 300_000n)
    judged.report(
      path,
      `invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: ${float(Number(ns) / 1e9)} seconds) must be set between 1s and 300s`,
    );
}

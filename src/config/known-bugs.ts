/**
 * Known bugs of released kubelets that depend on a field: the affected versions, the effect, and the pull request with the fix. Each
 * was verified in the kubelet's source on both sides of the fix. Releases of vendors may have a fix earlier.
 */
import { readQuantity } from '../go/quantity.js';
import { setDefaults } from './defaults.js';
import type { Outlook } from './forecast/outlook.js';
import type { KubeletConfig, Minor, ValidationContext } from './model.js';
import { type ConfigView, viewOf } from './rules/config-view.js';

export interface KnownBug {
  /** Path of a field or of a key of a map. */
  path: string;
  /** The oldest minor that was found to have it. */
  from: Minor;
  /** The first minor of which every release has the fix. */
  fixedIn: Minor;
  /** First patch releases of older minors that have it too. */
  backports?: Readonly<Record<Minor, number>>;
  /** Number of the pull request in kubernetes/kubernetes. */
  pr: number;
  /** A sentence without a full stop. */
  effect: string;
  /** The kubelet crashes: then a config that triggers it is not started. */
  crashes?: true;
  /** Absent for a bug that does not justify a change of the config: it is shown with the field only. */
  isTriggered?(view: ConfigView): boolean;
}

const isFinerThanMilli = (view: ConfigView, map: string): boolean => {
  const quantity = readQuantity(String(view.map(map).cpu ?? ''));
  return typeof quantity !== 'string' && quantity.nano % 1_000_000n !== 0n;
};

const manyStatusWrites =
  'finer than a thousandth of a CPU, it makes the kubelet write the status of its node every ten seconds';
const hasThreshold = (view: ConfigView, key: string): boolean =>
  ['evictionHard', 'evictionSoft'].some((map) => key in view.map(map));

export const knownBugs: readonly KnownBug[] = [
  {
    path: 'maxParallelImagePulls',
    from: 33,
    fixedIn: 37,
    pr: 138937,
    effect: 'above 31, the kubelet crashes when it checks the credentials of some images',
    crashes: true,
    isTriggered: (view) => view.number('maxParallelImagePulls') > 31 && view.gate('KubeletEnsureSecretPulledImages'),
  },
  {
    path: 'preloadedImagesVerificationAllowlist',
    from: 33,
    fixedIn: 36,
    pr: 137629,
    effect: 'an entry that does not end in /* matches no image with a tag or a digest',
    isTriggered: (view) =>
      view.gate('KubeletEnsureSecretPulledImages') &&
      view.list('preloadedImagesVerificationAllowlist').some((entry) => !String(entry).endsWith('/*')),
  },
  {
    path: 'userNamespaces.idsPerPod',
    from: 33,
    fixedIn: 35,
    pr: 133373,
    effect: 'the value is shown by /configz and ignored: every pod gets 65536',
    isTriggered: (view) => ![0, 65_536].includes(view.number('userNamespaces.idsPerPod')),
  },
  {
    path: 'evictionHard',
    from: 22,
    fixedIn: 31,
    pr: 124063,
    effect: 'a pod that is evicted by a hard threshold gets its whole grace period, not one second',
  },
  {
    path: 'evictionHard[pid.available]',
    from: 20,
    fixedIn: 31,
    pr: 124101,
    effect: 'processes of pods are miscounted, and the pod that has too many is not the one that is evicted',
    isTriggered: (view) => hasThreshold(view, 'pid.available'),
  },
  {
    path: 'evictionMaxPodGracePeriod',
    from: 14,
    fixedIn: 32,
    pr: 122890,
    effect: 'it replaces the grace period of a pod also where that is shorter',
    isTriggered: (view) =>
      view.number('evictionMaxPodGracePeriod') > 0 && Object.keys(view.map('evictionSoft')).length > 0,
  },
  {
    path: 'kubeReserved[cpu]',
    from: 14,
    fixedIn: 37,
    pr: 136614,
    effect: manyStatusWrites,
    isTriggered: (view) => isFinerThanMilli(view, 'kubeReserved'),
  },
  {
    path: 'systemReserved[cpu]',
    from: 14,
    fixedIn: 37,
    pr: 136614,
    effect: manyStatusWrites,
    isTriggered: (view) => isFinerThanMilli(view, 'systemReserved'),
  },
  {
    path: 'memoryManagerPolicy',
    from: 22,
    fixedIn: 32,
    pr: 127074,
    effect:
      'with Static the kubelet may not start again while pods have memory of several NUMA nodes: it compares its state file too strictly',
    isTriggered: (view) => view.text('memoryManagerPolicy') === 'Static' && view.host.numaNodes !== 1,
  },
  {
    path: 'topologyManagerPolicy',
    from: 20,
    fixedIn: 36,
    pr: 138244,
    effect:
      'with many NUMA nodes the admission of a pod with devices takes forever: every combination of nodes is tried',
    isTriggered: (view) =>
      !['', 'none'].includes(view.text('topologyManagerPolicy')) && (view.host.numaNodes ?? 0) > 16,
  },
  {
    path: 'featureGates[EventedPLEG]',
    from: 26,
    fixedIn: 30,
    pr: 122475,
    effect: 'the kubelet may crash as it starts, when a pod is gone before its status was read',
    isTriggered: (view) => view.gate('EventedPLEG'),
  },
  {
    path: 'featureGates[NodeDeclaredFeatures]',
    from: 35,
    fixedIn: 36,
    pr: 136037,
    effect: 'the kubelet crashes when the mirror pod of a static pod is changed',
    isTriggered: (view) => view.gate('NodeDeclaredFeatures') && view.text('staticPodPath') !== '',
  },
  {
    path: 'featureGates[MemoryQoS]',
    from: 22,
    fixedIn: 37,
    pr: 139377,
    effect: 'turned off, containers that run keep memory.high, and stay slowed down near it',
  },
  {
    path: 'tlsCertFile',
    from: 31,
    fixedIn: 36,
    pr: 133654,
    effect:
      'a renewed certificate is not shown to clients that connect by IP address, as the API server does, until the kubelet is restarted',
    isTriggered: (view) =>
      view.text('tlsCertFile') !== '' &&
      view.text('tlsPrivateKeyFile') !== '' &&
      view.gate('ReloadKubeletServerCertificateFile'),
  },
  {
    path: 'serverTLSBootstrap',
    from: 32,
    fixedIn: 33,
    backports: { 32: 3 },
    pr: 130348,
    effect: 'after a restart the kubelet may neither report its status nor renew its serving certificate',
    isTriggered: (view) => view.bool('serverTLSBootstrap'),
  },
  {
    path: 'shutdownGracePeriod',
    from: 22,
    fixedIn: 37,
    pr: 137141,
    effect: 'while the connection to systemd-logind keeps failing, connections leak until the kubelet crashes',
  },
  {
    path: 'memorySwap',
    from: 28,
    fixedIn: 29,
    backports: { 28: 3 },
    pr: 120784,
    effect: 'with cgroup v2 and a kernel without swap accounting, no container starts',
  },
  {
    path: 'tracing',
    from: 29,
    fixedIn: 32,
    backports: { 29: 10, 30: 6, 31: 2 },
    pr: 126957,
    effect: 'the kubelet leaks memory, also where nothing is traced',
  },
  {
    path: 'eventRecordQPS',
    from: 14,
    fixedIn: 37,
    pr: 117119,
    effect: '0 is a limit of 5 events a second, not no limit',
  },
];

/** The bugs of a field, and of the keys of a map. */
export const bugsOf = (path: string): readonly KnownBug[] =>
  knownBugs.filter((bug) => bug.path === path || bug.path.startsWith(`${path}[`));

/** `1.33 to 1.36, fixed in 1.37`, or `1.29 to 1.31, fixed in 1.29.10, 1.30.6, 1.31.2 and 1.32`. */
function bugVersions({ from, fixedIn, backports = {} }: KnownBug): string {
  const range = fixedIn - from === 1 ? `1.${from}` : `1.${from} to 1.${fixedIn - 1}`;
  const fixes = [...Object.entries(backports).map(([minor, patch]) => `1.${minor}.${patch}`), `1.${fixedIn}`];
  return `${range}, fixed in ${fixes.slice(0, -1).join(', ')}${fixes.length > 1 ? ' and ' : ''}${fixes.at(-1)}`;
}

/** `cannot tell`: the patch release is not known, and some of them have the fix. */
function hasBug({ from, fixedIn, backports = {} }: KnownBug, minor: Minor, patch?: number): boolean | 'cannot tell' {
  if (minor < from || minor >= fixedIn) return false;
  const fix = backports[minor];
  if (fix === undefined) return true;
  return patch === undefined ? 'cannot tell' : patch < fix;
}

/** Bugs that the config triggers in this kubelet; `isCertain` if its patch release does not matter, or is known. */
function triggeredBugs(view: ConfigView): { bug: KnownBug; isCertain: boolean }[] {
  return knownBugs.flatMap((bug) => {
    const found = hasBug(bug, view.minor, view.context.patch);
    return found !== false && bug.isTriggered?.(view) ? [{ bug, isCertain: found === true }] : [];
  });
}

/** A crash is a reason not to start the config where this very release is known to have the bug. */
export function forecastKnownBugs(outlook: Outlook): void {
  for (const { bug, isCertain } of triggeredBugs(outlook.view)) {
    const message = `${prefix} ${bugText(bug)}`;
    if (bug.crashes && isCertain) outlook.crashes(bug.path, message);
    else outlook.warn(bug.path, message);
  }
}

/** Bugs that a config triggers, without any other check of it. The config is as written. */
export function bugWarnings(config: KubeletConfig, kubelet: Pick<ValidationContext, 'minor' | 'patch'>): string[] {
  const view = viewOf(setDefaults(config, kubelet.minor), { ...kubelet, flags: new Map() });
  return triggeredBugs(view).map(({ bug }) => `${bug.path}: ${prefix} ${bugText(bug)}`);
}

const prefix = 'known bug of kubelet';

export const isKnownBug = (message: string): boolean => message.startsWith(prefix);

/** `1.32, fixed in 1.32.3 and 1.33 (kubernetes/kubernetes#130348): after …`. */
export const bugText = (bug: KnownBug): string =>
  `${bugVersions(bug)} (kubernetes/kubernetes#${bug.pr}): ${bug.effect}`;

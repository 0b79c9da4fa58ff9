/** Forecast for single values that pass validation and that the kubelet rejects when it uses them. */
import { isWholeNumber } from '../../go/quantity.js';
import { quote } from '../../go/quote.js';
import { print } from '../rules/bounds.js';
import { isNamespaced } from '../rules/sysctls.js';
import type { Outlook } from './outlook.js';

export function forecastLimits(outlook: Outlook): void {
  forecastFrequencies(outlook);
  forecastContainerLogs(outlook);
  forecastIptables(outlook);
  forecastUserNamespaces(outlook);
  forecastChoices(outlook);
  forecastSysctls(outlook);
  forecastClient(outlook);
}

function forecastFrequencies(outlook: Outlook): void {
  const { view } = outlook;
  const sync = view.duration('syncFrequency');
  if (sync <= 0n)
    outlook.stops('syncFrequency', {
      why: `${view.text('syncFrequency') || '0s'} is not more than nothing`,
      says: `invalid sync frequency ${sync}`,
      remedy: 'write a positive duration; the default is 1m',
    });
  if (view.minor >= 16 && view.duration('runtimeRequestTimeout') <= 0n)
    outlook.stops('runtimeRequestTimeout', {
      why: `the first call to the container runtime is given up after ${view.text('runtimeRequestTimeout') || '0s'}`,
      says: 'context deadline exceeded',
      remedy: 'write a positive duration; the default is 2m',
    });
  if (view.text('staticPodPath') !== '' && view.duration('fileCheckFrequency') <= 0n)
    outlook.stops('fileCheckFrequency', {
      why: 'the directory of static pods cannot be looked at every less than nothing',
      says: 'panic: non-positive interval for NewTicker',
      remedy: 'write a positive duration; the default is 20s',
    });
}

/** Until 1.23 docker rotated its own logs, and the kubelet ignored these fields. */
function forecastContainerLogs(outlook: Outlook): void {
  const { view } = outlook;
  const rotates = view.minor >= 22 || view.gate('CRIContainerLogRotation');
  if (!rotates || (view.minor <= 23 && view.context.flags.get('container-runtime')?.at(-1) === 'docker')) return;
  if (view.number('containerLogMaxFiles') <= 1)
    outlook.stops('containerLogMaxFiles', {
      why: `${print(view, 'containerLogMaxFiles')} leaves no room for rotation`,
      says: `invalid MaxFiles ${print(view, 'containerLogMaxFiles')}, must be > 1`,
      remedy: 'write 2 or more; the default is 5',
    });
  const text = view.text('containerLogMaxSize');
  // Until 1.21 a negative size did not yet mean: no rotation.
  if (!isWholeNumber(text) || (view.minor <= 21 && text.startsWith('-')))
    outlook.stops('containerLogMaxSize', {
      why: `${quote(text)} is not a whole number of bytes to the kubelet`,
      says: `failed to parse container log max size ${quote(text)}`,
      remedy: 'write digits and Ki, Mi or Gi, such as 10Mi',
    });
}

function forecastIptables(outlook: Outlook): void {
  const { view } = outlook;
  if (view.minor > 27 || !view.bool('makeIPTablesUtilChains')) return;
  if (view.number('iptablesDropBit') === view.number('iptablesMasqueradeBit'))
    outlook.stops('iptablesDropBit', {
      why: 'iptablesDropBit and iptablesMasqueradeBit are the same bit',
      says: 'iptables-masquerade-bit and iptables-drop-bit must be different',
      remedy: 'choose different bits; the defaults are 15 and 14',
    });
}

/** Each pod gets its own range of user ids, and there are 2^32 of them. 1.33 and 1.34 do not check the configured number. */
function forecastUserNamespaces(outlook: Outlook): void {
  const { view } = outlook;
  if (view.minor < 30 || (view.minor >= 33 && !view.gate('UserNamespacesSupport'))) return;
  const chosen = 'userNamespaces.idsPerPod';
  const isChosen = view.minor >= 35 && view.isSet(chosen);
  const ids = isChosen ? view.number(chosen) : 65536;
  const room = Math.floor((2 ** 32 - ids) / ids);
  if (view.number('maxPods') <= room) return;
  const pods = print(view, 'maxPods');
  outlook.stops(isChosen ? chosen : 'maxPods', {
    why: `${pods} pods cannot have ${ids} user ids each`,
    says: `kubelet user assigned IDs are not enough to support ${pods} pods`,
    remedy: `set maxPods to ${room} or less${isChosen ? `, or ${chosen} lower` : ''}`,
  });
}

function forecastChoices(outlook: Outlook): void {
  const { view } = outlook;
  const strategy = view.text('configMapAndSecretChangeDetectionStrategy');
  if (view.minor >= 12 && !['Get', 'Cache', 'Watch'].includes(strategy))
    outlook.stops('configMapAndSecretChangeDetectionStrategy', {
      why: `${quote(strategy)} is not a way to detect changes`,
      says: `unknown configmap and secret manager mode: ${strategy}`,
      remedy: 'use Watch, Cache or Get',
    });
  if (view.minor >= 22 && view.minor <= 26 && view.bool('seccompDefault') && !view.gate('SeccompDefault'))
    outlook.stops('seccompDefault', {
      why: 'seccompDefault needs the feature gate SeccompDefault',
      says: 'the SeccompDefault feature gate must be enabled in order to use the SeccompDefault configuration',
      remedy: 'turn the gate on, or set seccompDefault to false',
    });
  if (view.minor === 11 && view.number('imageGCLowThresholdPercent') > view.number('imageGCHighThresholdPercent'))
    outlook.stops('imageGCLowThresholdPercent', {
      why: 'imageGCLowThresholdPercent is above imageGCHighThresholdPercent',
      remedy: 'write a lower one',
    });
  if (view.text('systemCgroups') === '/')
    outlook.stops('systemCgroups', {
      why: 'the root cgroup cannot hold the system processes',
      says: 'system container cannot be root ("/")',
      remedy: 'name a cgroup below it, or leave systemCgroups empty',
    });
  if (view.minor >= 19 && view.minor <= 31 && view.bool('runOnce'))
    outlook.warn(
      'runOnce',
      'runOnce makes the kubelet run its static pods once and exit: the node does not stay; set it to false',
    );
}

/** Only flags can set the burst to zero: a zero in the document is read as the default. A kubelet without an API server accepts it. */
function forecastClient(outlook: Outlook): void {
  const { view } = outlook;
  if (view.minor < 16 || view.number('kubeAPIQPS') <= 0 || view.number('kubeAPIBurst') !== 0) return;
  const why = 'a burst of 0 leaves no request to kubeAPIQPS';
  const remedy = 'write 1 or more';
  if (view.context.flags.has('kubeconfig') || view.context.flags.has('bootstrap-kubeconfig'))
    outlook.stops('kubeAPIBurst', {
      why,
      says: 'burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0',
      remedy,
    });
  else outlook.warn('kubeAPIBurst', `${why}: a kubelet with a kubeconfig exits at start; ${remedy}`);
}

const dotted = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?\.)*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/;
const slashed = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/;

/** Patterns of allowedUnsafeSysctls: their form, and whether the kernel keeps that sysctl per namespace. */
function forecastSysctls(outlook: Outlook): void {
  const { view } = outlook;
  if (view.minor < 16 || (view.minor <= 20 && !view.gate('Sysctls'))) return;
  for (const [index, pattern] of view.list('allowedUnsafeSysctls').map(String).entries()) {
    const path = `allowedUnsafeSysctls[${index}]`;
    const form = view.minor >= 23 ? slashed : dotted;
    if (pattern.length > 253 || !form.test(pattern))
      outlook.stops(path, {
        why: `${quote(pattern)} is not a valid sysctl pattern`,
        says: `sysctl ${quote(pattern)} must have at most 253 characters and match regex`,
        remedy: 'write a name in lower case, or a prefix with one * at its end, such as net.*',
      });
    else if (!isNamespaced(pattern, view.minor))
      outlook.stops(path, {
        why: `${pattern} is not kept apart per pod by the kernel`,
        says: `are not known to be namespaced`,
        remedy: `allow only net.*, fs.mqueue.*, kernel.sem, kernel.shm* and kernel.msg*${view.minor >= 37 ? ', kernel.domainname and user.*' : ''}`,
      });
  }
}

/** Single values that validation lets through and the kubelet refuses when it uses them. */
import { isWholeNumber } from '../../go/quantity.js';
import { quote } from '../../go/text.js';
import { print } from '../rules/bounds.js';
import type { Outlook } from './outlook.js';
import { foreseeSysctls } from './sysctls.js';

export function foreseeLimits(outlook: Outlook): void {
  foreseeFrequencies(outlook);
  foreseeContainerLogs(outlook);
  foreseeIptables(outlook);
  foreseeUserNamespaces(outlook);
  foreseeChoices(outlook);
  foreseeSysctls(outlook);
  foreseeClient(outlook);
}

function foreseeFrequencies(outlook: Outlook): void {
  const { judged } = outlook;
  const sync = judged.duration('syncFrequency');
  if (sync <= 0n)
    outlook.stops('syncFrequency', {
      why: `${judged.text('syncFrequency') || '0s'} is not more than nothing`,
      says: `invalid sync frequency ${sync}`,
      remedy: 'write a positive duration; the default is 1m',
    });
  if (judged.minor >= 16 && judged.duration('runtimeRequestTimeout') <= 0n)
    outlook.stops('runtimeRequestTimeout', {
      why: `the first call to the container runtime is given up after ${judged.text('runtimeRequestTimeout') || '0s'}`,
      says: 'context deadline exceeded',
      remedy: 'write a positive duration; the default is 2m',
    });
  if (judged.text('staticPodPath') !== '' && judged.duration('fileCheckFrequency') <= 0n)
    outlook.stops('fileCheckFrequency', {
      why: 'the directory of static pods cannot be looked at every less than nothing',
      says: 'panic: non-positive interval for NewTicker',
      remedy: 'write a positive duration; the default is 20s',
    });
}

/** Until 1.23 docker rotated its own logs, and the kubelet did not look at these fields. */
function foreseeContainerLogs(outlook: Outlook): void {
  const { judged } = outlook;
  const rotates = judged.minor >= 22 || judged.gate('CRIContainerLogRotation');
  if (!rotates || (judged.minor <= 23 && judged.context.flags.get('container-runtime')?.at(-1) === 'docker')) return;
  if (judged.number('containerLogMaxFiles') <= 1)
    outlook.stops('containerLogMaxFiles', {
      why: `${print(judged, 'containerLogMaxFiles')} leaves no room for rotation`,
      says: `invalid MaxFiles ${print(judged, 'containerLogMaxFiles')}, must be > 1`,
      remedy: 'write 2 or more; the default is 5',
    });
  const text = judged.text('containerLogMaxSize');
  // Until 1.21 a negative size did not yet mean: no rotation.
  if (!isWholeNumber(text) || (judged.minor <= 21 && text.startsWith('-')))
    outlook.stops('containerLogMaxSize', {
      why: `${quote(text)} is not a whole number of bytes to the kubelet`,
      says: `failed to parse container log max size ${quote(text)}`,
      remedy: 'write digits and Ki, Mi or Gi, such as 10Mi',
    });
}

function foreseeIptables(outlook: Outlook): void {
  const { judged } = outlook;
  if (judged.minor > 27 || !judged.bool('makeIPTablesUtilChains')) return;
  if (judged.number('iptablesDropBit') === judged.number('iptablesMasqueradeBit'))
    outlook.stops('iptablesDropBit', {
      why: 'iptablesDropBit and iptablesMasqueradeBit are the same bit',
      says: 'iptables-masquerade-bit and iptables-drop-bit must be different',
      remedy: 'choose different bits; the defaults are 15 and 14',
    });
}

/** Each pod gets its own range of user ids, and there are 2^32 of them. */
function foreseeUserNamespaces(outlook: Outlook): void {
  const { judged } = outlook;
  if (judged.minor < 30 || (judged.minor >= 33 && !judged.gate('UserNamespacesSupport'))) return;
  const chosen = 'userNamespaces.idsPerPod';
  const isChosen = judged.minor >= 33 && judged.isSet(chosen);
  const ids = isChosen ? judged.number(chosen) : 65536;
  const room = Math.floor((2 ** 32 - ids) / ids);
  if (judged.number('maxPods') <= room) return;
  const pods = print(judged, 'maxPods');
  outlook.stops(isChosen ? chosen : 'maxPods', {
    why: `${pods} pods cannot have ${ids} user ids each`,
    says: `kubelet user assigned IDs are not enough to support ${pods} pods`,
    remedy: `set maxPods to ${room} or less${isChosen ? `, or ${chosen} lower` : ''}`,
  });
}

function foreseeChoices(outlook: Outlook): void {
  const { judged } = outlook;
  const strategy = judged.text('configMapAndSecretChangeDetectionStrategy');
  if (judged.minor >= 12 && !['Get', 'Cache', 'Watch'].includes(strategy))
    outlook.stops('configMapAndSecretChangeDetectionStrategy', {
      why: `${quote(strategy)} is not a way to detect changes`,
      says: `unknown configmap and secret manager mode: ${strategy}`,
      remedy: 'use Watch, Cache or Get',
    });
  if (judged.minor >= 22 && judged.minor <= 26 && judged.bool('seccompDefault') && !judged.gate('SeccompDefault'))
    outlook.stops('seccompDefault', {
      why: 'seccompDefault needs the feature gate SeccompDefault',
      says: 'the SeccompDefault feature gate must be enabled in order to use the SeccompDefault configuration',
      remedy: 'turn the gate on, or set seccompDefault to false',
    });
  if (judged.minor === 11 && judged.number('imageGCLowThresholdPercent') > judged.number('imageGCHighThresholdPercent'))
    outlook.stops('imageGCLowThresholdPercent', {
      why: 'imageGCLowThresholdPercent is above imageGCHighThresholdPercent',
      remedy: 'write a lower one',
    });
  if (judged.text('systemCgroups') === '/')
    outlook.stops('systemCgroups', {
      why: 'the root cgroup cannot hold the system processes',
      says: 'system container cannot be root ("/")',
      remedy: 'name a cgroup below it, or leave systemCgroups empty',
    });
  if (judged.minor >= 19 && judged.minor <= 31 && judged.bool('runOnce'))
    outlook.warn(
      'runOnce',
      'runOnce makes the kubelet run its static pods once and exit: the node does not stay; set it to false',
    );
}

/** Only flags can set the burst to zero: a zero in the document is read as the default. A kubelet without an API does not mind. */
function foreseeClient(outlook: Outlook): void {
  const { judged } = outlook;
  if (judged.minor < 16 || judged.number('kubeAPIQPS') <= 0 || judged.number('kubeAPIBurst') !== 0) return;
  const why = 'a burst of 0 leaves no request to kubeAPIQPS';
  const remedy = 'write 1 or more';
  if (judged.context.flags.has('kubeconfig') || judged.context.flags.has('bootstrap-kubeconfig'))
    outlook.stops('kubeAPIBurst', {
      why,
      says: 'burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0',
      remedy,
    });
  else outlook.warn('kubeAPIBurst', `${why}: a kubelet with a kubeconfig exits at start; ${remedy}`);
}

/**
 * The ids of the checks in each benchmark. The CIS Kubernetes Benchmark renumbers its kubelet checks from time to time, and each
 * version covers some minors; the DISA STIG has one id per check; the guide of NSA and CISA has chapters. Pure.
 */
import type { Minor } from '../config/model.js';

export const benchmarks = ['cis', 'stig', 'nsa'] as const;
export type Benchmark = (typeof benchmarks)[number];

/** In the order of 4.2.1, 4.2.2 and so on. */
const before17 = [
  'anonymous-auth',
  'authorization',
  'client-ca',
  'read-only-port',
  'idle-timeout',
  'protect-kernel-defaults',
  'iptables-util-chains',
  'hostname-override',
  'event-qps',
  'serving-certificate',
  'rotate-certificates',
  'rotate-server-certificates',
  'strong-ciphers',
];
const since17 = [...before17.filter((key) => key !== 'protect-kernel-defaults'), 'pod-pids-limit'];
const since111 = [...since17, 'seccomp-default'];

interface CisVersion {
  version: string;
  /** First kubelet minor that it is for. */
  from: Minor;
  keys: readonly string[];
}

/** Newest first; kubelets that are newer than the newest version for them are audited with that. */
export const cisVersions: readonly CisVersion[] = [
  { version: '1.12', from: 32, keys: since111 },
  { version: '1.11', from: 29, keys: since111 },
  { version: '1.10', from: 28, keys: since17 },
  { version: '1.9', from: 27, keys: since17 },
  { version: '1.8', from: 26, keys: since17 },
  { version: '1.7', from: 25, keys: since17 },
  { version: '1.24', from: 24, keys: before17 },
  { version: '1.23', from: 22, keys: before17 },
  { version: '1.20', from: 0, keys: before17 },
];

export const cisVersionOf = (minor: Minor): CisVersion => cisVersions.find(({ from }) => minor >= from)!;

/** Each is in all releases of the STIG that have kubelet checks. */
export const stigIds: Readonly<Record<string, readonly string[]>> = {
  'read-only-port': ['V-242387'],
  'anonymous-auth': ['V-242391'],
  authorization: ['V-242392'],
  'static-pods': ['V-242397'],
  'dynamic-kubelet-config': ['V-242399'],
  'hostname-override': ['V-242404'],
  'client-ca': ['V-242420'],
  'serving-certificate': ['V-242424', 'V-242425'],
  'protect-kernel-defaults': ['V-242434'],
  'idle-timeout-5m': ['V-245541'],
};

/** The guide has no numbers: these are names for its chapters. */
export const nsaIds: Readonly<Record<string, readonly string[]>> = {
  'anonymous-auth': ['NSA-authentication'],
  authorization: ['NSA-authentication'],
  'client-ca': ['NSA-authentication'],
  'read-only-port': ['NSA-network'],
  'serving-certificate': ['NSA-network'],
  'strong-ciphers': ['NSA-network'],
  'seccomp-default': ['NSA-pod-security'],
  'pod-pids-limit': ['NSA-pod-security'],
};

/** The ids of a check for a kubelet of that minor: `CIS-4.2.1`, `V-242391`. Empty: no benchmark has the check for that minor. */
export function idsOf(key: string, minor: Minor, of: readonly Benchmark[] = benchmarks): string[] {
  const at = cisVersionOf(minor).keys.indexOf(key);
  const ids: Record<Benchmark, readonly string[]> = {
    cis: at < 0 ? [] : [`CIS-4.2.${at + 1}`],
    stig: stigIds[key] ?? [],
    nsa: nsaIds[key] ?? [],
  };
  return of.flatMap((one) => ids[one]);
}

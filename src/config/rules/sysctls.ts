/** Rules about the sysctls that the kubelet sets in pods: only namespaced ones are allowed. */
import { quote } from '../../go/quote.js';
import type { ConfigView } from './config-view.js';

const field = 'defaultPodSysctls';
const segment = '[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?';
const form = new RegExp(`^(?:${segment}[./])*${segment}$`);

/** The kubelet walks a Go map, so its order is random: ours is alphabetical. */
export function checkDefaultSysctls(view: ConfigView): void {
  const names = Object.keys(view.map(field)).sort();
  if (view.minor < 37 || names.length === 0) return;
  if (!view.gate('DefaultPodSysctls')) {
    view.report(
      field,
      `invalid configuration: DefaultPodSysctls feature gate is required for Kubelet configuration option ${field}`,
    );
    return;
  }
  const seen = new Set<string>();
  for (const name of names) {
    const report = (message: string) => view.report(`${field}[${name}]`, `invalid configuration: ${message}`);
    if (name.length > 253 || !form.test(name)) {
      report(`${quote(name)} is not a valid sysctl name for ${field}`);
      continue;
    }
    const dotted = withDots(name);
    if (!isNamespaced(name, view.minor)) report(`${quote(name)} is not known to be namespaced for ${field}`);
    if (seen.has(dotted)) report(`duplicate sysctl ${quote(dotted)} found in ${field}`);
    seen.add(dotted);
  }
}

const known = `kernel.sem kernel.shmall kernel.shmmax kernel.shmmni kernel.shm_rmid_forced kernel.shm kernel.msgmax
  kernel.msgmnb kernel.msgmni kernel.msg`.split(/\s+/);

/** Takes a name, or a pattern up to its first `*`. */
export function isNamespaced(pattern: string, minor: number): boolean {
  const name = withDots(pattern).replace(/\*.*$/, '');
  if (/^(net|fs\.mqueue)\./.test(name)) return true;
  if (minor >= 37 && (name === 'kernel.domainname' || name.startsWith('user.'))) return true;
  // Until 1.28 everything that begins so was taken.
  return minor >= 29 ? known.includes(name) : name === 'kernel.sem' || /^kernel\.(shm|msg)/.test(name);
}

/** `net/ipv4/ip_forward` is net.ipv4.ip_forward; the first separator decides. */
function withDots(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  return first === '/' ? name.replace(/[./]/g, (sign) => (sign === '/' ? '.' : '/')) : name;
}

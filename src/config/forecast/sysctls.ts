/** Patterns of allowedUnsafeSysctls: their form, and whether the kernel keeps that sysctl per namespace. */
import { quote } from '../../go/text.js';
import type { Outlook } from './outlook.js';

const dotted = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?\.)*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/;
const slashed = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/;
const names = `kernel.sem kernel.shmall kernel.shmmax kernel.shmmni kernel.shm_rmid_forced kernel.shm kernel.msgmax
  kernel.msgmnb kernel.msgmni kernel.msg`.split(/\s+/);

export function foreseeSysctls(outlook: Outlook): void {
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
        remedy: 'allow only net.*, fs.mqueue.*, kernel.sem, kernel.shm* and kernel.msg*',
      });
  }
}

function isNamespaced(pattern: string, minor: number): boolean {
  const name = withDots(pattern).replace(/\*.*$/, '');
  if (/^(net|fs\.mqueue)\./.test(name)) return true;
  // Until 1.28 everything that begins so was taken.
  return minor >= 29 ? names.includes(name) : name === 'kernel.sem' || /^kernel\.(shm|msg)/.test(name);
}

/** `net/ipv4/ip_forward` is net.ipv4.ip_forward; the first separator decides. */
function withDots(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  return first === '/' ? name.replace(/[./]/g, (sign) => (sign === '/' ? '.' : '/')) : name;
}

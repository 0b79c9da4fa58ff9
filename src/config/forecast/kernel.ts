/**
 * Forecast for protectKernelDefaults: the kubelet exits if sysctls differ from the values that it expects. If an earlier kubelet has
 * set them, they are right until the machine is booted, so a trial passes and the next boot fails.
 */
import type { Outlook } from './outlook.js';

/** As of every kubelet from 1.11 to 1.37. */
export const expectedSysctls: Readonly<Record<string, string>> = {
  'vm.overcommit_memory': '1',
  'vm.panic_on_oom': '0',
  'kernel.panic': '10',
  'kernel.panic_on_oops': '1',
  'kernel.keys.root_maxkeys': '1000000',
  'kernel.keys.root_maxbytes': '25000000',
};

export function forecastKernel(outlook: Outlook): void {
  const { view } = outlook;
  const { sysctlsAtBoot } = view.host;
  if (!view.bool('protectKernelDefaults') || sysctlsAtBoot === undefined) return;
  for (const [name, expected] of Object.entries(expectedSysctls)) {
    const found = sysctlsAtBoot[name];
    if (found !== undefined && found.value !== expected)
      outlook.stops('protectKernelDefaults', {
        why: `after the next boot ${name} is ${found.value} (${found.by}) and not ${expected}, which no trial finds out`,
        says: `invalid kernel flag: ${name.replaceAll('.', '/')}, expected value: ${expected}, actual value: ${found.value}`,
        remedy: `set ${name}=${expected} in a file of /etc/sysctl.d first`,
      });
    else if (found === undefined && usuallyOther.includes(name))
      outlook.warn(
        'protectKernelDefaults',
        `no file of sysctl.d sets ${name} to ${expected}: a kubelet without protectKernelDefaults sets it, and after the next boot the kubelet may exit at startup, which no trial finds out; set it in /etc/sysctl.d`,
      );
  }
}

/** The default of the kernel is another value; that of the others is the one that the kubelet expects. */
const usuallyOther = ['vm.overcommit_memory', 'kernel.panic', 'kernel.panic_on_oops'];

/** Runs tests on a machine of each image. Where there cannot be one, their name says why. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { has } from '../programs.js';
import { assets, kubeletBinary } from '../real-kubelet-rig.js';
import { VmNode } from './node.js';
import { images, slowMs } from './virtual-machine.js';

export function cannotBoot(): string | undefined {
  const missing = ['qemu-system-x86_64', 'qemu-img', 'mke2fs', 'ssh'].find((program) => !has(program));
  if (missing !== undefined) return `${missing} is not installed`;
  const binary = ['etcd', 'kube-apiserver', 'kubectl', 'kubelet'].find((name) => !existsSync(join(assets, name)));
  if (assets === '' || binary !== undefined) return `there is no ${binary} in KUBEBUILDER_ASSETS`;
  if ((kubeletBinary('KUBEBUILDER_ASSETS')?.minor ?? 0) < 35)
    return 'the kubelet in KUBEBUILDER_ASSETS is older than 1.35';
  if (images.length === 0) return 'VM_IMAGES names no directory with an image of scripts/vm-image.mjs';
  return undefined;
}

/** Each test begins with a node that is attached, with its local config. */
export function describeInMachines(what: string, tests: (node: () => VmNode) => void): void {
  const reason = cannotBoot();
  const all = reason === undefined ? images : ['none'];
  const note = reason === undefined ? '' : ` (skipped: ${reason})`;
  describe.skipIf(reason !== undefined).each(all.map((image) => [basename(image), image]))(
    `${what} on %s${note}`,
    { timeout: 2 * slowMs },
    (_name, image) => {
      let node: VmNode;
      beforeAll(async () => {
        node = await VmNode.create(image);
      }, 2 * slowMs);
      beforeEach(() => node.reset(), slowMs);
      afterAll(() => node?.close(), slowMs);
      tests(() => node);
    },
  );
}

/** Removes everything of relet from the kubelet's unit: afterwards `systemctl cat` prints what it printed before relet came. */
import { unitNames } from './host-layout.js';
import type { OwnFiles } from './own-files.js';
import { isNoSuchUnit, type Systemd } from './systemd.js';
import { isOwn } from './unit-text.js';

/**
 * The kubelet is not restarted: what it runs with should be the local config by then, since that is what its next start runs.
 * Idempotent.
 */
export async function detach(systemd: Systemd, own: OwnFiles): Promise<void> {
  await systemd.stop(unitNames.deadline).catch((error) => {
    if (!isNoSuchUnit(error)) throw error;
  });
  own.removeAll();
  await systemd.reload();
  const left = (await systemd.unit(own.layout.unit)).dropInPaths.filter(isOwn);
  if (left.length > 0)
    throw new Error(`${left.join(', ')} cannot be removed: delete the file on the host and reload systemd`);
}

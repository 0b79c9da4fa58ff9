/** Takes everything of relet off the kubelet's unit: afterwards `systemctl cat` prints what it printed before relet came. */
import { type HostOptions, hostLayout, unitNames } from './host-layout.js';
import { OwnFiles } from './own-files.js';
import { isNoSuchUnit, type Systemd } from './systemd.js';
import { isOwn } from './unit-text.js';

export interface DetachOptions extends HostOptions {
  systemd: Systemd;
  /** In front of paths of the host. Default none. */
  root?: string;
}

/**
 * The kubelet is not restarted: what it runs with should be the local config by then, since that is what its next start runs. No
 * agent may run. Idempotent.
 */
export async function detach({ systemd, unit, dir, root = '' }: DetachOptions): Promise<void> {
  const own = new OwnFiles(hostLayout({ unit, dir }), root);
  await systemd.stop(unitNames.deadline).catch((error) => {
    if (!isNoSuchUnit(error)) throw error;
  });
  own.removeAll();
  await systemd.reload();
  const left = (await systemd.unit(unit)).dropInPaths.filter(isOwn);
  if (left.length > 0)
    throw new Error(`${left.join(', ')} cannot be removed: delete the file on the host and reload systemd`);
}

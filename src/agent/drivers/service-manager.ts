/** Whether whoever started relet would start it again after a clean exit: `--on-change=exit` depends on it. */
import { readFileSync } from 'node:fs';
import type { Host } from './host.js';

/** A complaint with its remedy, or undefined when all is well or nothing can be known. */
export async function restartComplaint(host: Pick<Host, 'ask'>, cgroup = ownCgroup()): Promise<string | undefined> {
  const unit = serviceIn(cgroup);
  if (unit === undefined) return undefined;
  const { stdout } = await host
    .ask(['systemctl', 'show', '-p', 'Restart', '--value', unit], 2000)
    .catch(() => ({ stdout: '' }));
  const restart = stdout.trim();
  if (restart === '' || restart === 'always') return undefined;
  return `--on-change=exit exits with 0, and ${unit} has Restart=${restart}: the kubelet would stay down. Set Restart=always, or use --on-change=restart`;
}

/** The service whose control group a process lives in. */
const serviceIn = (cgroup: string) => /\/([^/\n]+\.service)$/m.exec(cgroup)?.[1];

function ownCgroup(): string {
  try {
    return readFileSync('/proc/self/cgroup', 'utf8');
  } catch {
    return '';
  }
}

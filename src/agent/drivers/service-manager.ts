/** Checks that systemd restarts relet's own service after a clean exit, which `--on-change=exit` relies on. */
import { readFileSync } from 'node:fs';
import type { RunCommand } from './command.js';

const timeoutMs = 2000;

/** Returns the problem with its remedy; undefined if there is none, or if it cannot be determined. */
export async function restartComplaint(run: RunCommand, cgroup = ownCgroup()): Promise<string | undefined> {
  const unit = serviceIn(cgroup);
  if (unit === undefined) return undefined;
  const command = ['systemctl', 'show', '-p', 'Restart', '--value', unit];
  const { stdout } = await run(command, timeoutMs).catch(() => ({ stdout: '' }));
  const restart = stdout.trim();
  if (restart === '' || restart === 'always') return undefined;
  return `--on-change=exit exits with 0, and ${unit} has Restart=${restart}: the kubelet would stay down. Set Restart=always, or use --on-change=restart`;
}

/** The systemd service that this process runs in. */
export const ownService = (): string | undefined => serviceIn(ownCgroup());

/** The service whose control group a process lives in. */
const serviceIn = (cgroup: string) => /\/([^/\n]+\.service)$/m.exec(cgroup)?.[1];

function ownCgroup(): string {
  try {
    return readFileSync('/proc/self/cgroup', 'utf8');
  } catch {
    return '';
  }
}

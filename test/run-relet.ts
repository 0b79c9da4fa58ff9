/** Runs the built `relet` as a user would, in a process of its own. `npm run build` makes what it runs. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

export const executable = join(import.meta.dirname, '..', 'bin', 'relet.cjs');

export interface Outcome {
  status: number | null;
  stdout: string;
  stderr: string;
}

export function relet(
  args: string[],
  options: { stdin?: string; cwd?: string; env?: Record<string, string> } = {},
): Outcome {
  const { status, stdout, stderr } = spawnSync(process.execPath, [executable, ...args], {
    encoding: 'utf8',
    input: options.stdin ?? '',
    cwd: options.cwd,
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, ...options.env },
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status, stdout, stderr };
}

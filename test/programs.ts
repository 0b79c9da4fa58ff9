/** Programs that some tests use. Where one is missing those tests are skipped, and say so; `npm run setup` installs them. */
import { spawnSync } from 'node:child_process';

interface Need {
  isMissing: boolean;
  /** Goes at the end of the test's name. */
  note: string;
}

export const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

export function needs(...programs: string[]): Need {
  const missing = programs.filter((name) => !has(name));
  return {
    isMissing: missing.length > 0,
    note: missing.length > 0 ? ` (skipped: ${missing.join(', ')} not found)` : '',
  };
}

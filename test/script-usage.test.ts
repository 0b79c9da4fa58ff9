/** Usage of the scripts that take options. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

describe.each([
  ['simulate.mjs', 'npm run simulate -- [--seed S]'],
  ['fuzz.mjs', 'npm run fuzz -- [--kubelet PATH'],
  ['torture.mjs', 'npm run torture -- [--hours N]'],
  ['stryker.mjs', 'npm run stryker -- [--part PART]'],
  ['runs.mjs', 'node scripts/runs.mjs [--out DIR]'],
  ['alone.mjs', 'node scripts/alone.mjs [COUNT]'],
])('scripts/%s', (name, usage) => {
  const run = (option: string) =>
    spawnSync(process.execPath, [join(import.meta.dirname, '../scripts', name), option], { encoding: 'utf8' });

  test(`${name} --help prints the usage`, () => {
    const { status, stdout, stderr } = run('--help');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.slice(0, usage.length + 1)).toBe(`\`${usage}`);
    expect(stdout).not.toContain('*');
  });

  test(`${name} reports an unknown option in one line with the usage`, () => {
    const { status, stdout, stderr } = run('--bogus');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^.*\n$/);
    expect(stderr).toContain(`${name}: Unknown option '--bogus'; usage: ${usage}`);
  });
});

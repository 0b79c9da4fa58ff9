/** The workflows of a hosted CI, which were not run: what can be checked here beside actionlint's rules. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import pkg from '../package.json' with { type: 'json' };

interface Workflow {
  permissions: object;
  jobs: Record<string, { steps: { uses?: string; run?: string }[]; 'timeout-minutes'?: number }>;
}

const root = join(import.meta.dirname, '..');
const dir = join(root, '.github/workflows');

describe.each(readdirSync(dir))('%s', (name) => {
  const text = readFileSync(join(dir, name), 'utf8');
  const { permissions, jobs } = parse(text) as Workflow;
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const commands = steps.map(({ run }) => run ?? '').join('\n');

  test('says that it was not run, gives no right by default but to read, and every job ends', () => {
    expect(text).toContain('# Not run yet');
    expect(Object.entries(permissions).filter(([, right]) => right !== 'read')).toEqual([]);
    for (const job of Object.values(jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0);
  });

  test('every action is pinned by a commit, with its version beside it', () => {
    const uses = text.split('\n').filter((line) => /^\s*-? *uses:/.test(line));
    expect(uses).toHaveLength(steps.filter((step) => step.uses !== undefined).length);
    for (const line of uses) expect(line).toMatch(/uses: [\w.-]+\/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test('every npm script that it runs is there', () => {
    for (const [, script] of commands.matchAll(/npm run ([\w:]+)/g)) expect(Object.keys(pkg.scripts)).toContain(script);
  });

  test('no command has an expression in it: values are passed as variables, and a shell does not read them', () => {
    expect(commands).not.toContain('${{');
  });

  test('a file is published by a path, which npm does not take for a repository', () => {
    for (const [, file] of commands.matchAll(/npm publish "?(\S+)/g)) expect(file).toMatch(/^\.\//);
  });
});

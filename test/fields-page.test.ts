/** docs/fields.md is what the catalogue says. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test('docs/fields.md is current', () => {
  const script = join(import.meta.dirname, '..', 'scripts', 'fields-page.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});

/** docs/cli.md lists every command of `relet --help`, and no other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { relet } from './run-relet.js';

test('the table of docs/cli.md has the commands of relet --help', () => {
  const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'cli.md'), 'utf8');
  const [table = ''] = page.slice(page.indexOf('|---|---|\n')).split('\n\n');
  const listed = table.split('\n').flatMap((row) => row.split('|')[1]?.match(/(?<=`)[a-z]+(?=`)/g) ?? []);
  const help = relet(['--help']).stdout;
  const commands = [...help.matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, name]) => name!);
  expect(listed.toSorted()).toEqual(commands.toSorted());
});

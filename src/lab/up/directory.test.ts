/** Which system a command that is told to people speaks of. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { dataDirFlag } from './directory.js';

test('a system in the usual place needs no flag, another one is named', () => {
  expect(dataDirFlag(join(homedir(), '.relet'))).toBe('');
  expect(dataDirFlag('/srv/relet')).toBe(' --data-dir /srv/relet');
});

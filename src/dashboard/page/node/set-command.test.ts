/** A command that is shown is the command that a shell would run. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { fieldsOf, setCommand } from './set-command.js';

const words = (command: string) =>
  spawnSync('sh', ['-c', `for word in ${command}; do printf '%s\\0' "$word"; done`], { encoding: 'utf8' })
    .stdout.split('\0')
    .slice(0, -1);

test('a shell reads every word as it was entered', () => {
  const fields = ['maxPods=150', "evictionHard={memory.available: 5%, note: 'it''s'}", 'a=$(reboot);`x`"'];
  expect(words(setCommand('node-1', { fields, accept: [], takeFromSet: false }))).toEqual([
    'relet',
    'set',
    'node-1',
    ...fields,
  ]);
});

test('what was accepted, and whether it is taken from its set, are flags', () => {
  expect(setCommand('n', { fields: ['maxPods=1'], accept: ['drain', 'reboot'], takeFromSet: true })).toBe(
    'relet set n maxPods=1 --accept=drain,reboot --take-from-set',
  );
});

test('one field a line', () => {
  expect(fieldsOf(' maxPods=150 \n\n registryPullQPS=10\n')).toEqual(['maxPods=150', 'registryPullQPS=10']);
});

/** The last lines of a kubelet that crashed: bounded, and absent where nothing can be read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readKubeletLog } from './kubelet-log.js';

const never = () => Promise.reject(new Error('ENOENT'));

function logFile(content: string): string {
  const root = mkdtempSync(join(tmpdir(), 'relet-kubelet-log-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, 'log'), content);
  return join(root, 'log');
}

test('the last lines of the log file are kept, each of a bounded length, and without control characters', async () => {
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const file = logFile(`${'x'.repeat(100_000)}\n${lines.join('\n')}\n\u001b[31mred\n${'y'.repeat(1000)}\n\n`);
  const found = await readKubeletLog({ file, unit: undefined, run: never });
  expect(found).toHaveLength(20);
  expect(found![0]).toBe('line 12');
  expect(found!.at(-2)).toBe('\\u001b[31mred');
  expect(found!.at(-1)).toHaveLength(500);
});

test('without a log file the journal of the unit is read', async () => {
  const asked: string[] = [];
  const run = async (command: string[]) => {
    asked.push(command.join(' '));
    return { code: 0, stdout: 'one\ntwo\n', stderr: '' };
  };
  expect(await readKubeletLog({ file: undefined, unit: 'kubelet.service', run })).toEqual(['one', 'two']);
  expect(asked).toEqual(['journalctl -u kubelet.service -n 20 --output=cat --no-pager']);
});

test.each([
  ['a missing log file', { file: '/nowhere/log', unit: undefined }],
  ['no log file and no unit', { file: undefined, unit: undefined }],
  ['a journalctl that cannot be run', { file: undefined, unit: 'kubelet.service' }],
])('%s gives no lines', async (_name, source) => {
  expect(await readKubeletLog({ ...source, run: never })).toBeUndefined();
});

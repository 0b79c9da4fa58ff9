/** The log of one kubelet: only its own lines, and none if nothing can be read. */
import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { createLog } from '../../log.js';
import { markKubeletLog } from './kubelet-log.js';

const never = () => Promise.reject(new Error('ENOENT'));
const process = { pid: 4711, startedAtMs: 1_700_000_000_900 };
const failed = (err: string) => `E1116 12:00:00.000000 4711 run.go:72] "command failed" err="${err}"\n`;

function logFile(content: string): string {
  const root = temporaryDir();
  writeFileSync(join(root, 'log'), content);
  return join(root, 'log');
}

describe('in a file', () => {
  const markFiles = (...files: string[]) => markKubeletLog({ files, journal: false }, never);

  test('only what was written since the start is read, without the lines of relet itself', async () => {
    const file = logFile(failed('of an earlier kubelet'));
    const read = markFiles(file);
    expect(await read(process)).toBeUndefined();
    const write = (line: string) => appendFileSync(file, line);
    createLog({ format: 'text', write }).error('kubelet exited', { why: 'exit code 1' });
    write(failed('of this one'));
    createLog({ format: 'json', write }).error('config rolled back');
    expect(await read(process)).toEqual({ error: 'of this one', lines: [failed('of this one').trimEnd()] });
  });

  test.each([
    ['was truncated', (file: string) => writeFileSync(file, failed('new'))],
    [
      'was rotated',
      (file: string) => {
        renameSync(file, `${file}.1`);
        writeFileSync(file, `${failed('new')}${'x\n'.repeat(1000)}`);
      },
    ],
  ])('one that %s since is read from its beginning', async (_name, change) => {
    const file = logFile('y'.repeat(500));
    const read = markFiles(file);
    change(file);
    expect((await read(process))?.error).toBe('new');
  });

  test('of a very long log only the end is read, and no half line', async () => {
    const file = logFile('');
    const read = markFiles(file);
    writeFileSync(file, `${'x'.repeat(600_000)}\n${failed('at the end')}`);
    expect(await read(process)).toMatchObject({ error: 'at the end', lines: [expect.stringMatching(/^E1116/)] });
  });

  test('the file that shows an error is used, and else the first with any line', async () => {
    const files = [logFile(''), logFile('')] as const;
    const read = markFiles(...files);
    writeFileSync(files[1], 'I1116 12:00:00.000000 4711 server.go:1] "started"\n');
    expect((await read(process))?.lines).toHaveLength(1);
    writeFileSync(files[0], 'a plain line\nI1116 12:00:00.000000 4711 server.go:1] "started"\n');
    expect((await read(process))?.lines).toHaveLength(2);
    appendFileSync(files[1], failed('here'));
    expect((await read(process))?.error).toBe('here');
  });

  test.each(['/nowhere/log', '/dev/null', '/proc/self/fd/0'])('%s has no lines', async (file) => {
    expect(await markFiles(file)(process)).toBeUndefined();
  });
});

describe('in the journal', () => {
  const markJournal = (run: typeof never) => markKubeletLog({ files: [], journal: true }, run as never);

  test('the lines of the process since its start are read', async () => {
    const asked: string[] = [];
    const run = async (command: string[]) => {
      asked.push(command.join(' '));
      return { code: 0, stdout: failed('in the journal'), stderr: '' };
    };
    expect((await markKubeletLog({ files: [], journal: true }, run)(process))?.error).toBe('in the journal');
    expect(asked).toEqual([
      'journalctl --boot _PID=4711 --since=@1700000000 --lines=3000 --output=cat --all --no-pager --quiet',
    ]);
  });

  test('a journalctl that cannot be run, and a kubelet that could not be started, have no lines', async () => {
    expect(await markJournal(never)(process)).toBeUndefined();
    const unexpected = async () => {
      throw new Error('asked for no process');
    };
    expect(await markJournal(unexpected)({ pid: undefined, startedAtMs: 0 })).toBeUndefined();
  });
});

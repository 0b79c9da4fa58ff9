/** The files and directories a node keeps, and what may stand in their way: U7 here is 16.9 of the conformance list. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fullFiles } from '../../../test/rig/crash-disk.js';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { createDir, type Files, realFiles, replaceFile } from '../../atomic-file.js';
import { createLog, silentLog } from '../../log.js';
import { systemProcesses } from '../../proc.js';
import { openDirectory } from './directory.js';

const source = { namespace: 'ns', name: 'n', uid: 'uid', resourceVersion: '1', kubeletConfigKey: 'kubelet' };
const open = (dir: string) => openDirectory({ dir, host: systemProcesses, log: silentLog });
const payload = (key: string) => ({
  files: new Map([[key, Buffer.from('')]]),
  annotations: {},
  binaryKeys: [],
});

describe('a record file', () => {
  test('U7.1 that is there is read', () => {
    const dir = join(temporaryDir(), 'dir');
    open(dir).state.assign(source);
    expect(open(dir).state.assigned()).toEqual({ source });
  });

  test('U7.2 that is not there is local', () => {
    const dir = join(temporaryDir(), 'dir');
    const { state } = open(dir);
    rmSync(join(dir, 'meta', 'assigned'));
    expect(state.assigned()).toEqual({ source: undefined });
  });

  test('U7.3 that is a directory is reported as broken, and stays', () => {
    const dir = join(temporaryDir(), 'dir');
    open(dir);
    rmSync(join(dir, 'meta', 'assigned'));
    mkdirSync(join(dir, 'meta', 'assigned'));
    expect(open(dir).state.assigned()).toMatchObject({ broken: { message: 'read meta/assigned' } });
    expect(statSync(join(dir, 'meta', 'assigned')).isDirectory()).toBe(true);
  });

  test.each([
    ['U7.4', 'is kept where it is', (dir: string) => open(dir).state.setLastKnownGood(source), { source }],
    [
      'U7.5',
      'is made where it is missing',
      (dir: string) => {
        open(dir);
        rmSync(join(dir, 'meta', 'last-known-good'));
      },
      { source: undefined },
    ],
    ['U7.6', 'is made where even its directory is missing', () => {}, { source: undefined }],
  ])('%s %s', (_id, _what, prepare, expected) => {
    const dir = join(temporaryDir(), 'deep', 'dir');
    prepare(dir);
    expect(open(dir).state.lastKnownGood()).toEqual(expected);
    expect(statSync(join(dir, 'meta', 'last-known-good')).isFile()).toBe(true);
  });
});

describe('replacing a file', () => {
  test.each([
    ['U7.7', 'that exists', true],
    ['U7.8', 'that does not', false],
  ])('%s %s', (_id, _what, exists) => {
    const path = join(temporaryDir(), 'file');
    if (exists) writeFileSync(path, 'old');
    replaceFile(path, 'new');
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(readdirSync(dirname(path))).toEqual(['file']);
  });

  test('U7.9 whose directory does not exist is an error that names it', () => {
    const path = join(temporaryDir(), 'missing', 'file');
    expect(() => replaceFile(path, 'new')).toThrow(
      expect.objectContaining({ message: `write ${path}`, cause: expect.objectContaining({ code: 'ENOENT' }) }),
    );
  });
});

describe('a directory', () => {
  test.each([
    ['U7.10', 'that is there', true],
    ['U7.11', 'that is not', undefined],
  ])('%s %s is found to be so', (_id, _what, found) => {
    const path = join(temporaryDir(), 'dir');
    if (found) mkdirSync(path);
    expect(realFiles.stat(path)?.isDirectory()).toBe(found);
  });

  test('U7.12 that is a file is refused, with the remedy', () => {
    const path = join(temporaryDir(), 'dir');
    writeFileSync(path, '');
    expect(() => open(path)).toThrow(`--dynamic-config-dir: ${path} is not a directory: move it away`);
  });

  test.each([
    ['U7.13', 'is used where it exists', (dir: string) => mkdirSync(dir, { recursive: true, mode: 0o700 })],
    ['U7.14', 'is made where it does not', (dir: string) => mkdirSync(dirname(dir), { mode: 0o700 })],
    ['U7.15', 'is made together with what leads to it', () => {}],
  ])('%s %s', (_id, _what, prepare) => {
    const dir = join(temporaryDir(), 'deep', 'dir');
    prepare(dir);
    open(dir);
    expect(readdirSync(dir)).toEqual(['checkpoints', 'meta']);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
  });
});

describe('a checkpoint', () => {
  test('U7.16 with a bad key is refused before anything is written', () => {
    const dir = join(temporaryDir(), 'dir');
    const { state } = open(dir);
    expect(() => state.checkpoints.save(source, payload('../kubelet'))).toThrow('invalid file key');
    expect(readdirSync(join(dir, 'checkpoints'))).toEqual([]);
  });

  test.each([
    ['U7.17', 'empty', []],
    ['U7.18', 'with files', ['a', 'b']],
  ])('%s is made whole: %s', (_id, _what, names) => {
    const root = temporaryDir();
    createDir(join(root, 'made'), new Map(names.map((name) => [name, Buffer.from(name)])));
    expect(readdirSync(root)).toEqual(['made']);
    expect(readdirSync(join(root, 'made'))).toEqual(names);
    for (const name of names) expect(readFileSync(join(root, 'made', name), 'utf8')).toBe(name);
  });
});

describe('a disk that takes nothing', () => {
  const full = () => fullFiles;
  const readOnly: Files = {
    ...realFiles,
    ...Object.fromEntries(
      (['makeDir', 'create', 'rename', 'link', 'remove'] as const).map((name) => [
        name,
        () => {
          throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' });
        },
      ]),
    ),
  };

  test.each([
    ['full', full],
    ['read-only', () => readOnly],
  ])('%s, does not keep a node from starting, with what is there', (_how, files) => {
    const dir = join(temporaryDir(), 'dir');
    const host = systemProcesses;
    const empty = openDirectory({ dir, host, log: silentLog, files: files() });
    expect(empty.state.assigned()).toEqual({ source: undefined });
    expect(empty.writable).toBe(false);
    const { state, lock } = open(dir);
    state.assign(source);
    lock.release();
    const lines: string[] = [];
    const log = createLog({ format: 'text', write: (line) => void lines.push(line) });
    const opened = openDirectory({ dir, host, log, files: files() });
    expect(opened.state.assigned()).toEqual({ source });
    expect(lines.join('')).toContain('cannot write to dynamic config dir, continuing with existing records what=lock');
    opened.lock.check();
    opened.lock.release();
  });

  test('does not let a second relet in', () => {
    const dir = join(temporaryDir(), 'dir');
    open(dir);
    standIn(dir);
    expect(() => openDirectory({ dir, host: systemProcesses, log: silentLog, files: full() })).toThrow(/another relet/);
  });

  test('is not mistaken for a directory that cannot be', () => {
    const root = temporaryDir();
    writeFileSync(join(root, 'file'), '');
    expect(() => open(join(root, 'file', 'dir'))).toThrow(/ENOTDIR/);
  });
});

/** Another living process wrote the lock after us. */
function standIn(dir: string): void {
  const host = systemProcesses;
  const record = { bootId: host.bootId(), process: host.identify(process.ppid) };
  writeFileSync(join(dir, 'meta', 'lock'), JSON.stringify(record));
}

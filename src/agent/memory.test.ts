/** What is kept on disk: records in upstream's form, checkpoints, adoption, trust and lock. Ids are those of the conformance list. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { realFiles } from '../atomic-file.js';
import { silentLog } from '../log.js';
import { openDirectory } from './directory.js';
import { createHost } from './host.js';
import { Memory } from './memory.js';
import { decodeRecord, encodeRecord } from './record.js';
import type { ExactSource, SourceOrLocal } from './source.js';
import { assign, settleOn } from './transitions.js';

const host = createHost(process.env);
const root = mkdtempSync(join(tmpdir(), 'relet-memory-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const newDir = () => join(mkdtempSync(join(root, 'node-')), 'dynamic-config');
const open = (dir = newDir()) => ({ dir, ...openDirectory({ dir, host, log: silentLog }) });
const text = (dir: string, name: string) => readFileSync(join(dir, 'meta', name), 'utf8');

const source: ExactSource = {
  namespace: 'namespace',
  name: 'name',
  uid: 'uid',
  resourceVersion: '1',
  kubeletConfigKey: 'kubelet',
};
const other: ExactSource = { ...source, uid: 'other-uid', resourceVersion: '7' };
const payload = (files: Record<string, string>) => ({
  files: new Map(Object.entries(files).map(([name, data]) => [name, Buffer.from(data)])),
  annotations: {},
  binaryKeys: [],
});

const recordText = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: SerializedNodeConfigSource
source:
  configMap:
    kubeletConfigKey: kubelet
    name: name
    namespace: namespace
    resourceVersion: "1"
    uid: uid
`;

describe('records', () => {
  test('U5.1 a first start makes the directories and two empty records, for root alone', () => {
    const { dir } = open();
    expect(readdirSync(dir)).toEqual(['checkpoints', 'meta']);
    for (const name of ['assigned', 'last-known-good']) {
      expect(text(dir, name)).toBe('');
      expect(statSync(join(dir, 'meta', name)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(dir).mode & 0o777).toBe(0o700);
  });

  test.each(['assigned', 'last-known-good'])('U5.18–U5.29 %s: empty is local, a source has upstream’s text', (name) => {
    const { dir, memory } = open();
    const read = () => (name === 'assigned' ? memory.assigned() : memory.lastKnownGood());
    const write = (value: SourceOrLocal) =>
      name === 'assigned' ? memory.assign(value) : memory.setLastKnownGood(value);
    expect(read()).toEqual({ source: undefined });
    write(source);
    expect(text(dir, name)).toBe(recordText);
    expect(read()).toEqual({ source });
    write(undefined);
    expect(text(dir, name)).toBe('');
    expect(() => write({ ...source, uid: '' })).toThrow('empty UID is ambiguous');
    expect(() => write({ ...source, resourceVersion: '' })).toThrow('empty ResourceVersion is ambiguous');
    expect(text(dir, name)).toBe('');
  });

  test('a record survives names that YAML would read as something else', () => {
    const odd = { namespace: 'yes', name: '0x10', uid: '1e3', resourceVersion: '007', kubeletConfigKey: 'null' };
    expect(decodeRecord(encodeRecord(odd))).toEqual(odd);
  });

  test('a record of a newer version is read, unknown fields and JSON included', () => {
    expect(decodeRecord(`${recordText}later: true\n`)).toEqual(source);
    expect(
      decodeRecord(
        JSON.stringify({
          apiVersion: 'kubelet.config.k8s.io/v1beta1',
          kind: 'SerializedNodeConfigSource',
          source: { configMap: source },
        }),
      ),
    ).toEqual(source);
  });

  test.each([
    ['no YAML', 'a: [', 'failed to decode, error: '],
    ['another kind', 'kind: ConfigMap\napiVersion: v1\n', 'expected SerializedNodeConfigSource'],
    ['no uid', recordText.replace('uid: uid', 'uid: ""'), 'uid must be set'],
    [
      'a uid that leads out of the directory',
      recordText.replace('uid: uid', 'uid: ../..'),
      'only base names are allowed',
    ],
  ])('X8 an undecodable record is reported, not fatal: %s', (_name, content, message) => {
    const { dir, memory } = open();
    writeFileSync(join(dir, 'meta', 'assigned'), content);
    const recorded = memory.assigned();
    expect('broken' in recorded && (recorded.broken.cause as Error).message).toContain(message);
  });

  test.each<[string, SourceOrLocal, SourceOrLocal]>([
    ['U5.30 nothing', undefined, undefined],
    ['U5.31 assigned only', source, undefined],
    ['U5.32 last known good only', undefined, source],
    ['U5.33 both the same', source, source],
    ['U5.34 two', source, other],
    ['U5.35 two, the other way round', other, source],
  ])('%s: a reset that went well leaves both records empty', (_name, assigned, lastKnownGood) => {
    const { dir, memory } = open();
    memory.assign(assigned);
    memory.setLastKnownGood(lastKnownGood);
    assign(memory, undefined, assigned);
    settleOn(memory, undefined, silentLog);
    expect([text(dir, 'assigned'), text(dir, 'last-known-good')]).toEqual(['', '']);
    expect(existsSync(join(dir, 'meta', 'way-back'))).toBe(false);
  });
});

describe('checkpoints', () => {
  test('U5.2–U5.6 what was saved exists, as exactly these files', () => {
    const { dir, memory } = open();
    memory.checkpoints.save(source, payload({ kubelet: 'a: 1\n', extra: 'x' }));
    const path = join(dir, 'checkpoints', 'uid', '1');
    expect(readdirSync(path)).toEqual(['extra', 'kubelet']);
    expect(readFileSync(join(path, 'kubelet'), 'utf8')).toBe('a: 1\n');
    expect(statSync(join(path, 'kubelet')).mode & 0o777).toBe(0o600);
    expect(memory.checkpoints.exists(source)).toBe(true);
    expect(memory.checkpoints.exists(other)).toBe(false);
    expect(() => memory.checkpoints.exists({ ...source, uid: '' })).toThrow('empty UID is ambiguous');
    expect(() => memory.checkpoints.exists({ ...source, resourceVersion: '' })).toThrow(
      'empty ResourceVersion is ambiguous',
    );
  });

  test.each([
    ['U5.7', '', 'must not be empty'],
    ['U5.8', 'foo/bar', 'only base names are allowed'],
    ['U5.9', '/bar', 'only base names are allowed'],
    ['U5.10', '.', "may not be '.' or '..'"],
    ['U5.11', '..', "may not be '.' or '..'"],
    ['U5.12', 'n'.repeat(256), 'must be less than 255 characters'],
  ])('%s a key that is no file name is refused before anything is written', (_id, key, message) => {
    const { dir, memory } = open();
    expect(() => memory.checkpoints.save(source, payload({ [key]: '' }))).toThrow(message);
    expect(readdirSync(join(dir, 'checkpoints'))).toEqual([]);
  });

  test('U5.13–U5.16 loading gives back what was saved, or says why not', () => {
    const { memory } = open();
    memory.checkpoints.save(source, payload({ kubelet: 'a: 1\n' }));
    expect(memory.checkpoints.load(source).config.toString()).toBe('a: 1\n');
    expect(() => memory.checkpoints.load(other)).toThrow(
      'no checkpoint for source /api/v1/namespaces/namespace/configmaps/name, UID: other-uid, ResourceVersion: 7',
    );
    expect(() => memory.checkpoints.load({ ...source, uid: '' })).toThrow('empty UID is ambiguous');
    expect(() => memory.checkpoints.load({ ...source, resourceVersion: '' })).toThrow(
      'empty ResourceVersion is ambiguous',
    );
  });

  test('X15 two sources that differ only in their key share a checkpoint, and each loads its own', () => {
    const { memory } = open();
    memory.checkpoints.save(source, payload({ kubelet: 'a: 1\n', second: 'a: 2\n' }));
    const second = { ...source, kubeletConfigKey: 'second' };
    expect(memory.checkpoints.save(second, payload({ kubelet: 'a: 1\n', second: 'a: 2\n' }))).toBe(false);
    expect(memory.checkpoints.load(second).config.toString()).toBe('a: 2\n');
    expect(memory.checkpoints.load(second).digest).not.toBe(memory.checkpoints.load(source).digest);
  });

  test('X6 a key that lives only in binaryData is named as the cause', () => {
    const { memory } = open();
    memory.checkpoints.save(source, { ...payload({ readme: '' }), binaryKeys: ['kubelet'] });
    expect(() => memory.checkpoints.load(source)).toThrow('only under binaryData');
  });

  test.each([
    ['changed', (path: string) => writeFileSync(join(path, 'kubelet'), 'a: 2\n'), 'is not what was downloaded'],
    ['cut short', (path: string) => writeFileSync(join(path, 'kubelet'), ''), 'is not what was downloaded'],
    ['joined by a stranger', (path: string) => writeFileSync(join(path, 'stranger'), ''), 'was not downloaded'],
  ])('a checkpoint that was %s is not loaded, and saving mends it', (_name, harm, message) => {
    const { dir, memory } = open();
    memory.checkpoints.save(source, payload({ kubelet: 'a: 1\n' }));
    harm(join(dir, 'checkpoints', 'uid', '1'));
    expect(() => memory.checkpoints.load(source)).toThrow(message);
    expect(memory.checkpoints.save(source, payload({ kubelet: 'a: 1\n' }))).toBe(true);
    expect(memory.checkpoints.load(source).config.toString()).toBe('a: 1\n');
  });

  test('only what a record names, or a kubelet runs with, is kept', () => {
    const { dir, memory } = open();
    const version = (resourceVersion: string) => ({ ...source, resourceVersion });
    for (const number of ['1', '2', '3', '4', '5'])
      memory.checkpoints.save(version(number), payload({ kubelet: number }));
    mkdirSync(join(dir, 'checkpoints', 'uid', 'tmp_6abc'));
    writeFileSync(join(dir, 'meta', 'tmp_assigned1'), 'half');
    memory.assign(version('1'));
    memory.setLastKnownGood(version('2'));
    memory.wayBack.write(version('3'));
    memory.child.write({ token: 't', bootId: 'b', source: version('4') });
    memory.collect();
    expect(readdirSync(join(dir, 'checkpoints', 'uid'))).toEqual(['1', '2', '3', '4']);
    expect(readdirSync(join(dir, 'meta')).filter((name) => name.startsWith('tmp_'))).toEqual([]);
    expect(Object.keys(JSON.parse(text(dir, 'digests')))).toHaveLength(4);
  });

  test('a ConfigMap key may be named like a part of JavaScript', () => {
    const { memory } = open();
    const files = new Map([
      ['__proto__', Buffer.from('p')],
      ['constructor', Buffer.from('c')],
      ['kubelet', Buffer.from('k')],
    ]);
    memory.checkpoints.save(source, { files, annotations: {}, binaryKeys: [] });
    expect([...memory.checkpoints.load(source).files.keys()]).toEqual(['__proto__', 'constructor', 'kubelet']);
  });
});

describe('adoption of what a real kubelet left', () => {
  const leave = (dir: string) => {
    mkdirSync(join(dir, 'store', 'meta'), { recursive: true, mode: 0o700 });
    mkdirSync(join(dir, 'store', 'checkpoints', 'uid', '1'), { recursive: true });
    writeFileSync(join(dir, 'store', 'checkpoints', 'uid', '1', 'kubelet'), 'a: 1\n');
    writeFileSync(join(dir, 'store', 'meta', 'assigned'), recordText);
    writeFileSync(join(dir, 'store', 'meta', 'last-known-good'), '');
  };

  test('records and checkpoints are taken over, once', () => {
    const dir = newDir();
    leave(dir);
    const { memory } = open(dir);
    expect(memory.assigned()).toEqual({ source });
    expect(memory.checkpoints.load(source).config.toString()).toBe('a: 1\n');
    memory.assign(undefined);
    expect(open(dir).memory.assigned()).toEqual({ source: undefined });
  });

  test('a record nobody can read is taken as local', () => {
    const dir = newDir();
    leave(dir);
    writeFileSync(join(dir, 'store', 'meta', 'assigned'), 'a: [');
    expect(open(dir).memory.assigned()).toEqual({ source: undefined });
  });
});

describe('trust and lock', () => {
  test('a directory that is a symbolic link is refused', () => {
    const { dir } = open();
    symlinkSync(dir, `${dir}-link`);
    expect(() => open(`${dir}-link`)).toThrow('is a symbolic link: name the directory it leads to');
  });

  test('a directory that others may write is refused', () => {
    const dir = newDir();
    mkdirSync(dir, { recursive: true });
    chmodSync(dir, 0o777);
    expect(() => open(dir)).toThrow('chmod go-w');
  });

  test('a second process is refused while the first lives, and the lock of a dead one is void', () => {
    const { dir } = open();
    const path = join(dir, 'meta', 'lock');
    const living = { bootId: host.bootId(), process: host.identify(process.ppid) };
    writeFileSync(path, JSON.stringify(living));
    expect(() => open(dir)).toThrow(`another relet (pid ${process.ppid}) runs on this directory`);
    for (const dead of [
      { ...living, bootId: 'an earlier boot' },
      { ...living, process: { pid: process.ppid, startTime: '1' } },
      { bootId: host.bootId(), process: { pid: 2 ** 22 + 1, startTime: '1' } },
      'torn',
    ]) {
      writeFileSync(path, JSON.stringify(dead));
      open(dir);
    }
    open(dir).lock.release();
    expect(existsSync(path)).toBe(false);
  });

  test('our own records may be garbage without harm', () => {
    const { dir } = open();
    for (const name of ['trial', 'verdicts', 'digests', 'child', 'hold', 'report', 'kubelet', 'way-back'])
      writeFileSync(join(dir, 'meta', name), '{"torn": ');
    const memory = new Memory(dir, silentLog, realFiles);
    for (const record of [
      memory.trial,
      memory.verdicts,
      memory.child,
      memory.hold,
      memory.report,
      memory.kubelet,
      memory.wayBack,
    ])
      expect(record.read()).toBeUndefined();
    memory.checkpoints.save(source, payload({ kubelet: 'a' }));
    expect(memory.checkpoints.load(source).config.toString()).toBe('a');
  });
});

/** The node state on disk: records in upstream's form, records of the first edition, checkpoints, adoption, trust and lock. Ids are those of the conformance list. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import type { ExactRef } from '../../api/config-ref.js';
import { realFiles } from '../../atomic-file.js';
import { silentLog } from '../../log.js';
import { systemProcesses } from '../../proc.js';
import { previousConfigRecord } from '../candidates.js';
import { childRecord } from '../drivers/child.js';
import { kubeletRecord } from '../drivers/kubelet-version.js';
import { reportRecord } from '../report/reporter.js';
import { holdRecord } from '../requests.js';
import { assign, garbageCollect, isAnotherAssignment, keepAsLastKnownGood, passTrial } from '../transitions.js';
import { resultsRecord, setResult, trialRecord } from '../trial/trial.js';
import { openDirectory } from './directory.js';
import type { RecordType } from './json-record.js';
import { decodeSource, encodeSource, NodeState } from './node-state.js';

const host = systemProcesses;
const root = temporaryDir();
const newDir = () => join(mkdtempSync(join(root, 'node-')), 'dynamic-config');
const open = (dir = newDir()) => ({ dir, ...openDirectory({ dir, host, log: silentLog }) });
const text = (dir: string, name: string) => readFileSync(join(dir, 'meta', name), 'utf8');

const source: ExactRef = {
  namespace: 'namespace',
  name: 'name',
  uid: 'uid',
  resourceVersion: '1',
  kubeletConfigKey: 'kubelet',
};
const other: ExactRef = { ...source, uid: 'other-uid', resourceVersion: '7' };
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

  const records = {
    assigned: {
      read: (state: NodeState) => state.assigned(),
      write: (state: NodeState, value: ExactRef | undefined) => state.assign(value),
    },
    'last-known-good': {
      read: (state: NodeState) => state.lastKnownGood(),
      write: (state: NodeState, value: ExactRef | undefined) => state.setLastKnownGood(value),
    },
  };

  test.each([
    ['U5.18', 'assigned', 'empty', '', undefined],
    ['U5.19', 'assigned', 'a source', recordText, source],
    ['U5.20', 'last-known-good', 'empty', '', undefined],
    ['U5.21', 'last-known-good', 'a source', recordText, source],
  ] as const)('%s %s is read from its file: %s', (_id, name, _what, content, expected) => {
    const { dir, state } = open();
    writeFileSync(join(dir, 'meta', name), content);
    expect(records[name].read(state)).toEqual({ source: expected });
  });

  test.each([
    ['U5.22', 'assigned', 'local empties it', undefined, ''],
    ['U5.23', 'assigned', 'a source has upstream’s text', source, recordText],
    ['U5.26', 'last-known-good', 'local empties it', undefined, ''],
    ['U5.27', 'last-known-good', 'a source has upstream’s text', source, recordText],
  ] as const)('%s %s is written to its file: %s', (_id, name, _what, value, content) => {
    const { dir, state } = open();
    records[name].write(state, other);
    records[name].write(state, value);
    expect(text(dir, name)).toBe(content);
    expect(records[name].read(state)).toEqual({ source: value });
  });

  test.each([
    ['U5.24', 'assigned', 'uid', 'empty UID is ambiguous'],
    ['U5.25', 'assigned', 'resourceVersion', 'empty ResourceVersion is ambiguous'],
    ['U5.28', 'last-known-good', 'uid', 'empty UID is ambiguous'],
    ['U5.29', 'last-known-good', 'resourceVersion', 'empty ResourceVersion is ambiguous'],
  ] as const)('%s %s takes no source without %s', (_id, name, field, message) => {
    const { dir, state } = open();
    records[name].write(state, source);
    expect(() => records[name].write(state, { ...other, [field]: '' })).toThrow(message);
    expect(text(dir, name)).toBe(recordText);
  });

  test('a record survives names that YAML would read as something else', () => {
    const odd = { namespace: 'yes', name: '0x10', uid: '1e3', resourceVersion: '007', kubeletConfigKey: 'null' };
    expect(decodeSource(encodeSource(odd))).toEqual(odd);
    for (const text of ['yes', '0x10', '1e3', '007', 'null', 'NO', 'True', '2001-12-14', '1_000', '12e03-1'])
      expect(encodeSource({ ...odd, name: text })).toContain(`name: "${text}"\n`);
  });

  test('a record has quotes where a kubelet’s has them, and nowhere else', () => {
    const uid = '840aa6ef-820a-4f56-b211-d4ac057270dc';
    const text = encodeSource({ ...source, uid, kubeletConfigKey: 'kubelet.yaml', resourceVersion: '238' });
    expect(text).toContain(`    kubeletConfigKey: kubelet.yaml\n`);
    expect(text).toContain(`    resourceVersion: "238"\n    uid: ${uid}\n`);
  });

  test('a record of a newer version is read, unknown fields and JSON included', () => {
    expect(decodeSource(`${recordText}later: true\n`)).toEqual(source);
    expect(
      decodeSource(
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
    const { dir, state } = open();
    writeFileSync(join(dir, 'meta', 'assigned'), content);
    const recorded = state.assigned();
    expect('broken' in recorded && (recorded.broken.cause as Error).message).toContain(message);
  });

  test.each<[string, ExactRef | undefined, ExactRef | undefined, boolean]>([
    ['U4.1 and U5.30: nothing', undefined, undefined, false],
    ['U4.2 and U5.31: assigned only', source, undefined, true],
    ['U4.3 and U5.32: last known good only', undefined, source, false],
    ['U4.4 and U5.33: both the same', source, source, true],
    ['U4.5 and U5.34: two', source, other, true],
    ['U4.6 and U5.35: two, the other way round', other, source, true],
  ])('%s: a reset that went well leaves both records empty', (_name, assigned, lastKnownGood, isChange) => {
    const { dir, state } = open();
    state.assign(assigned);
    state.setLastKnownGood(lastKnownGood);
    expect(isAnotherAssignment(state, undefined)).toBe(isChange);
    assign(state, undefined, assigned);
    keepAsLastKnownGood(state, undefined, silentLog);
    expect([text(dir, 'assigned'), text(dir, 'last-known-good')]).toEqual(['', '']);
    expect(existsSync(join(dir, 'meta', 'previous-config'))).toBe(false);
  });

  test.each<[string, ExactRef, ExactRef | undefined]>([
    ['U1.1 the first', source, undefined],
    ['U1.2 the next', other, source],
  ])('%s assigned config that passes its trial becomes last known good', (_id, assigned, lastKnownGood) => {
    const { state } = open();
    state.assign(assigned);
    state.setLastKnownGood(lastKnownGood);
    const accepted = { kind: 'accepted' as const, warnings: [], healthz: undefined, staticPodPath: undefined };
    const document = { file: '', text: '', digest: 'd' };
    const choice = { rank: 'assigned' as const, source: assigned, accepted, document, key: 'k', kubeletVersion: '' };
    passTrial(state, choice);
    expect(state.lastKnownGood()).toEqual({ source: assigned });
    expect(state.read(resultsRecord)).toEqual({ k: { kind: 'passed' } });
  });
});

describe('checkpoints', () => {
  const saved = () => {
    const opened = open();
    opened.state.checkpoints.save(source, payload({ kubelet: 'a: 1\n', extra: 'x' }));
    return opened;
  };

  test.each([
    ['U5.2', 'what was saved', source, true],
    ['U5.3', 'what was not', other, false],
  ])('%s existence: %s', (_id, _what, asked, exists) => {
    expect(saved().state.checkpoints.exists(asked)).toBe(exists);
  });

  test.each([
    ['U5.4', { ...source, uid: '' }, 'empty UID is ambiguous'],
    ['U5.5', { ...source, resourceVersion: '' }, 'empty ResourceVersion is ambiguous'],
  ])('%s existence of an incomplete source cannot be asked', (_id, asked, message) => {
    expect(() => saved().state.checkpoints.exists(asked)).toThrow(message);
  });

  test('U5.6 what was saved is exactly these files, for root alone', () => {
    const path = join(saved().dir, 'checkpoints', 'uid', '1');
    expect(readdirSync(path)).toEqual(['extra', 'kubelet']);
    expect(readFileSync(join(path, 'kubelet'), 'utf8')).toBe('a: 1\n');
    for (const name of ['extra', 'kubelet']) {
      expect(statSync(join(path, name)).isFile()).toBe(true);
      expect(statSync(join(path, name)).mode & 0o777).toBe(0o600);
    }
  });

  test.each([
    ['U5.7', '', 'must not be empty'],
    ['U5.8', 'foo/bar', 'only base names are allowed'],
    ['U5.9', '/bar', 'only base names are allowed'],
    ['U5.10', '.', "may not be '.' or '..'"],
    ['U5.11', '..', "may not be '.' or '..'"],
    ['U5.12', 'n'.repeat(256), 'must be less than 255 characters'],
  ])('%s a key that is not a file name is rejected before anything is written', (_id, key, message) => {
    const { dir, state } = open();
    expect(() => state.checkpoints.save(source, payload({ [key]: '' }))).toThrow(message);
    expect(readdirSync(join(dir, 'checkpoints'))).toEqual([]);
  });

  test('U5.13 loading gives back what was saved', () => {
    expect(saved().state.checkpoints.load(source)).toMatchObject({
      config: Buffer.from('a: 1\n'),
      files: new Map([
        ['extra', Buffer.from('x')],
        ['kubelet', Buffer.from('a: 1\n')],
      ]),
    });
  });

  test.each([
    ['U5.14', other, 'no checkpoint for source /api/v1/namespaces/namespace/configmaps/name, UID: other-uid'],
    ['U5.15', { ...source, uid: '' }, 'empty UID is ambiguous'],
    ['U5.16', { ...source, resourceVersion: '' }, 'empty ResourceVersion is ambiguous'],
  ])('%s loading says why there is nothing to load', (_id, asked, message) => {
    expect(() => saved().state.checkpoints.load(asked)).toThrow(message);
  });

  test('X15 two sources that differ only in their key share a checkpoint, and each loads its own', () => {
    const { state } = open();
    state.checkpoints.save(source, payload({ kubelet: 'a: 1\n', second: 'a: 2\n' }));
    const second = { ...source, kubeletConfigKey: 'second' };
    expect(state.checkpoints.save(second, payload({ kubelet: 'a: 1\n', second: 'a: 2\n' }))).toBe(false);
    expect(state.checkpoints.load(second).config.toString()).toBe('a: 2\n');
    expect(state.checkpoints.load(second).digest).not.toBe(state.checkpoints.load(source).digest);
  });

  test('X6 a key that lives only in binaryData is named as the cause', () => {
    const { state } = open();
    state.checkpoints.save(source, { ...payload({ readme: '' }), binaryKeys: ['kubelet'] });
    expect(() => state.checkpoints.load(source)).toThrow('only under binaryData');
  });

  test.each([
    ['changed', (path: string) => writeFileSync(join(path, 'kubelet'), 'a: 2\n'), 'is not what was downloaded'],
    ['cut short', (path: string) => writeFileSync(join(path, 'kubelet'), ''), 'is not what was downloaded'],
    ['joined by a stranger', (path: string) => writeFileSync(join(path, 'stranger'), ''), 'was not downloaded'],
  ])('a checkpoint that was %s is not loaded, and saving repairs it', (_name, harm, message) => {
    const { dir, state } = open();
    state.checkpoints.save(source, payload({ kubelet: 'a: 1\n' }));
    harm(join(dir, 'checkpoints', 'uid', '1'));
    expect(() => state.checkpoints.load(source)).toThrow(message);
    expect(state.checkpoints.save(source, payload({ kubelet: 'a: 1\n' }))).toBe(true);
    expect(state.checkpoints.load(source).config.toString()).toBe('a: 1\n');
  });

  test('only what a record names, or a kubelet runs with, is kept', () => {
    const { dir, state } = open();
    const version = (resourceVersion: string) => ({ ...source, resourceVersion });
    for (const number of ['1', '2', '3', '4', '5'])
      state.checkpoints.save(version(number), payload({ kubelet: number }));
    mkdirSync(join(dir, 'checkpoints', 'uid', 'tmp_6abc'));
    writeFileSync(join(dir, 'meta', 'tmp_assigned1'), 'half');
    state.assign(version('1'));
    state.setLastKnownGood(version('2'));
    state.write(previousConfigRecord, version('3'));
    state.write(childRecord, { token: 't', bootId: 'b', source: version('4') });
    garbageCollect(state, silentLog, undefined);
    expect(readdirSync(join(dir, 'checkpoints', 'uid'))).toEqual(['1', '2', '3', '4']);
    expect(readdirSync(join(dir, 'meta')).filter((name) => name.startsWith('tmp_'))).toEqual([]);
    expect(Object.keys(JSON.parse(text(dir, 'digests')))).toHaveLength(4);
  });

  test('a ConfigMap key may be named like a part of JavaScript', () => {
    const { state } = open();
    const files = new Map([
      ['__proto__', Buffer.from('p')],
      ['constructor', Buffer.from('c')],
      ['kubelet', Buffer.from('k')],
    ]);
    state.checkpoints.save(source, { files, annotations: {}, binaryKeys: [] });
    expect([...state.checkpoints.load(source).files.keys()]).toEqual(['__proto__', 'constructor', 'kubelet']);
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
    const { state } = open(dir);
    expect(state.assigned()).toEqual({ source });
    expect(state.checkpoints.load(source).config.toString()).toBe('a: 1\n');
    state.assign(undefined);
    expect(open(dir).state.assigned()).toEqual({ source: undefined });
  });

  test('a record nobody can read is taken as local', () => {
    const dir = newDir();
    leave(dir);
    writeFileSync(join(dir, 'store', 'meta', 'assigned'), 'a: [');
    expect(open(dir).state.assigned()).toEqual({ source: undefined });
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
    for (const name of ['trial', 'results', 'digests', 'child', 'hold', 'report', 'kubelet', 'previous-config'])
      writeFileSync(join(dir, 'meta', name), '{"torn": ');
    const state = new NodeState(dir, silentLog, realFiles);
    for (const type of [
      trialRecord,
      resultsRecord,
      childRecord,
      holdRecord,
      reportRecord,
      kubeletRecord,
      previousConfigRecord,
    ])
      expect(state.read(type as RecordType<unknown>)).toBeUndefined();
    state.checkpoints.save(source, payload({ kubelet: 'a' }));
    expect(state.checkpoints.load(source).config.toString()).toBe('a');
  });
});

describe('records of the first edition', () => {
  const first = {
    verdicts: {
      ok: { kind: 'accepted', failures: 2 },
      good: { kind: 'proven' },
      bad: { kind: 'failed', reason: 'crash-loop', cause: 'exit 1', at: '2026-01-01T00:00:00Z' },
    },
    'way-back': source,
  };
  const withFirst = () => {
    const opened = open();
    for (const [name, value] of Object.entries(first))
      writeFileSync(join(opened.dir, 'meta', name), JSON.stringify(value));
    return opened;
  };

  test('are read while there is none of the present name', () => {
    const { state } = withFirst();
    expect(state.read(resultsRecord)).toEqual({
      ok: { kind: 'validated', failures: 2 },
      good: { kind: 'passed' },
      bad: first.verdicts.bad,
    });
    expect(state.read(previousConfigRecord)).toEqual(source);
  });

  test('are removed with the first write, so that a downgrade finds nothing outdated', () => {
    const { dir, state } = withFirst();
    setResult(state, 'new', { kind: 'passed' });
    expect(Object.keys(state.read(resultsRecord)!)).toEqual(['ok', 'good', 'bad', 'new']);
    expect(existsSync(join(dir, 'meta', 'verdicts'))).toBe(false);
    state.remove(previousConfigRecord);
    expect(existsSync(join(dir, 'meta', 'way-back'))).toBe(false);
    expect(state.read(previousConfigRecord)).toBeUndefined();
  });
});

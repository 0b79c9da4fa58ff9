/** The history of a node's reference: bounded, read with care, and used by undo. */
import { describe, expect, test } from 'vitest';
import { formatRef, parseRef } from '../api/config-ref.js';
import {
  failureOf,
  goodRevision,
  historyLength,
  readHistory,
  resultText,
  undoTarget,
  withEntry,
} from './config-history.js';

const a = { namespace: 'kube-system', name: 'a', kubeletConfigKey: 'kubelet' };
const entry = (from: string, to: string) => ({ at: '2026-01-01T00:00:00Z', by: 'ann', verb: 'assign', from, to });
const crash = { outcome: 'rolled back', reason: 'CrashLoop', message: 'it crashed' };
const read = (history: string | undefined) => readHistory({ history });
const numbered = (revision: number, from: string, to: string) => ({ revision, ...entry(from, to) });

describe('the history', () => {
  test('keeps the last ten changes, newest first', () => {
    let text: string | undefined;
    for (let i = 1; i <= 15; i++)
      text = withEntry({ history: text }, { ...entry('local', `n/c-${i}/k`), why: `change ${i}` });
    const entries = read(text);
    expect(entries).toHaveLength(historyLength);
    expect(entries.map(({ to }) => to)).toEqual(Array.from({ length: 10 }, (_, i) => `n/c-${15 - i}/k`));
  });

  test('records how the config before a change failed, and which revision did not', () => {
    const good = withEntry({}, entry('local', 'n/a/k'));
    const bad = withEntry({ history: good }, entry('n/a/k', 'n/b/k'));
    const next = read(withEntry({ history: bad }, entry('n/b/k', 'n/c/k'), crash));
    expect(['n/a/k', 'n/b/k', 'n/c/k'].map((config) => failureOf(next, config))).toEqual([undefined, crash, undefined]);
    expect(goodRevision(next, parseRef('n/c/k'))).toBe(1);
    const changedPastRelet = read(withEntry({ history: bad }, entry('n/x/k', 'n/c/k'), { outcome: 'rejected' }));
    expect(failureOf(changedPastRelet, 'n/b/k')).toBeUndefined();
  });

  test('a failure that the controller recorded belongs to its change, and stays there after the next one', () => {
    const history = withEntry({}, entry('local', 'n/a/k'));
    const changeResult = resultText(1, { ...crash, message: `it crashed${'!'.repeat(1000)}` });
    expect(readHistory({ history, changeResult })[0]!.result).toMatchObject({
      outcome: 'rolled back',
      reason: 'CrashLoop',
    });
    expect(readHistory({ history, changeResult })[0]!.result!.message).toHaveLength(200);
    const later = read(withEntry({ history, changeResult }, entry('n/a/k', 'n/b/k'), { outcome: 'active' }));
    expect(later.map(({ result }) => result?.outcome)).toEqual([undefined, 'rolled back']);
    expect(readHistory({ history, changeResult: resultText(7, crash) })[0]).not.toHaveProperty('result');
    for (const nonsense of ['', '{}', '[]', '{"revision":1,"outcome":2}'])
      expect(readHistory({ history, changeResult: nonsense })[0]).not.toHaveProperty('result');
  });

  test('the sentence of an older relet is read as a result', () => {
    const old = (failed: string) => read(JSON.stringify([{ ...entry('local', 'n/a/k'), failed }]))[0]!.result;
    expect(old('rolled back: it crashed: twice')).toEqual({ outcome: 'rolled back', message: 'it crashed: twice' });
    expect(old('rejected: no')).toEqual({ outcome: 'rejected', message: 'no' });
    expect(old('something else')).toEqual({ outcome: 'failed', message: 'something else' });
  });

  test('holds and releases are entries, are not taken for a change, and do not push changes out', () => {
    const mark = (verb: string) => ({ ...entry('n/b/k', 'n/b/k'), verb });
    let history = withEntry({}, entry('local', 'n/a/k'));
    history = withEntry({ history }, entry('n/a/k', 'n/b/k'), { outcome: 'active' });
    for (let i = 0; i < 20; i++) history = withEntry({ history }, mark(i % 2 === 0 ? 'hold' : 'release'), crash);
    const entries = read(history);
    expect(entries.map(({ verb, to }) => `${verb} ${to}`)).toEqual([
      'release n/b/k',
      'hold n/b/k',
      'release n/b/k',
      'hold n/b/k',
      'assign n/b/k',
      'assign n/a/k',
    ]);
    expect(undoTarget(entries, parseRef('n/b/k'))).toEqual({ to: 'n/a/k', changedPastRelet: false });
    expect(failureOf(entries, 'n/b/k')).toEqual(crash);
    expect(goodRevision(entries, undefined)).toBe(1);
  });

  test('numbers changes upwards, also when old ones have left', () => {
    let text: string | undefined;
    for (let i = 1; i <= 15; i++) text = withEntry({ history: text }, entry('local', `n/c-${i}/k`));
    expect(read(text).map(({ revision, to }) => `${revision} ${to}`)).toEqual(
      Array.from({ length: 10 }, (_, i) => `${15 - i} n/c-${15 - i}/k`),
    );
  });

  test('a history of an older relet is numbered from its oldest change, and continues from there', () => {
    const old = JSON.stringify([entry('n/a/k', 'n/b/k'), entry('local', 'n/a/k')]);
    expect(read(old).map(({ revision }) => revision)).toEqual([2, 1]);
    const next = withEntry({ history: old }, entry('n/b/k', 'local'));
    expect(read(next).map(({ revision }) => revision)).toEqual([3, 2, 1]);
  });

  test('keeps its numbers when an older relet adds a change, or somebody wrote nonsense there', () => {
    const mixed = [
      entry('a', 'b'),
      numbered(12, 'b', 'c'),
      { ...entry('c', 'd'), revision: 'x' },
      numbered(7, 'd', 'e'),
    ];
    expect(read(JSON.stringify(mixed)).map(({ revision }) => revision)).toEqual([13, 12, 8, 7]);
  });

  test('cuts a long reason, so that the annotation stays small', () => {
    const text = withEntry({}, { ...entry('local', 'n/a/k'), why: 'x'.repeat(5000) });
    expect(read(text)[0]!.why).toMatch(/^x{199}…$/);
  });

  test.each([undefined, '', 'nonsense', '{}', 'null', '[1,null,{"at":"x"}]', '[{"at":1,"by":2}]'])(
    'an annotation that is not a history counts as none: %s',
    (text) => {
      expect(read(text)).toEqual([]);
      expect(read(withEntry({ history: text }, entry('local', 'n/a/k')))).toEqual([numbered(1, 'local', 'n/a/k')]);
    },
  );

  test('a source is written and read back', () => {
    expect(parseRef(formatRef(a, 'short'))).toEqual(a);
    expect(formatRef(undefined, 'short')).toBe('local');
    expect(parseRef('local')).toBeUndefined();
  });
});

describe('undo', () => {
  test('goes back before the newest change', () => {
    expect(undoTarget([numbered(1, 'local', formatRef(a, 'short'))], a)).toEqual({
      to: 'local',
      changedPastRelet: false,
    });
  });

  test('twice is where it was', () => {
    const undone = [numbered(2, formatRef(a, 'short'), 'local'), numbered(1, 'local', formatRef(a, 'short'))];
    expect(undoTarget(undone, undefined)?.to).toBe(formatRef(a, 'short'));
  });

  test('of a change made past relet goes back to the last one it knows', () => {
    const now = { ...a, name: 'by-hand' };
    expect(undoTarget([numbered(1, 'local', formatRef(a, 'short'))], now)).toEqual({
      to: formatRef(a, 'short'),
      changedPastRelet: true,
    });
  });

  test('of nothing is nothing', () => {
    expect(undoTarget([], undefined)).toBeUndefined();
  });
});

/** The history of a node's reference: bounded, read with care, and used by undo. */
import { describe, expect, test } from 'vitest';
import { formatRef, parseRef } from '../api/config-ref.js';
import { failureOf, goodRevision, historyLength, readHistory, undoTarget, withEntry } from './config-history.js';

const a = { namespace: 'kube-system', name: 'a', kubeletConfigKey: 'kubelet' };
const entry = (from: string, to: string) => ({ at: '2026-01-01T00:00:00Z', by: 'ann', verb: 'assign', from, to });
const numbered = (revision: number, from: string, to: string) => ({ revision, ...entry(from, to) });

describe('the history', () => {
  test('keeps the last ten changes, newest first', () => {
    let text: string | undefined;
    for (let i = 1; i <= 15; i++) text = withEntry(text, { ...entry('local', `n/c-${i}/k`), why: `change ${i}` });
    const entries = readHistory(text);
    expect(entries).toHaveLength(historyLength);
    expect(entries.map(({ to }) => to)).toEqual(Array.from({ length: 10 }, (_, i) => `n/c-${15 - i}/k`));
  });

  test('records how the config before a change failed, and which revision did not', () => {
    const good = withEntry(undefined, entry('local', 'n/a/k'));
    const bad = withEntry(good, entry('n/a/k', 'n/b/k'));
    const next = readHistory(withEntry(bad, entry('n/b/k', 'n/c/k'), 'rolled back: it crashed'));
    expect(['n/a/k', 'n/b/k', 'n/c/k'].map((config) => failureOf(next, config))).toEqual([
      undefined,
      'rolled back: it crashed',
      undefined,
    ]);
    expect(goodRevision(next, parseRef('n/c/k'))).toBe(1);
    const changedPastRelet = readHistory(withEntry(bad, entry('n/x/k', 'n/c/k'), 'rejected: no'));
    expect(failureOf(changedPastRelet, 'n/b/k')).toBeUndefined();
  });

  test('numbers changes upwards, also when old ones have left', () => {
    let text: string | undefined;
    for (let i = 1; i <= 15; i++) text = withEntry(text, entry('local', `n/c-${i}/k`));
    expect(readHistory(text).map(({ revision, to }) => `${revision} ${to}`)).toEqual(
      Array.from({ length: 10 }, (_, i) => `${15 - i} n/c-${15 - i}/k`),
    );
  });

  test('a history of an older relet is numbered from its oldest change, and continues from there', () => {
    const old = JSON.stringify([entry('n/a/k', 'n/b/k'), entry('local', 'n/a/k')]);
    expect(readHistory(old).map(({ revision }) => revision)).toEqual([2, 1]);
    const next = withEntry(old, entry('n/b/k', 'local'));
    expect(readHistory(next).map(({ revision }) => revision)).toEqual([3, 2, 1]);
  });

  test('keeps its numbers when an older relet adds a change, or somebody wrote nonsense there', () => {
    const mixed = [
      entry('a', 'b'),
      numbered(12, 'b', 'c'),
      { ...entry('c', 'd'), revision: 'x' },
      numbered(7, 'd', 'e'),
    ];
    expect(readHistory(JSON.stringify(mixed)).map(({ revision }) => revision)).toEqual([13, 12, 8, 7]);
  });

  test('cuts a long reason, so that the annotation stays small', () => {
    const text = withEntry(undefined, { ...entry('local', 'n/a/k'), why: 'x'.repeat(5000) });
    expect(readHistory(text)[0]!.why).toMatch(/^x{199}…$/);
  });

  test.each([undefined, '', 'nonsense', '{}', 'null', '[1,null,{"at":"x"}]', '[{"at":1,"by":2}]'])(
    'an annotation that is not a history counts as none: %s',
    (text) => {
      expect(readHistory(text)).toEqual([]);
      expect(readHistory(withEntry(text, entry('local', 'n/a/k')))).toEqual([numbered(1, 'local', 'n/a/k')]);
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

/** The history of a node's reference: kept short, read with care, and the way back it shows. */
import { describe, expect, test } from 'vitest';
import { historyLength, parseSourceText, readHistory, sourceText, undoTarget, withEntry } from './config-history.js';

const a = { namespace: 'kube-system', name: 'a', key: 'kubelet' };
const entry = (from: string, to: string) => ({ at: '2026-01-01T00:00:00Z', by: 'ann', verb: 'assign', from, to });

describe('the history', () => {
  test('keeps the last ten changes, newest first', () => {
    let text: string | undefined;
    for (let i = 1; i <= 15; i++) text = withEntry(text, { ...entry('local', `n/c-${i}/k`), why: `change ${i}` });
    const entries = readHistory(text);
    expect(entries).toHaveLength(historyLength);
    expect(entries.map(({ to }) => to)).toEqual(Array.from({ length: 10 }, (_, i) => `n/c-${15 - i}/k`));
  });

  test('cuts a long reason, so that the annotation stays small', () => {
    const text = withEntry(undefined, { ...entry('local', 'n/a/k'), why: 'x'.repeat(5000) });
    expect(readHistory(text)[0]!.why).toMatch(/^x{199}…$/);
  });

  test.each([undefined, '', 'nonsense', '{}', 'null', '[1,null,{"at":"x"}]', '[{"at":1,"by":2}]'])(
    'what is no history counts as none: %s',
    (text) => {
      expect(readHistory(text)).toEqual([]);
      expect(readHistory(withEntry(text, entry('local', 'n/a/k')))).toEqual([entry('local', 'n/a/k')]);
    },
  );

  test('a source is written and read back', () => {
    expect(parseSourceText(sourceText(a))).toEqual(a);
    expect(sourceText(undefined)).toBe('local');
    expect(parseSourceText('local')).toBeUndefined();
  });
});

describe('undo', () => {
  test('goes back before the newest change', () => {
    expect(undoTarget([entry('local', sourceText(a))], a)).toEqual({ to: 'local', changedPastRelet: false });
  });

  test('twice is where it was', () => {
    const undone = [entry(sourceText(a), 'local'), entry('local', sourceText(a))];
    expect(undoTarget(undone, undefined)?.to).toBe(sourceText(a));
  });

  test('of a change made past relet goes back to the last one it knows', () => {
    const now = { ...a, name: 'by-hand' };
    expect(undoTarget([entry('local', sourceText(a))], now)).toEqual({ to: sourceText(a), changedPastRelet: true });
  });

  test('of nothing is nothing', () => {
    expect(undoTarget([], undefined)).toBeUndefined();
  });
});

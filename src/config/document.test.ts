/** Documents are read once: the next check of the same text finds it parsed. */
import { expect, test } from 'vitest';
import { readAhead, readDocument } from './document.js';

test('a text is parsed once for kubelets that read it alike, and again for others', () => {
  const text = 'a: 1e3\n';
  expect(readDocument(text, 37)).toBe(readDocument(`${text}`, 17));
  const valueAt = (minor: number) => {
    const { value } = readDocument(text, minor);
    return value.kind === 'object' && value.entries[0]!.value;
  };
  expect(valueAt(17)).toMatchObject({ kind: 'number', text: '1000' });
  expect(valueAt(16)).toMatchObject({ kind: 'string', value: '1e3' });
});

test('another text is never taken for it, also one of the same length', () => {
  const values = Array.from({ length: 40 }, (_, index) => readDocument(`a: ${10 + (index % 20)}\n`).value);
  const read = values.map((value) => value.kind === 'object' && value.entries[0]!.value);
  expect(read).toMatchObject(values.map((_, index) => ({ kind: 'number', text: String(10 + (index % 20)) })));
});

test('reading ahead does not fail on a text that cannot be read', () => {
  expect(() => readAhead('a: [', 37)).not.toThrow();
  expect(() => readDocument('a: [', 37)).toThrow('yaml');
});

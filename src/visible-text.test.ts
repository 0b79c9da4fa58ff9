/** Untrusted text, made safe to print. */
import { describe, expect, test } from 'vitest';
import { createLog } from './log.js';
import { oneLine, visible } from './visible-text.js';

const hostile = 'a\x1b[31m\x07\x00\x7f\u009b31m\u202ertl\u2066i\u200bz\u2028l\u2029p\ufeffb\r\u{e0041}\ud800half';
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

describe('untrusted text', () => {
  test('untrusted text has no character that a terminal acts on', () => {
    expect(oneLine(hostile)).not.toMatch(unsafe);
    expect(oneLine('a\x1b[31mred\u009b0m')).toBe('a\\u001b[31mred\\u009b0m');
  });

  test('untrusted text in a line has no line break or tab', () => {
    expect(oneLine('one\ntwo\r\nthree\tfour')).toBe('one\\ntwo\\r\\nthree\\tfour');
    expect(visible('one\ntwo\tthree\r')).toBe('one\ntwo\tthree\\r');
  });

  test('letters of any language are unchanged', () => {
    for (const text of ['maxPods: 110', 'größer, 节点, узел, नोड, 👍', '"C:\\new"']) expect(oneLine(text)).toBe(text);
  });

  test('escaped JSON has the same value', () => {
    const json = JSON.stringify({ text: hostile, lines: 'a\nb' }, null, 2);
    expect(visible(json)).not.toMatch(/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(JSON.parse(visible(json))).toEqual({ text: hostile, lines: 'a\nb' });
  });

  test.each(['text', 'json'] as const)('in a log of format %s is one line and plain', (format) => {
    const written: string[] = [];
    const log = createLog({ format, write: (line) => written.push(line) });
    log.warn('kubelet exited', { words: hostile, name: '\x1b]0;title\x07', lines: 'a\nb' });
    expect(written).toHaveLength(1);
    expect(written[0]!.slice(0, -1)).not.toMatch(unsafe);
    expect(written[0]!.endsWith('\n')).toBe(true);
  });
});

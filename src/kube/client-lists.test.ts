/** Lists omitted from a response: nothing else may change, whatever the strings contain. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { omitLists } from './client.js';

const node = (name: string, images: object[], more = {}) => ({
  metadata: {
    name,
    managedFields: [{ manager: 'm', fieldsV1: { 'f:x': { 'k:{"type":"Ready"}': {} } } }],
    labels: { a: 'b' },
  },
  status: { conditions: [{ type: 'Ready' }], images, ...more },
});
const shortened = (text: string): string => omitLists(Buffer.from(text), ['images', 'managedFields']).toString();

/** As the client reads it: the shorter text when it parses, else the whole. */
function read<T>(whole: T): T {
  const text = JSON.stringify(whole);
  try {
    return JSON.parse(shortened(text));
  } catch {
    return JSON.parse(text);
  }
}

describe('omitted lists', () => {
  test('are empty, and all else is unchanged', () => {
    const list = {
      metadata: { continue: 'x' },
      items: [
        node('a', [{ names: ['i@sha256:1', 'i:1'], sizeBytes: 1 }, { names: [] }], { config: { error: 'e' } }),
        node('b', []),
        node('c', [{ names: null }]),
      ],
    };
    const text = JSON.stringify(list);
    expect(shortened(text).length).toBeLessThan(text.length);
    const parsed = read(list);
    expect(parsed.items.map(({ status }) => status.images)).toEqual([[], [], []]);
    expect(parsed.items[0]!.status).toMatchObject({ conditions: [{ type: 'Ready' }], config: { error: 'e' } });
    expect(parsed.items[0]!.metadata).toEqual({ name: 'a', managedFields: [], labels: { a: 'b' } });
    expect(parsed.metadata).toEqual({ continue: 'x' });
  });

  test('a text without such lists is unchanged', () => {
    const text = JSON.stringify({ items: [{ metadata: { name: 'a' } }] });
    expect(shortened(text)).toBe(text);
  });

  test('a text that breaks off is unchanged', () => {
    expect(shortened('{"images":[{"names"')).toBe('{"images":[{"names"');
  });

  test('strings that look like the end of the list do not change anything else', () => {
    const words = fc.oneof(
      fc.string(),
      fc.constantFrom('}]', '"}]', '}],"config":{}', '"images":[{', '\\"}]', '}]}', '","x":[{'),
    );
    fc.assert(
      fc.property(words, words, words, (image, label, error) => {
        const whole = [
          node(label, [{ names: [image], sizeBytes: 1 }, { names: [error, image] }], { config: { error, label } }),
        ];
        const parsed = read(whole);
        expect(parsed[0]!.metadata.name).toBe(label);
        expect(parsed[0]!.status).toMatchObject({ conditions: [{ type: 'Ready' }], config: { error, label } });
      }),
      { numRuns: 500 },
    );
  });
});

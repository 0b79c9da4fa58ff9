/** The part of a local config that the status shows. */
import { expect, test } from 'vitest';
import { shownLocalConfig } from './local-config.js';

const files = (texts: Record<string, string>) =>
  Object.entries(texts).map(([path, text]) => ({ path, data: Buffer.from(text) }));

test('the local files are shown as written, in their order', () => {
  expect(shownLocalConfig(files({ '/etc/k.yaml': 'maxPods: 50 # few', '/etc/k.d/1.conf': '{"port": 1}' }))).toEqual({
    files: [
      { path: '/etc/k.yaml', config: { maxPods: 50 } },
      { path: '/etc/k.d/1.conf', config: { port: 1 } },
    ],
  });
  expect(shownLocalConfig([])).toEqual({ files: [] });
});

test('the values of HTTP headers are hidden', () => {
  const shown = shownLocalConfig(files({ '/k': 'staticPodURLHeader: {Authorization: [Bearer s3cret]}' }));
  expect(shown).toEqual({ files: [{ path: '/k', config: { staticPodURLHeader: { Authorization: ['hidden'] } } }] });
});

test.each([
  ['unreadable', 'a: [b'],
  ['no object', '- 1'],
  ['larger than any kubelet config', `a: ${'x'.repeat(40_000)}`],
])('a file that is %s is not shown', (_what, text) => {
  expect(shownLocalConfig(files({ '/k': text }))).toBeUndefined();
});

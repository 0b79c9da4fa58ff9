/** How a patched object is shown in a complaint. */
import { expect, test } from 'vitest';
import { patchedText } from './patched-text.js';

const current = {
  kind: 'Node',
  apiVersion: 'v1',
  metadata: { labels: { b: '1', a: '2' }, uid: 'u', name: 'n' },
  spec: { unschedulable: true, podCIDR: 'x' },
};

test('what a patch did not touch is in the order of the struct, what it touched in that of the alphabet', () => {
  const patched = { ...current, spec: { unschedulable: 'yes', podCIDR: 'x', another: [{ b: 1, a: 2 }] } };
  expect(patchedText(patched, current, 'core.v1.Node')).toBe(
    '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u","labels":{"a":"2","b":"1"}},"spec":{"another":[{"a":2,"b":1}],"podCIDR":"x","unschedulable":"yes"}}',
  );
});

test('of custom kinds everything is in the order of the alphabet', () => {
  const patched = { ...current, spec: { b: [{ d: 1, c: 2 }], a: 1 } };
  expect(patchedText(patched, { ...patched, kind: 'Other' }, undefined)).toBe(
    '{"apiVersion":"v1","kind":"Node","metadata":{"labels":{"a":"2","b":"1"},"name":"n","uid":"u"},"spec":{"a":1,"b":[{"c":2,"d":1}]}}',
  );
});

test('a patch that leaves no object is shown as it is', () => {
  expect(patchedText('text', current, 'core.v1.Node')).toBe('"text"');
});

/** How a patched object is printed in an error. */
import { expect, test } from 'vitest';
import { patchedText } from './patched-text.js';

const current = {
  kind: 'Node',
  apiVersion: 'v1',
  metadata: { labels: { b: '1', a: '2' }, uid: 'u', name: 'n' },
  spec: { unschedulable: true, podCIDR: 'x' },
};

test('fields that a patch did not change are in the order of the struct, others in alphabetical order', () => {
  const patched = { ...current, spec: { unschedulable: 'yes', podCIDR: 'x', another: [{ b: 1, a: 2 }] } };
  expect(patchedText(patched, current, 'core.v1.Node')).toBe(
    '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u","labels":{"a":"2","b":"1"}},"spec":{"another":[{"a":2,"b":1}],"podCIDR":"x","unschedulable":"yes"}}',
  );
});

test('fields of custom kinds are in alphabetical order', () => {
  const patched = { ...current, spec: { b: [{ d: 1, c: 2 }], a: 1 } };
  expect(patchedText(patched, { ...patched, kind: 'Other' }, undefined)).toBe(
    '{"apiVersion":"v1","kind":"Node","metadata":{"labels":{"a":"2","b":"1"},"name":"n","uid":"u"},"spec":{"a":1,"b":[{"c":2,"d":1}]}}',
  );
});

test('a patch whose result is not an object is printed as it is', () => {
  expect(patchedText('text', current, 'core.v1.Node')).toBe('"text"');
});

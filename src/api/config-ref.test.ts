/** References to configs: their two wire forms, equality and text. Ids are those of the conformance list. */
import { describe, expect, test } from 'vitest';
import { type ConfigRef, formatRef, isExactRef, nodeConfigSource, parseRef, refOf, sameConfig } from './config-ref.js';

const name: ConfigRef = { namespace: 'ns', name: 'n', kubeletConfigKey: 'kubelet' };
const exact = { ...name, uid: 'u', resourceVersion: '1' };

describe('refOf', () => {
  test.each([
    ['no source is local', undefined, undefined],
    ['a source without subfield is local', {}, undefined],
    ['a beta spec gives the name and key', { configMap: name }, name],
    ['a beta status gives the exact version', { configMap: exact }, exact],
    ['empty uid and resourceVersion count as absent', { configMap: { ...name, uid: '', resourceVersion: '' } }, name],
    ['a pinned digest is kept', { configMap: { ...name, sha256: 'ab' } }, { ...name, sha256: 'ab' }],
    [
      'an alpha reference has the key kubelet and its uid',
      { configMapRef: { namespace: 'ns', name: 'n', uid: 'u' } },
      { ...name, uid: 'u' },
    ],
  ])('%s', (_name, source, ref) => expect(refOf(source)).toEqual(ref));

  test.each([[name], [exact], [{ ...name, sha256: 'ab' }]])('nodeConfigSource(%j) is read back unchanged', (ref) =>
    expect(refOf(nodeConfigSource(ref))).toEqual(ref),
  );
});

describe('sameConfig', () => {
  test.each([
    ['U3.11', 'local is local', undefined, undefined, true, true],
    ['U3.12', 'local is not a ConfigMap', undefined, exact, false, false],
    ['U3.13', 'a ConfigMap is not local', exact, undefined, false, false],
    ['U3.14', 'equal refs are the same', exact, { ...exact }, true, true],
    ['U3.15', 'another key is another config', exact, { ...exact, kubeletConfigKey: 'other' }, false, false],
    ['', 'another namespace is another config', exact, { ...exact, namespace: 'other' }, false, false],
    ['', 'another name is another config', exact, { ...exact, name: 'other' }, false, false],
    ['', 'another uid is another config', exact, { ...exact, uid: 'other' }, false, false],
    ['', 'another version has the same name', exact, { ...exact, resourceVersion: '2' }, true, false],
    ['', 'a spec without uid names a status with one', name, exact, true, false],
    ['', 'a pinned digest is not compared', exact, { ...exact, sha256: 'ab' }, true, true],
  ])('%s %s', (_id, _name, a, b, byName, byVersion) => {
    expect([sameConfig(a, b, 'name'), sameConfig(a, b, 'version')]).toEqual([byName, byVersion]);
    expect([sameConfig(b, a, 'name'), sameConfig(b, a, 'version')]).toEqual([byName, byVersion]);
  });
});

describe('text', () => {
  test('U3.3 the log form has uid and resourceVersion', () =>
    expect(formatRef(exact, 'log')).toBe('/api/v1/namespaces/ns/configmaps/n, UID: u, ResourceVersion: 1'));

  test('U3.4 the path form is the path in the API', () =>
    expect(formatRef(exact, 'path')).toBe('/api/v1/namespaces/ns/configmaps/n'));

  test.each([
    [exact, 'short', 'ns/n/kubelet'],
    [exact, 'configMap', 'ns/n'],
    [undefined, 'log', 'local config'],
    [undefined, 'path', 'local'],
    [undefined, 'short', 'local'],
  ] as const)('%j in the form %s is %s', (ref, form, text) => expect(formatRef(ref, form)).toBe(text));

  test.each([
    ['ns/n/kubelet', name],
    ['local', undefined],
    ['ns/n', undefined],
    ['', undefined],
  ])('parseRef reads %j', (text, ref) => expect(parseRef(text)).toEqual(ref));
});

test.each([
  [exact, true],
  [name, false],
  [{ ...exact, uid: 7 }, false],
  [undefined, false],
  ['text', false],
])('isExactRef(%j) is %s', (value, is) => expect(isExactRef(value)).toBe(is));

/** From a reference to one version of a ConfigMap. Ids are those of the conformance list. */
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../api/config-error.js';
import type { ExactRef } from '../../api/config-ref.js';
import type { ConfigMap } from '../../api/object.js';
import { betaError } from '../../api/upstream-words.js';
import { identityOf, payloadOf, resolve, specRef } from './config-map.js';

const source: ExactRef = { namespace: 'ns', name: 'n', uid: 'u', resourceVersion: '1', kubeletConfigKey: 'kubelet' };
const configMap = (more: object = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'n', uid: 'u', resourceVersion: '1' },
  ...more,
});

describe('payload of a ConfigMap', () => {
  test.each([
    ['U2.1 no ConfigMap', undefined, 'ConfigMap must be non-nil'],
    [
      'U2.2 a ConfigMap without uid',
      { ...configMap(), metadata: { name: 'n', resourceVersion: '1' } },
      'ConfigMap must have a non-empty UID',
    ],
    [
      'U2.3 a ConfigMap without resourceVersion',
      { ...configMap(), metadata: { name: 'n', uid: 'u' } },
      'ConfigMap must have a non-empty ResourceVersion',
    ],
  ])('%s is rejected', (_name, object, message) => {
    expect(() => identityOf(object as ConfigMap)).toThrow(
      expect.objectContaining({ reason: 'InvalidObject', cause: new Error(message) }),
    );
  });

  test('U2.4 a complete ConfigMap gives its files and the names of its binary keys', async () => {
    const object = configMap({ data: { kubelet: 'a' }, binaryData: { b: '' } });
    const taken = await resolve(specRef({ configMap: source }), async () => object);
    expect(taken.payload).toMatchObject({ files: new Map([['kubelet', Buffer.from('a')]]), binaryKeys: ['b'] });
  });

  test('U2.5 and U2.6 a ConfigMap has the identity uid and resourceVersion', () => {
    expect(identityOf(configMap())).toEqual({ uid: 'u', resourceVersion: '1' });
  });

  test.each([
    ['U2.7', undefined, []],
    ['U2.8', {}, []],
    [
      'U2.9',
      { a: '1', b: '2' },
      [
        ['a', Buffer.from('1')],
        ['b', Buffer.from('2')],
      ],
    ],
  ])('%s data becomes files', (_id, data, files) => {
    expect([...payloadOf(configMap({ data })).files]).toEqual(files);
  });
});

describe('reference of a spec', () => {
  test('U3.1 a source without subfield is rejected', () => {
    expect(() => specRef({})).toThrow(expect.objectContaining({ reason: 'ReferenceEmpty' }));
    expect(betaError(new ConfigError('ReferenceEmpty', ''))).toBe(
      'failed to sync: invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil',
    );
  });

  test('U3.2 a ConfigMap source is taken unchanged', () => {
    const { uid: _u, resourceVersion: _r, ...target } = source;
    expect(specRef({ configMap: target })).toEqual(target);
  });

  test.each([
    ['a value that is not a text', { data: { kubelet: 'a', other: 7 } }, 'the value of "other" is not a text'],
    [
      'more keys than a kubelet config needs',
      { data: Object.fromEntries(Array.from({ length: 513 }, (_, key) => [`k${key}`, ''])) },
      '513 keys are more than 512: put the kubelet config into a ConfigMap of its own',
    ],
  ])('a ConfigMap with %s is reported', async (_what, change, why) => {
    const found = resolve(specRef({ configMap: source }), async () => configMap(change as object));
    await expect(found).rejects.toMatchObject({
      reason: 'InvalidObject',
      cause: { message: expect.stringContaining(why) },
    });
  });

  test.each(['U3.5', 'U3.10'])('%s a ConfigMap that the server does not have is a failed download', async () => {
    const absent = resolve(specRef({ configMap: source }), async () => {
      throw new Error('configmaps "n" not found');
    });
    await expect(absent).rejects.toMatchObject({
      reason: 'DownloadFailed',
      cause: { message: expect.stringContaining('not found') },
    });
  });

  // relet has no cache of ConfigMaps, so upstream's three cases are one.
  test.each(['U3.6', 'U3.7', 'U3.9'])(
    '%s a ConfigMap on the server is resolved to its uid and resourceVersion',
    async () => {
      const found = await resolve(specRef({ configMap: source }), async () => configMap({ data: { kubelet: 'a' } }));
      expect(found.source).toEqual(source);
    },
  );

  test('an alpha reference with another uid than the ConfigMap is rejected', async () => {
    const target = specRef({ configMapRef: { namespace: 'ns', name: 'n', uid: 'another' } });
    await expect(resolve(target, async () => configMap())).rejects.toMatchObject({
      reason: 'UIDMismatch',
      about: { wanted: 'another', found: 'u' },
    });
  });
});

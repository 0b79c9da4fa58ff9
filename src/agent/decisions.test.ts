/** Which ConfigMap a node is to use, and what is taken from it. Ids are those of the conformance list. */
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../test/manual-clock.js';
import { ConfigError } from '../api/config-error.js';
import { betaError } from '../api/upstream-words.js';
import { apiPath, describe as describeSource, type ExactSource, sameSource } from './source.js';
import { nodeNameFrom } from './sync/connect.js';
import { InPlaceSpread } from './sync/in-place.js';
import { type ConfigMap, identityOf, payloadOf, resolve, targetOf } from './sync/resolve.js';

const source: ExactSource = { namespace: 'ns', name: 'n', uid: 'u', resourceVersion: '1', kubeletConfigKey: 'kubelet' };
const configMap = (more: object = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'n', uid: 'u', resourceVersion: '1' },
  ...more,
});

describe('payload of a ConfigMap', () => {
  test.each([
    ['U2.1 none', undefined, 'ConfigMap must be non-nil'],
    [
      'U2.2 no uid',
      { ...configMap(), metadata: { name: 'n', resourceVersion: '1' } },
      'ConfigMap must have a non-empty UID',
    ],
    [
      'U2.3 no resourceVersion',
      { ...configMap(), metadata: { name: 'n', uid: 'u' } },
      'ConfigMap must have a non-empty ResourceVersion',
    ],
  ])('%s is refused', (_name, object, message) => {
    expect(() => identityOf(object as ConfigMap)).toThrow(
      expect.objectContaining({ reason: 'InvalidObject', cause: new Error(message) }),
    );
  });

  test('U2.4 a complete one is taken, with all it has', async () => {
    const object = configMap({ data: { kubelet: 'a' }, binaryData: { b: '' } });
    const taken = await resolve(targetOf({ configMap: source }), async () => object);
    expect(taken.payload).toMatchObject({ files: new Map([['kubelet', Buffer.from('a')]]), binaryKeys: ['b'] });
  });

  test('U2.5 and U2.6 it tells its uid and its version', () => {
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

describe('the reference', () => {
  test('U3.1 a source without subfield is refused', () => {
    expect(() => targetOf({})).toThrow(expect.objectContaining({ reason: 'ReferenceEmpty' }));
    expect(betaError(new ConfigError('ReferenceEmpty', ''))).toBe(
      'failed to sync: invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil',
    );
  });

  test('U3.2 a ConfigMap is taken as it is', () => {
    const { uid: _u, resourceVersion: _r, ...target } = source;
    expect(targetOf({ configMap: target })).toEqual(target);
  });

  test('U3.3 its uid is told', () => expect(describeSource(source)).toContain('UID: u, ResourceVersion: 1'));

  test.each([
    ['a value that is not a text', { data: { kubelet: 'a', other: 7 } }, 'the value of "other" is not a text'],
    [
      'more keys than a kubelet config needs',
      { data: Object.fromEntries(Array.from({ length: 513 }, (_, key) => [`k${key}`, ''])) },
      '513 keys are more than 512: put the kubelet config into a ConfigMap of its own',
    ],
  ])('a ConfigMap with %s is reported', async (_what, change, why) => {
    const found = resolve(targetOf({ configMap: source }), async () => configMap(change as object));
    await expect(found).rejects.toMatchObject({
      reason: 'InvalidObject',
      cause: { message: expect.stringContaining(why) },
    });
  });

  test('U3.4 its API path', () => expect(apiPath(source)).toBe('/api/v1/namespaces/ns/configmaps/n'));

  test.each(['U3.5', 'U3.10'])('%s what the server does not have is not found', async () => {
    const absent = resolve(targetOf({ configMap: source }), async () => {
      throw new Error('configmaps "n" not found');
    });
    await expect(absent).rejects.toMatchObject({
      reason: 'DownloadFailed',
      cause: { message: expect.stringContaining('not found') },
    });
  });

  // There is no cache beside the server, so upstream's three cases are one.
  test.each(['U3.6', 'U3.7', 'U3.9'])('%s what the server has is taken, with its uid and version', async () => {
    const found = await resolve(targetOf({ configMap: source }), async () => configMap({ data: { kubelet: 'a' } }));
    expect(found.source).toEqual(source);
  });

  test('an alpha reference must match the uid of what it finds', async () => {
    const target = targetOf({ configMapRef: { namespace: 'ns', name: 'n', uid: 'another' } });
    await expect(resolve(target, async () => configMap())).rejects.toMatchObject({
      reason: 'UIDMismatch',
      about: { wanted: 'another', found: 'u' },
    });
  });

  test.each([
    ['U3.11', undefined, undefined, true],
    ['U3.12', undefined, source, false],
    ['U3.13', source, undefined, false],
    ['U3.14', source, { ...source }, true],
    ['U3.15', source, { ...source, kubeletConfigKey: 'other' }, false],
  ])('%s equality', (_id, a, b, same) => expect(sameSource(a, b)).toBe(same));
});

describe('small decisions', () => {
  test.each([
    ['the certificate wins', 'O=system:nodes\nCN=system:node:real', 'override', 'HOST', 'real'],
    ['then the override', 'CN=someone', ' Override ', 'HOST', 'override'],
    ['then the lower-cased host name', undefined, undefined, 'HOST.Example', 'host.example'],
  ])('node name: %s', (_name, subject, override, host, expected) =>
    expect(nodeNameFrom(subject, override, host)).toBe(expected),
  );

  test('an edit in place waits its part of the jitter, and a second edit does not wait again', async () => {
    const clock = new ManualClock();
    const spread = new InPlaceSpread(clock, 60_000, () => 0.5);
    const edited = { ...source, resourceVersion: '2' };
    expect(spread.waitMs(source, edited)).toBe(30_000);
    await clock.advance(20_000);
    expect(spread.waitMs(source, { ...source, resourceVersion: '3' })).toBe(10_000);
    await clock.advance(10_000);
    expect(spread.waitMs(source, { ...source, resourceVersion: '3' })).toBe(0);
    expect(spread.waitMs(source, { ...edited, name: 'other' })).toBe(0);
    expect(spread.waitMs(undefined, edited)).toBe(0);
  });
});

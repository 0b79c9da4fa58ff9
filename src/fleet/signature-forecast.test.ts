/** Forecast of what hosts say of signatures, from what their status shows. */
import { describe, expect, test } from 'vitest';
import { signedAnnotations, testKey } from '../../test/rig/signing.js';
import type { ConfigMap } from '../api/object.js';
import type { SigningStatus } from '../api/signing.js';
import type { Statement } from '../config/signing/statement.js';
import { returnRejection, signatureRejection } from './signature-forecast.js';

const nowMs = Date.parse('2026-11-18T20:00:00Z');
const [ann, bob] = [testKey(), testKey()];
const required: SigningStatus = { required: true, pool: 'gpu', threshold: 1, floor: 100 };

function configMap(facts: Partial<Statement> | undefined, keys = [ann], maxPods = 100): ConfigMap {
  const data = { kubelet: `maxPods: ${maxPods}\n` };
  const annotations = facts && signedAnnotations({ data }, { pools: ['gpu'], serial: 100, keys, ...facts });
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', ...(annotations && { annotations }) }, data };
}

const reason = (one: ConfigMap, signing: SigningStatus | undefined, had = false) =>
  signatureRejection(one, signing, { nowMs, had })?.reason;

describe('a host', () => {
  test.each<[string, ConfigMap, SigningStatus | undefined, string | undefined]>([
    ['without a trust file accepts what is not signed', configMap(undefined), undefined, undefined],
    ['that requires nothing accepts what is not signed', configMap(undefined), { required: false }, undefined],
    ['rejects what is not signed', configMap(undefined), required, 'SignatureMissing'],
    ['accepts what is signed for its pool', configMap({}), required, undefined],
    ['rejects another pool', configMap({ pools: ['web'] }), required, 'WrongPool'],
    ['rejects a serial below its floor', configMap({ serial: 99 }), required, 'SerialTooLow'],
    ['that needs two persons rejects one', configMap({}), { ...required, threshold: 2 }, 'TooFewSignatures'],
    ['that needs two persons accepts two', configMap({}, [ann, bob]), { ...required, threshold: 2 }, undefined],
    ['does not count one key twice', configMap({}, [ann, ann]), { ...required, threshold: 2 }, 'TooFewSignatures'],
    ['rejects what has expired', configMap({ notAfter: nowMs / 1000 - 1 }), required, 'Expired'],
    ['rejects other bytes', { ...configMap({}), data: { kubelet: 'maxPods: 500\n' } }, required, 'SignatureInvalid'],
  ])('%s', (_name, one, signing, expected) => {
    expect(reason(one, signing)).toBe(expected);
  });

  test('goes back to a config that has expired since', () => {
    expect(reason(configMap({ notAfter: nowMs / 1000 - 1 }), required, true)).toBeUndefined();
  });
});

describe('an undo', () => {
  const undo = (before: ConfigMap, next: ConfigMap) => returnRejection(before, next, required, { nowMs })?.reason;

  test('to the config whose serial is the floor of the next one is accepted', () => {
    expect(undo(configMap({ serial: 100 }), configMap({ serial: 200, floor: 100 }))).toBeUndefined();
  });

  test('past a floor, or to a config without signatures, is rejected', () => {
    expect(undo(configMap({ serial: 100 }), configMap({ serial: 200, floor: 200 }))).toBe('SerialTooLow');
    expect(undo(configMap(undefined), configMap({ serial: 200 }))).toBe('SignatureMissing');
  });
});

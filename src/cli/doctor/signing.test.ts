/** Diagnoses about signatures, from what hosts report and what sets carry. */
import { describe, expect, test } from 'vitest';
import { signedAnnotations, testKey } from '../../../test/rig/signing.js';
import type { NodeConfigSet, Window } from '../../api/node-config-set.js';
import { type SigningStatus, signaturesAnnotation, statementAnnotation } from '../../api/signing.js';
import { fromNode } from '../../fleet/configured-node.js';
import { checkSigning, checkStatement } from './signing.js';

const nowMs = Date.parse('2026-11-18T20:00:00Z'); // a Wednesday
const ann = testKey();

const node = (name: string, signing?: Partial<SigningStatus>) => ({
  ...fromNode({ apiVersion: 'v1', kind: 'Node', metadata: { name } }),
  reports: true,
  ...(signing && { signing: { required: true, pool: 'gpu', serial: 200, floor: 100, ...signing } }),
});
const found = (...nodes: ReturnType<typeof node>[]) => checkSigning(nodes, nowMs).map(({ what }) => what);

describe('relet doctor: signing', () => {
  test('has no finding where no host requires signatures', () => {
    expect(found(node('a'), node('b', { required: false }))).toEqual([]);
  });

  test('is well where all hosts require signatures', () => {
    expect(found(node('a', {}), node('b', {}))).toEqual([
      'all 2 nodes that report require signatures, and no key expires soon',
    ]);
  });

  test.each([
    ['a host without the requirement', node('b'), 'start configs without a signature'],
    ['a key that expires in 29 days', node('b', { keyExpires: '2026-12-17T20:00:00Z' }), 'expires within 30 days'],
    ['a serial below the floor of another', node('b', { serial: 90, floor: 80 }), 'no longer accept: b'],
  ])('names %s', (_name, one, words) => {
    expect(found(node('a', {}), one)).toEqual([expect.stringContaining(words)]);
  });

  test('names hosts on which somebody lets unsigned configs pass, and those without a usable trust file', () => {
    const troubled = (name: string, type: string) => ({
      ...node(name, {}),
      signingTroubles: [{ type, message: 'Until tomorrow.' }],
    });
    expect(found(node('a', {}), troubled('b', 'UnsignedAccepted'), troubled('c', 'TrustFileUsable'))).toEqual([
      'hosts that cannot use their trust file, and accept nothing new: c',
      'hosts that accept configs without a signature for a while: b',
    ]);
  });

  test('does not compare serials of two pools, nor a key that expires later', () => {
    const other = node('b', { pool: 'web', serial: 90, floor: 80, keyExpires: '2027-12-17T20:00:00Z' });
    expect(found(node('a', {}), other)).toHaveLength(1);
    expect(checkSigning([node('a', {}), other], nowMs)[0]?.level).toBe('ok');
  });
});

function set(notAfter: string, windows: Window[] = []): NodeConfigSet {
  const payload = 'maxPods: 100\n';
  const annotations = signedAnnotations(
    { data: { kubelet: payload } },
    { keys: [ann], serial: 1, notAfter: Date.parse(notAfter) / 1000 },
  );
  const { [statementAnnotation]: statement = '', [signaturesAnnotation]: signature = '' } = annotations;
  const config = { signed: { payload, statement, signatures: [signature] } };
  const kind = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet' };
  return { ...kind, metadata: { name: 'gpu' }, spec: { selector: {}, config, strategy: { windows } } };
}

describe('relet doctor: the statement of a set', () => {
  const saturday: Window = { days: ['Sat'], from: '22:00', to: '04:00' };

  test.each([
    ['has expired', set('2026-11-18T19:00:00Z'), 'has expired'],
    ['expires before the next window', set('2026-11-20T00:00:00Z', [saturday]), 'before its next window at 2026-11-21'],
    ['expires after the next window has begun', set('2026-12-20T00:00:00Z', [saturday]), undefined],
    ['expires later, where there are no windows', set('2026-11-20T00:00:00Z'), undefined],
  ])('that %s', (_name, one, words) => {
    const [first] = checkStatement(one, nowMs);
    if (words === undefined) expect(first).toBeUndefined();
    else expect(first?.what).toContain(words);
  });
});

/** Whether a host accepts a signed config: content, signers, pool, times, serial. */
import { describe, expect, test } from 'vitest';
import { keyTypes, signedAnnotations, testKey } from '../../../test/rig/signing.js';
import { signaturesAnnotation, statementAnnotation } from '../../api/signing.js';
import { isForConfigs, parseAllowedSigner } from './allowed-signers.js';
import { decideSignature, type SigningHost, signedParts } from './decide.js';
import { contentDigest, sha256 } from './statement.js';
import { parseTrust } from './trust.js';

const now = Date.UTC(2026, 10, 18) / 1000;
const day = 86_400;
const [ann, ann2, bob, eve] = [testKey(), testKey('sk-ssh-ed25519@openssh.com'), testKey('ssh-rsa'), testKey()];
const trusted = (...lines: string[]) => ['apiVersion: relet.dev/v1alpha1', 'kind: Trust', ...lines].join('\n');
const signers = `signers: ["ann ${ann.line}", "ann ${ann2.line}", "bob ${bob.line}"]`;
const trust = (...lines: string[]) => parseTrust(trusted(signers, ...lines), 'trust.yaml');
const data = { kubelet: 'maxPods: 150\n' };
const host: SigningHost = { now, floor: 0, accepted: [] };

/** A ConfigMap signed by ann, changed. */
function configMap(about: Partial<Parameters<typeof signedAnnotations>[1]> = {}, parts = {}) {
  const signed = { data, annotations: { 'relet.dev/skip-forecast': 'true' }, ...parts };
  return { ...signed, annotations: signedAnnotations(signed, { keys: [ann], serial: now, ...about }) };
}

const decide = (parts: Parameters<typeof signedParts>[0], on: Partial<SigningHost> = {}, by = trust()) =>
  decideSignature(signedParts(parts), by, { ...host, ...on });

describe('a signed config', () => {
  test('is accepted with who signed it, its serial and its floor', () => {
    const signed = configMap({ floor: 7, keys: [bob, ann] });
    expect(decide(signed)).toEqual({
      kind: 'accepted',
      accepted: {
        signers: ['ann', 'bob'],
        serial: now,
        floor: 7,
        statement: sha256(signed.annotations[statementAnnotation]!),
        content: contentDigest(signedParts(signed).content),
      },
    });
  });

  test.each(keyTypes)('with a key of type %s is accepted', (type) => {
    const key = testKey(type);
    const by = parseTrust(trusted(`signers: ["ann ${key.line}"]`), 'trust.yaml');
    expect(decide(configMap({ keys: [key] }), {}, by)).toMatchObject({ kind: 'accepted' });
    expect(decide(configMap({ keys: [testKey(type)] }), {}, by)).toMatchObject({ reason: 'SignerNotAllowed' });
  });

  const signed = configMap();
  const { annotations } = signed;
  const changed = (change: Record<string, string | undefined>) => ({
    ...signed,
    annotations: JSON.parse(JSON.stringify({ ...annotations, ...change })) as Record<string, string>,
  });
  const bySignature = (text: string) => changed({ [signaturesAnnotation]: text });
  const statement = annotations[statementAnnotation]!;

  test.each([
    ['without a statement', changed({ [statementAnnotation]: undefined }), 'SignatureMissing'],
    ['without a signature', changed({ [signaturesAnnotation]: undefined }), 'SignatureMissing'],
    ['with another value under its key', { ...signed, data: { kubelet: 'maxPods: 151\n' } }, 'SignatureInvalid'],
    ['with a key more', { ...signed, data: { ...data, extra: '' } }, 'SignatureInvalid'],
    ['with a key that no statement can have', { ...signed, data: { ...data, 'a b': '' } }, 'SignatureInvalid'],
    ['with its key under binaryData', { ...signed, data: {}, binaryData: data }, 'SignatureInvalid'],
    ['with a key of binaryData more', { ...signed, binaryData: { extra: 'AAAA' } }, 'SignatureInvalid'],
    ['without data', { annotations }, 'SignatureInvalid'],
    ['with an annotation more', changed({ 'relet.dev/allow-fields': 'enableServer' }), 'SignatureInvalid'],
    ['with another annotation', changed({ 'relet.dev/skip-forecast': 'false' }), 'SignatureInvalid'],
    ['with an annotation less', changed({ 'relet.dev/skip-forecast': undefined }), 'SignatureInvalid'],
    [
      'with a signature for another namespace',
      bySignature(ann.sign(statement, { namespace: 'file' })),
      'SignatureInvalid',
    ],
    ['with a signature of another statement', bySignature(ann.sign(`${statement} `)), 'SignatureInvalid'],
    [
      'with a key in hardware that nobody touched',
      bySignature(ann2.sign(statement, { untouched: true })),
      'SignatureInvalid',
    ],
    ['with text between signatures', bySignature(`${ann.sign(statement)}x`), 'SignatureInvalid'],
    ['with 33 signatures', bySignature(ann.sign(statement).repeat(33)), 'SignatureInvalid'],
    ['with no signature in the annotation', bySignature(''), 'SignerNotAllowed'],
    ['with a key that is not allowed', bySignature(eve.sign(statement)), 'SignerNotAllowed'],
  ])('%s is rejected', (_what, parts, reason) => {
    expect(decide(parts)).toMatchObject({ kind: 'rejected', reason });
  });

  test('keeps counting when somebody adds annotations without effect or signatures that do not count', () => {
    expect(decide(changed({ 'relet.dev/by': 'eve', 'example.com/x': 'y' }))).toMatchObject({ kind: 'accepted' });
    const more = bySignature(eve.sign(statement) + ann.sign('other') + ann.sign(statement));
    expect(decide(more)).toMatchObject({ kind: 'accepted', accepted: { signers: ['ann'] } });
  });

  test('by one person with two keys is one signature too few where two persons are required', () => {
    const two = trust('threshold: 2');
    expect(decide(configMap({ keys: [ann, ann2] }), {}, two)).toMatchObject({
      reason: 'TooFewSignatures',
      message: 'signed by ann, and 2 principals are required',
    });
    expect(decide(configMap({ keys: [ann2, bob] }), {}, two)).toMatchObject({ kind: 'accepted' });
  });

  test.each([
    ['revoked', trust(`revoked: ["${ann.line}"]`), 'is revoked'],
    [
      'for another namespace',
      parseTrust(trusted(`signers: ['ann namespaces="git" ${ann.line}']`), ''),
      'not for configs',
    ],
    [
      'excluded',
      parseTrust(trusted(`signers: ['ann namespaces="*,!relet.dev/*" ${ann.line}']`), ''),
      'not for configs',
    ],
    ['not valid yet', parseTrust(trusted(`signers: ['ann valid-after="20261119Z" ${ann.line}']`), ''), 'not valid yet'],
    ['expired', parseTrust(trusted(`signers: ['ann valid-before="20261117Z" ${ann.line}']`), ''), 'has expired'],
  ])('by a key that is %s is rejected', (_what, by, message) => {
    expect(decide(signed, {}, by)).toMatchObject({
      reason: 'SignerNotAllowed',
      message: expect.stringContaining(message),
    });
  });

  test.each([
    ['for another pool', configMap({ pools: ['web'] }), trust('pool: gpu')],
    ['without a pool, on a host with one', configMap(), trust('pool: gpu')],
    ['for a pool, on a host without one', configMap({ pools: ['gpu'] }), trust()],
  ])('%s is rejected', (_what, parts, by) => {
    expect(decide(parts, {}, by)).toMatchObject({ reason: 'WrongPool' });
    expect(decide(configMap({ pools: ['web', 'gpu'] }), {}, trust('pool: gpu'))).toMatchObject({ kind: 'accepted' });
  });
});

describe('the reason of a rejection', () => {
  const { annotations, ...parts } = configMap({ pools: ['gpu', 'web'], notBefore: now, notAfter: now + day });
  const { 'relet.dev/skip-forecast': _, ...without } = annotations as Record<string, string>;
  const by = (pool = 'gpu', threshold = 1) => trust(`pool: ${pool}`, `threshold: ${threshold}`);
  const signed = { ...parts, annotations };
  const text = annotations[statementAnnotation]!;
  const withSignatures = (signatures: string) => ({
    ...signed,
    annotations: { ...annotations, [signaturesAnnotation]: signatures },
  });
  const eves = `ssh-ed25519 key ${parseTrust(trusted(`signers: ["eve ${eve.line}"]`), '').signers[0]!.fingerprint}`;
  const wrong = 'it is not the signature of this statement by this key';
  const accepted = [{ at: now, content: 'of another config', serial: now }];
  test.each<[string, () => ReturnType<typeof decide>]>([
    [`the ConfigMap has no annotation ${statementAnnotation}`, () => decide({ data })],
    [
      `the ConfigMap has no annotation ${signaturesAnnotation}`,
      () => decide({ data, annotations: { [statementAnnotation]: text } }),
    ],
    [
      'the statement cannot be read: it begins with "x"',
      () => decide({ data, annotations: { ...annotations, [statementAnnotation]: 'x' } }),
    ],
    ['the signatures cannot be read: signature 1 is not armored', () => decide(withSignatures('x'))],
    [
      'the key "kubelet" is not as the statement has it; the key "b" is not in the statement; the key of binaryData "c" is not in the statement; the annotation "relet.dev/skip-forecast" of the statement is missing',
      () =>
        decide({
          data: { kubelet: '', b: '' },
          binaryData: { c: '' },
          annotations: without,
        }),
    ],
    ['there is no signature', () => decide(withSignatures(''), {}, by())],
    [`${eves} is not one of the allowed signers`, () => decide(withSignatures(eve.sign(text)), {}, by())],
    [
      `signature of ann: ${wrong}; signature of bob: ${wrong}`,
      () => decide(withSignatures(ann.sign('') + bob.sign('')), {}, by()),
    ],
    [
      `signed by ann, and 2 principals are required; ${eves} is not one of the allowed signers`,
      () => decide(withSignatures(ann.sign(text) + eve.sign(text)), {}, by('gpu', 2)),
    ],
    ['it is signed for the pools gpu, web, the pool of this host is other', () => decide(signed, {}, by('other'))],
    ['it is signed for the pools gpu, web, the pool of this host is not set', () => decide(signed)],
    ['it is signed for hosts without a pool, the pool of this host is gpu', () => decide(configMap(), {}, by())],
    ['it is valid from 2026-11-18T00:00:00.000Z', () => decide(signed, { now: now - 1 }, by())],
    ['it was valid until 2026-11-19T00:00:00.000Z', () => decide(signed, { now: now + day + 1 }, by())],
    [
      'the clock of the host cannot be trusted, and the signature depends on the time',
      () => decide(signed, { now: undefined }, by()),
    ],
    [
      `its serial is ${now}, the lowest that this node accepts is ${now + 1}`,
      () => decide(signed, { floor: now + 1 }, by()),
    ],
    [
      `its serial is ${now}, and this node accepted other content with that serial`,
      () => decide(signed, { floor: now, accepted }, by()),
    ],
  ])('is shown: %s', (message, decided) => {
    const found = decided();
    expect('message' in found && found.message.slice(0, message.length)).toBe(message);
  });
});

test.each<[string, boolean]>([
  ['relet.dev/*', true],
  ['relet?dev/kubelet-config', true],
  ['relet.dev.kubelet-config', false],
  ['relet.dev', false],
  ['kubelet-config', false],
  ['git,**', true],
  ['*,!git', true],
  ['!relet.dev/kubelet-config,*', false],
  ['!*', false],
])('a key with namespaces="%s" is for configs: %s', (namespaces, expected) => {
  expect(isForConfigs(parseAllowedSigner(`ann namespaces="${namespaces}" ${ann.line}`))).toBe(expected);
});

describe('the time of a statement', () => {
  test('is checked against the acceptance before, where the clock is not trusted', () => {
    const signed = configMap({ notBefore: now });
    const statement = sha256(signed.annotations[statementAnnotation]!);
    const on = (at: number) => ({ now: undefined, accepted: [{ at, content: '', statement }] });
    expect(decide(signed, on(now))).toMatchObject({ kind: 'accepted' });
    expect(decide(signed, on(now - 1))).toMatchObject({ kind: 'cannot tell' });
  });

  test('is checked for bytes that the node never accepted', () => {
    const signed = configMap({ notBefore: now - day, notAfter: now + day });
    expect(decide(signed)).toMatchObject({ kind: 'accepted' });
    for (const at of [now - day, now + day]) expect(decide(signed, { now: at })).toMatchObject({ kind: 'accepted' });
    expect(decide(signed, { now: now - day - 1 })).toMatchObject({ reason: 'NotYetValid' });
    expect(decide(signed, { now: now + day + 1 })).toMatchObject({ reason: 'Expired' });
  });

  test('is not checked again for a statement that was accepted while it was valid', () => {
    const by = parseTrust(trusted(`signers: ['ann valid-before="20261120Z" ${ann.line}']`), '');
    const signed = configMap({ notAfter: now + day });
    const before = decide(signed, {}, by);
    if (before.kind !== 'accepted') throw new Error('not accepted');
    const later = { now: now + 100 * day, accepted: [{ ...before.accepted, at: now }] };
    expect(decide(signed, later, by)).toMatchObject({ kind: 'accepted' });
    expect(decide(signed, { ...later, now: undefined }, by)).toMatchObject({ kind: 'accepted' });
    // The same content in another statement is another signature, by a key that has expired.
    expect(decide(configMap({ serial: now + 1 }), later, by)).toMatchObject({ reason: 'SignerNotAllowed' });
    expect(decide(signed, { ...later, floor: now + 1 }, by)).toMatchObject({ reason: 'SerialTooLow' });
  });

  test('is unknown where the clock is not trusted, and is not needed by a statement without times', () => {
    expect(decide(configMap({ notAfter: now + day }), { now: undefined })).toMatchObject({ kind: 'cannot tell' });
    expect(decide(configMap({ notBefore: now - day }), { now: undefined })).toMatchObject({ kind: 'cannot tell' });
    expect(decide(configMap(), { now: undefined })).toMatchObject({ kind: 'accepted' });
  });
});

describe('the serial of a statement', () => {
  const accepted = [{ at: now, content: 'of another config', serial: now }];

  test.each([
    ['above the floor', { floor: now - 1 }, undefined],
    ['equal to the floor', { floor: now }, undefined],
    ['equal to the floor, with other bytes than those accepted', { floor: now, accepted }, 'SerialTooLow'],
    ['that another config had, above the floor', { floor: now - 1, accepted }, undefined],
    ['below the floor', { floor: now + 1 }, 'SerialTooLow'],
  ])('%s', (_what, on, reason) => {
    expect(decide(configMap(), on)).toMatchObject(reason === undefined ? { kind: 'accepted' } : { reason });
  });
});

/** The trust file of a host, and the line of each mistake in it. */
import { describe, expect, test } from 'vitest';
import { testKey } from '../../../test/rig/signing.js';
import { parseAllowedSigner } from './allowed-signers.js';
import { parseTrust } from './trust.js';

const [ann, bob] = [testKey(), testKey('ecdsa-sha2-nistp256')];
const file = '/etc/relet/trust.yaml';
const options = 'namespaces="relet.dev/*",valid-after="20260101Z",valid-before="202712312359Z"';
const lines = [
  'apiVersion: relet.dev/v1alpha1',
  'kind: Trust',
  'pool: gpu',
  'threshold: 2',
  'signers:',
  `  - ann@example.com ${options} ${ann.line} her laptop`,
  `  - bob ${bob.line}`,
  'revoked:',
  `  - ${testKey().line}`,
  `  - SHA256:${'a'.repeat(43)}`,
];
const withLine = (at: number, line: string) => lines.map((one, index) => (index + 1 === at ? line : one)).join('\n');

describe('a trust file', () => {
  test('names pool, threshold, signers and revoked keys', () => {
    const trust = parseTrust(lines.join('\n'), file);
    expect(trust).toMatchObject({
      pool: 'gpu',
      threshold: 2,
      signers: [
        {
          principal: 'ann@example.com',
          keyType: 'ssh-ed25519',
          namespaces: ['relet.dev/*'],
          validAfter: Date.UTC(2026, 0, 1) / 1000,
          validBefore: Date.UTC(2027, 11, 31, 23, 59) / 1000,
        },
        { principal: 'bob', keyType: 'ecdsa-sha2-nistp256' },
      ],
    });
    expect([...trust.revoked]).toEqual([expect.stringMatching(/^SHA256:/), `SHA256:${'a'.repeat(43)}`]);
  });

  test('needs only signers: then one signature is enough, and no key is revoked', () => {
    const text = `apiVersion: relet.dev/v1alpha1\nkind: Trust\nsigners:\n  - ann ${ann.line}\n  - ann ${bob.line}`;
    expect(parseTrust(text, file)).toMatchObject({ pool: undefined, threshold: 1, revoked: new Set() });
    expect(() => parseTrust(`${text}\nthreshold: 2`, file)).toThrow('signers has 1 principals');
  });

  test.each([
    ['20260102Z', Date.UTC(2026, 0, 2)],
    ['202601020304Z', Date.UTC(2026, 0, 2, 3, 4)],
    ['20260102030405Z', Date.UTC(2026, 0, 2, 3, 4, 5)],
    ['2026010203Z', undefined],
    ['120260102Z', undefined],
    ['20260102Z1', undefined],
    ['20261302Z', undefined],
  ])('has %s as a time: %s', (text, ms) => {
    const parse = () => parseAllowedSigner(`ann VALID-AFTER="${text}" ${ann.line}`).validAfter;
    if (ms === undefined) expect(parse).toThrow(`valid-after="${text}" must be YYYYMMDDZ or YYYYMMDDHHMM[SS]Z`);
    else expect(parse()).toBe(ms / 1000);
  });

  const key = ann.line;
  test.each([
    [4, 'a whole number of at least 1', 'threshold: 1.5'],
    [4, 'a whole number of at least 1', 'threshold: "2"'],
    [6, 'its options namespaces="a"x', `  - ann namespaces="a"x ${key}`],
    [6, 'one principal without wildcards', `  - ${'a'.repeat(254)} ${key}`],
    [8, 'revoked must be a list', 'revoked: 7'],
    [9, 'the public key cannot be read', `  - SHA256:${'a'.repeat(44)}`],
    [1, 'apiVersion must be relet.dev/v1alpha1', 'apiVersion: v1'],
    [2, 'kind must be Trust', 'kind: FieldPolicy'],
    [3, 'pool must be a name', 'pool: 7'],
    [3, 'pool must be a name', 'pool: "a b"'],
    [3, 'required is not known', 'required: false'],
    [3, 'threshold', 'threshold: 1'],
    [4, 'a whole number of at least 1', 'threshold: 0'],
    [4, 'signers has 2 principals: nothing could be accepted', 'threshold: 3'],
    [6, 'cert-authority is not supported', `  - ann cert-authority ${key}`],
    [6, 'one principal without wildcards', `  - ann,ann2 ${key}`],
    [6, 'one principal without wildcards', `  - "*@example.com ${key}"`],
    [6, 'no-touch-required has no value', `  - ann no-touch-required ${key}`],
    [6, 'the option principals is not known', `  - ann principals="x" ${key}`],
    [6, 'without Z each host would use its own time zone', `  - ann valid-before="20271231" ${key}`],
    [6, 'must be YYYYMMDDZ', `  - ann valid-before="20270230Z" ${key}`],
    [6, 'given twice', `  - ann namespaces="a",namespaces="b" ${key}`],
    [6, 'must be a principal', `  - ${key}`],
    [6, 'the public key cannot be read', `  - ann ${key.slice(0, -8)}`],
    [6, 'is of type ssh-ed25519', `  - ann ssh-rsa ${key.split(' ')[1]}`],
    [6, 'keys of type ssh-dss are not supported', '  - ann ssh-dss AAAAB3NzaC1kc3M='],
    [6, 'must be a list of lines', '  - [ann]'],
    [7, 'the key of bob is also that of ann@example.com', `  - bob ${key}`],
    [9, 'the public key cannot be read', '  - SHA256:short'],
    [10, 'did not find expected node content', '  - {'],
  ])('with a mistake in line %i is refused: %s', (at, message, line) => {
    const parse = () => parseTrust(withLine(at, line), file);
    expect(parse).toThrow(message);
    expect(parse).toThrow(/^trust file \/etc\/relet\/trust\.yaml, line \d+: /);
    // A key that is given twice, and a list that is not closed, are noticed on another line.
    if (!line.startsWith('threshold: 1') && at < 10) expect(parse).toThrow(`line ${at}: `);
  });

  test.each(['', 'signers: []\n', '- a list', '\0'])('of %j is refused', (text) => {
    expect(() => parseTrust(text, file)).toThrow(/^trust file \/etc\/relet\/trust\.yaml, line 1: /);
  });
});

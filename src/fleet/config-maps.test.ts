/** The vectors every kubectl agrees on, and the characters in which Go's JSON differs from JavaScript's. */

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { needs } from '../../test/programs.js';
import { configMapHash, hashedName } from './config-maps.js';

const kubectl = needs('kubectl');

describe('N5: the hash that kubectl appends', () => {
  test.each([
    [{ data: {} }, '42745tchd9'],
    [{ data: { one: '' } }, '9g67k2htb6'],
    [{ data: { two: '2', one: '', three: '3' } }, 'f5h7t85m9b'],
    [{ data: null }, 'dk855m5d49'],
    [{ data: null, binaryData: { one: '' } }, 'mk79584b8c'],
    [{ data: null, binaryData: { two: 'Mg==', one: '', three: 'Mw==' } }, 't458mc6db2'],
    [{ data: { one: '' }, binaryData: { two: '' } }, '698h7c7t9m'],
  ])('%j gives %s', (content, hash) => {
    expect(configMapHash({ name: '', ...content })).toBe(hash);
  });

  test('a __proto__ key is a key like any other', () => {
    const data = JSON.parse('{"__proto__":"x"}');
    expect(configMapHash({ name: '', data })).not.toBe(configMapHash({ name: '', data: {} }));
  });

  test.skipIf(kubectl.isMissing)(
    `random payloads get the name that the kubectl on this machine gives them${kubectl.note}`,
    () => {
      // \b and \f are left out: clients before 1.30 write them in another form, relet writes the newer one.
      const text = fc.string({ unit: 'grapheme' }).filter((value) => !/[\b\f\0]/.test(value));
      const samples = ['<a href="x">&</a>', 'line\u2028sep\u2029', 'tab\there\n', ...fc.sample(text, 6)];
      for (const value of samples) {
        const args = [
          'create',
          'configmap',
          'probe',
          `--from-literal=kubelet=${value}`,
          '--append-hash',
          '--dry-run=client',
          '-o',
          'name',
        ];
        const name = execFileSync('kubectl', args, { encoding: 'utf8' }).trim();
        expect(`configmap/${hashedName({ name: 'probe', data: { kubelet: value } })}`).toBe(name);
      }
    },
  );
});

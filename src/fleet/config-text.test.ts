/** The text made from a running config, read back as the kubelet would. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { check } from '../config/check.js';
import { decode } from '../config/decode.js';
import { setDefaults } from '../config/defaults.js';
import { diff } from '../config/diff.js';
import { encode } from '../config/encode.js';
import type { KubeletConfig, Minor } from '../config/model.js';
import { asYaml } from '../go/yaml/write.js';
import { readConfigz } from './config-text.js';

/** As a kubelet answers: nil and empty lists and maps are left out. */
function configzOf(effective: KubeletConfig): string {
  const { apiVersion: _, kind: __, ...shown } = JSON.parse(encode(withoutEmpty(effective) as KubeletConfig));
  return JSON.stringify({ kubeletconfig: shown });
}

function withoutEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const kept = Object.entries(value).filter(
    ([, child]) => child !== null && !(typeof child === 'object' && Object.keys(child).length === 0),
  );
  return Object.fromEntries(kept.map(([key, child]) => [key, withoutEmpty(child)]));
}

const roundTrip = (config: KubeletConfig, minor: Minor): KubeletConfig => {
  const document = readConfigz(configzOf(setDefaults(config, minor)), minor);
  return decode(asYaml(document), { minor }).config;
};

describe('a running config as text', () => {
  test.each([11, 17, 23, 32, 37])('of kubelet 1.%i means the same when it is read again', (minor) => {
    const config = { maxPods: 42, clusterDNS: ['10.96.0.10'], evictionHard: { 'memory.available': '200Mi' } };
    expect(diff(config, roundTrip(config, minor), minor)).toEqual([]);
  });

  test('an empty list whose default is not empty is written out, as configz does not', () => {
    const config = { enforceNodeAllocatable: [], cgroupsPerQOS: false };
    const configz = configzOf(setDefaults(config, 32));
    expect(configz).not.toContain('enforceNodeAllocatable');
    const text = asYaml(readConfigz(configz, 32));
    expect(text).toMatch(/^enforceNodeAllocatable: \[\]$/m);
    // The documents' own way, without that line, is refused.
    expect(check(text, { minor: 32 }).verdict).toBe('accepted');
    expect(check(text.replace('enforceNodeAllocatable: []\n', ''), { minor: 32 }).verdict).toBe('validate-error');
  });

  test('an empty map whose default is not empty is written out', () => {
    expect(roundTrip({ evictionHard: {} }, 32).evictionHard).toEqual({});
  });

  test('fields of a newer kubelet, which relet does not know, stay', () => {
    const answer = JSON.stringify({ kubeletconfig: { maxPods: 7, fieldOfTomorrow: { deep: ['yes'] } } });
    const text = asYaml(readConfigz(answer, 36));
    expect(text).toContain('fieldOfTomorrow:\n  deep:\n    - "yes"\n');
  });

  test('integers beyond 2^53 are not rounded', () => {
    const document = readConfigz('{"kubeletconfig":{"podPidsLimit":9007199254740993}}', 32);
    expect(asYaml(document)).toContain('podPidsLimit: 9007199254740993\n');
  });

  test('an answer that is not a configz is rejected', () => {
    for (const answer of ['{}', '[]', 'null', '"x"', '{"kubeletconfig":[]}'])
      expect(() => readConfigz(answer, 32)).toThrow('no kubeletconfig');
  });

  test('any text in any string field comes back as it was', () => {
    const words = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(
        'yes',
        'on',
        '0644',
        '0o17',
        '1e3',
        '1_000',
        '12:30',
        '~',
        'null',
        '2001-01-01',
        '=',
        '<<',
        '0x1F',
        '.inf',
        'a\u0085b',
        '\u2028',
        'a: b',
        '- a',
        '#',
        ' a ',
      ),
    );
    fc.assert(
      fc.property(words, fc.dictionary(words, words), (text, labels) => {
        const config = { clusterDomain: text, staticPodURLHeader: { x: [text] }, kubeReserved: labels };
        const back = decode(
          asYaml({
            ...decode(encode(config), { minor: 32 }).config,
            apiVersion: 'kubelet.config.k8s.io/v1beta1',
            kind: 'KubeletConfiguration',
          }),
          { minor: 32 },
        ).config;
        expect(back).toEqual(decode(encode(config), { minor: 32 }).config);
      }),
      { numRuns: 500 },
    );
  });
});

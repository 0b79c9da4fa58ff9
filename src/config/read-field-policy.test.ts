/** A policy file is understood whole or not at all. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readFieldPolicy } from './read-field-policy.js';

const header = 'apiVersion: relet.dev/v1alpha1\nkind: FieldPolicy\n';

describe('a field policy file', () => {
  test('the example in the documentation is read', () => {
    const page = readFileSync(new URL('../../docs/field-policy.md', import.meta.url), 'utf8');
    const example = /```yaml file=policy.yaml\n([\s\S]*?)```/.exec(page)![1]!;
    expect(readFieldPolicy(example, 'example')).toEqual({
      selector: { matchLabels: { pool: 'workers' } },
      allow: ['maxPods', 'evictionHard', 'kubeReserved', 'systemReserved', 'imageGCHighThresholdPercent'],
      deny: ['authentication', 'authorization', 'evictionHard[nodefs.inodesFree]'],
      bounds: { maxPods: { min: 10, max: 250 } },
      openingAccess: 'refuse',
    });
  });

  test.each([
    ['no YAML', '{', 'not YAML'],
    ['another kind', 'apiVersion: relet.dev/v1alpha1\nkind: Policy\n', 'kind: must be FieldPolicy'],
    ['an unknown key', `${header}allows: []\n`, 'allows: is not known'],
    ['an unknown field', `${header}allow: [maxPodz]\n`, 'allow[0]: "maxPodz" is not a field'],
    ['a list that is none', `${header}deny: maxPods\n`, 'deny: must be a list'],
    [
      'a bound that is not a number',
      `${header}bounds: {maxPods: {max: many}}\n`,
      'bounds.maxPods.max: must be a number',
    ],
    ['a bound of another name', `${header}bounds: {maxPods: {maximum: 5}}\n`, 'bounds.maxPods: must be {min, max}'],
    [
      'bounds of what is not a number',
      `${header}bounds: {clusterDomain: {max: 5}}\n`,
      'bounds.clusterDomain: is not a number',
    ],
    ['a selector with a typing mistake', `${header}selector: {matchLabel: {}}\n`, 'selector: must be {matchLabels'],
    [
      'an operator that does not exist',
      `${header}selector: {matchExpressions: [{key: a, operator: is}]}\n`,
      'selector.matchExpressions[0]: must be {key, operator',
    ],
    ['a word for openingAccess', `${header}openingAccess: no\n`, 'openingAccess: must be refuse or allow'],
  ])('%s is refused with its place', (_name, text, message) => {
    expect(() => readFieldPolicy(text, '/etc/relet/policy.yaml')).toThrow(
      `field policy /etc/relet/policy.yaml: ${message}`,
    );
  });
});

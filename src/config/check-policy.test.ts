/** Payloads that a field policy rejects, with and without the local config of the node. */
import { describe, expect, test } from 'vitest';
import type { FieldPolicy } from '../api/field-policy.js';
import { checkPolicy } from './check-policy.js';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const overlay = (config: object, unset: string[] = []) =>
  JSON.stringify({ apiVersion: 'relet.dev/v1alpha1', kind: 'KubeletConfigurationOverlay', config, unset });
const whole = (config: string) => `${header}${config}`;
const local = [{ path: '/var/lib/kubelet/config.yaml', text: `${header}maxPods: 300\nclusterDomain: corp\n` }];

const messages = (policy: FieldPolicy, text: string, files: typeof local | undefined) =>
  checkPolicy(policy, text, { minor: 32, local: files }).map(({ message }) => message);

describe('an overlay', () => {
  test.each<[string, FieldPolicy, string, string[]]>([
    ['may name a field that is allowed', { allow: ['clusterDomain'] }, overlay({ clusterDomain: 'new' }), []],
    [
      'may name what is below it',
      { allow: ['authentication'] },
      overlay({ authentication: { webhook: { cacheTTL: '1m' } } }),
      [],
    ],
    [
      'may not name another field, not even with the value that the local config has',
      { allow: ['maxPods'] },
      overlay({ clusterDomain: 'corp' }),
      ['clusterDomain is set, and the field policy does not list it under allow'],
    ],
    [
      'may not name a field that is denied, although it is below one that is allowed',
      { allow: ['evictionHard'], deny: ['evictionHard[nodefs.inodesFree]'] },
      overlay({ evictionHard: { 'nodefs.inodesFree': '1%', 'memory.available': '1Gi' } }),
      ['evictionHard[nodefs.inodesFree] is set, and the field policy denies changing it'],
    ],
    [
      'may not unset what is denied',
      { deny: ['clusterDomain'] },
      overlay({}, ['clusterDomain']),
      ['clusterDomain is unset, and the field policy denies changing it'],
    ],
    [
      'may not unset a whole map of which a key is denied',
      { deny: ['evictionHard[nodefs.inodesFree]'] },
      overlay({}, ['evictionHard']),
      ['evictionHard is unset, and the field policy denies changing evictionHard[nodefs.inodesFree]'],
    ],
    [
      'may not set a number beyond its bounds',
      { bounds: { maxPods: { min: 10, max: 250 } } },
      overlay({ maxPods: 400 }),
      ["maxPods is 400, above the field policy's maximum 250"],
    ],
  ])('%s', (_name, policy, text, expected) => {
    expect(messages(policy, text, local)).toEqual(expected);
    expect(messages(policy, text, undefined)).toEqual(expected);
  });

  test('keeps the bounds only if the result does', () => {
    const policy = { bounds: { maxPods: { max: 250 } } };
    const text = overlay({ clusterDomain: 'new' });
    expect(messages(policy, text, local)).toEqual(["maxPods is 300, above the field policy's maximum 250"]);
    // The local config is not known, and the host decides.
    expect(messages(policy, text, undefined)).toEqual([]);
  });

  test('opens no access that the local config keeps closed, unless the policy lets it', () => {
    const text = overlay({ readOnlyPort: 10255 });
    expect(messages({}, text, local)).toEqual([expect.stringContaining('readOnlyPort: 10255 serves pod specs')]);
    expect(messages({ openingAccess: 'allow' }, text, local)).toEqual([]);
  });
});

describe('a whole config', () => {
  const policy = { allow: ['maxPods'] };

  test('may name any field with the value that the local config has', () => {
    expect(messages(policy, whole('maxPods: 100\nclusterDomain: corp\n'), local)).toEqual([]);
  });

  test('may not leave out what the local config sets, if that is not allowed to change', () => {
    expect(messages(policy, whole('maxPods: 100\n'), local)).toEqual([
      'clusterDomain differs from the local config, and the field policy does not list it under allow',
    ]);
  });

  test('counts as an overlay where the local config is not known', () => {
    expect(messages(policy, whole('maxPods: 100\nclusterDomain: corp\n'), undefined)).toEqual([
      'clusterDomain is set, and the field policy does not list it under allow',
    ]);
  });
});

test('a payload that cannot be decoded breaks no policy: validation reports it', () => {
  for (const text of ['{', overlay({ maxPods: 'many' }), whole('maxPods: {}\n')])
    expect(messages({ allow: [], bounds: { maxPods: { max: 1 } } }, text, local)).toEqual([]);
});

/** Nothing is accepted unread: configs, local configs, flags, gates and fields that the kubelet knows and relet does not. */
import { describe, expect, test } from 'vitest';
import { header, refuses, silent, validate } from '../../../test/validate-rig.js';
import { allowFieldsAnnotation } from '../../api/signing.js';
import type { Rejected } from './validate.js';

const opening =
  'authentication: {anonymous: {enabled: true}}\nauthorization: {mode: AlwaysAllow}\nreadOnlyPort: 10255\nmaxPods: 5000\n';
const policyFile = {
  policyIsOurs: true,
  policy: { deny: ['authentication.anonymous', 'readOnlyPort'], bounds: { maxPods: { max: 250 } } },
};
/** relet stops at the control character. That the kubelet accepts it is what the tests pretend. */
const unreadable = `${header}${opening}x: 1\n\u0001`;

describe('a config that the kubelet reads and relet does not', () => {
  test.each([
    ['with a policy file', policyFile],
    ['without one', {}],
  ])('is rejected, and the place is named, %s', async (_name, parts) => {
    const result = await validate({ config: unreadable, parts });
    expect(result).toMatchObject({ kind: 'rejected', reason: 'CannotBeChecked' });
    expect((result as Rejected).cause.message).toMatch(
      /^the kubelet reads this config and relet cannot, so that nothing in it was checked: \S+kubelet, line 8, column 1: yaml: control characters/,
    );
  });

  test('is rejected at boot too, although it was accepted, and passed its trial, before', async () => {
    for (const steps of ['no-probe', 'no-probe-no-forecast'] as const)
      expect(await validate({ config: unreadable, steps, isLastKnownGood: true })).toMatchObject({
        kind: 'rejected',
        reason: 'CannotBeChecked',
      });
  });

  test('is a parse error where the kubelet rejects it, or gives no answer', async () => {
    expect(await validate({ config: unreadable, parts: { probe: silent } })).toMatchObject({ reason: 'ParseFailed' });
    expect(await validate({ config: unreadable, parts: { probe: refuses } })).toMatchObject({
      reason: 'ValidationFailed',
    });
  });

  test('is started where it is the local config', async () => {
    const result = await validate({ local: 'x: 1\n\u0001', steps: 'no-probe-no-forecast' });
    expect(result).toMatchObject({ kind: 'accepted', warnings: [expect.stringContaining('control characters')] });
  });
});

test("the kubelet's internal version, with Go's names of fields, is rejected", async () => {
  const config = JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/__internal',
    kind: 'KubeletConfiguration',
    Authentication: { Anonymous: { Enabled: true } },
    ReadOnlyPort: 10255,
  });
  const annotations = { [allowFieldsAnnotation]: 'enableServer' };
  expect(await validate({ config, annotations, parts: policyFile })).toMatchObject({
    reason: 'CannotBeChecked',
    cause: { message: expect.stringContaining('line 1, column 15: relet does not read the kubelet') },
  });
});

describe('a flag or a gate that relet does not know', () => {
  const allowsPods = { policyIsOurs: true, policy: { allow: ['maxPods'] } };

  test.each([
    ['a flag of a newer kubelet', 'v1.38.0', ['--new-in-138=x']],
    ["a vendor's flag", 'v1.37.1', ['--vendor-flag=x']],
    ['a gate of a newer kubelet', 'v1.38.0', ['--feature-gates=NewIn138=true']],
    ['a value that relet does not take', 'v1.37.1', ['--max-pods=many']],
  ])('%s leaves the field policy and the isolation checks on', async (_name, version, args) => {
    const local = 'staticPodPath: /etc/kubernetes/manifests\n';
    const question = { config: `${header}${opening}`, version, args, local };
    for (const parts of [policyFile, allowsPods, {}])
      expect(await validate({ ...question, parts })).toMatchObject({ reason: 'FieldPolicyDenied' });
    const nodeFacts = async () => ({ hasStaticPods: true });
    expect(await validate({ ...question, parts: { nodeFacts } })).toMatchObject({ reason: 'NodeWouldBeCutOff' });
  });

  test('is reported, with what was not compared', async () => {
    const { kind, warnings } = await validate({ config: `${header}maxPods: 50\n`, args: ['--vendor-flag=x'] });
    expect(kind).toBe('accepted');
    expect(warnings).toContain(
      '--vendor-flag is not as relet knows it: the config was checked without it, and what it sets was not compared',
    );
  });

  test('does not hide flags that relet knows: what they pin does not differ', async () => {
    const args = ['--vendor-flag=x', '--read-only-port=10255'];
    expect(await validate({ config: `${header}readOnlyPort: 10255\n`, args, parts: policyFile })).toMatchObject({
      kind: 'accepted',
    });
  });
});

test('a field that only a newer kubelet knows is set only where the policy file allows it', async () => {
  const config = `${header}logging: {newIn138: true}\nmaxPods: 50\n`;
  const ask = (policy: object, version = 'v1.38.0') =>
    validate({ config, version, parts: { policyIsOurs: true, policy } });
  expect(await ask({ allow: ['maxPods'] })).toMatchObject({
    reason: 'FieldPolicyDenied',
    cause: { message: 'logging.newIn138 is set, and the field policy does not list it under allow' },
  });
  expect(await ask({ deny: ['logging'] })).toMatchObject({ reason: 'FieldPolicyDenied' });
  expect(await ask({ allow: ['maxPods', 'logging'] })).toMatchObject({ kind: 'accepted' });
  // A kubelet that relet knows ignores the field.
  expect(await ask({ allow: ['maxPods'] }, 'v1.37.1')).toMatchObject({ kind: 'accepted' });
});

describe('a local config that relet cannot read', () => {
  const broken = 'staticPodPath: /etc/kubernetes/manifests\n\u0001';
  const deny = { policyIsOurs: true, policy: { deny: ['readOnlyPort'] } };

  test('rejects a new config where a policy file compares with it', async () => {
    expect(await validate({ config: `${header}maxPods: 50\nstaticPodPath: /m\n`, local: broken, parts: deny })).toEqual(
      expect.objectContaining({
        reason: 'CannotBeChecked',
        cause: new Error(
          'the field policy compares this config with the local one, which relet cannot read: /local, line 4, column 1: yaml: control characters are not allowed',
        ),
      }),
    );
  });

  test('rejects a new config without a staticPodPath, unless the ConfigMap allows it', async () => {
    const question = { config: `${header}maxPods: 50\n`, local: broken };
    expect(await validate(question)).toMatchObject({
      reason: 'CannotBeChecked',
      cause: { message: expect.stringContaining('which may stop static pods') },
    });
    const annotations = { [allowFieldsAnnotation]: 'staticPodPath' };
    expect(await validate({ ...question, annotations })).toMatchObject({ kind: 'accepted' });
    expect(await validate({ ...question, config: `${header}staticPodPath: /m\n` })).toMatchObject({
      kind: 'accepted',
      warnings: expect.arrayContaining([expect.stringContaining('relet cannot read all of the local config: /local')]),
    });
  });

  test('takes no last known good away, nor a config that was accepted before', async () => {
    const question = { config: `${header}maxPods: 50\n`, local: broken, parts: deny };
    const warnings = expect.arrayContaining([expect.stringContaining('which relet cannot read')]);
    expect(await validate({ ...question, isLastKnownGood: true })).toMatchObject({ kind: 'accepted', warnings });
    expect(await validate({ ...question, steps: 'no-probe' })).toMatchObject({ kind: 'accepted', warnings });
  });

  test('does not open access: what it may keep closed counts as closed', async () => {
    const question = { config: `${header}readOnlyPort: 10255\nstaticPodPath: /m\n`, local: broken };
    expect(await validate(question)).toMatchObject({ reason: 'FieldPolicyDenied' });
  });

  test('counts with the fields that can be read', async () => {
    const local = 'staticPodPath: /etc/kubernetes/manifests\nmaxPods: many\n';
    const parts = { nodeFacts: async () => ({ hasStaticPods: true }) };
    const config = `${header}staticPodPath: /etc/kubernetes/manifests\n`;
    expect(await validate({ config, local, parts })).toMatchObject({ kind: 'accepted' });
    expect(await validate({ config: header, local, parts })).toMatchObject({
      reason: 'NodeWouldBeCutOff',
      cause: { message: expect.stringContaining('/etc/kubernetes/manifests') },
    });
  });
});

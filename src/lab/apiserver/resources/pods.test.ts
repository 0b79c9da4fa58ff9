/** Updates of Pods: which fields may change. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import { fieldErrorText } from '../field-error.js';
import type { PodSpec } from './pod-parts.js';
import { pods } from './pods.js';

const toleration = { key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };
const fixed = expect.stringContaining('spec: Forbidden: pod updates may not change fields other than');

function pod(spec: PodSpec): KubeObject {
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', namespace: 'default' },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      activeDeadlineSeconds: 100,
      tolerations: [toleration],
      ...spec,
    },
  };
  pods.strategy.setDefaults(object as KubeObject);
  return object as KubeObject;
}

test.each<[string, PodSpec, unknown[]]>([
  ['another image', { containers: [{ name: 'c', image: 'j' }] }, []],
  [
    'another container',
    {
      containers: [
        { name: 'c', image: 'i' },
        { name: 'd', image: 'i' },
      ],
    },
    ['spec.containers: Forbidden: pod updates may not add or remove containers'],
  ],
  ['a nearer deadline', { activeDeadlineSeconds: 50 }, []],
  [
    'a later deadline, and another node',
    { activeDeadlineSeconds: 200, nodeName: 'n' },
    ['spec.activeDeadlineSeconds: Invalid value: 200: must be less than or equal to previous value'],
  ],
  [
    'one more toleration, the other for longer',
    { tolerations: [{ key: 'l' }, { ...toleration, tolerationSeconds: 9 }] },
    [],
  ],
  [
    'no toleration, and another node',
    { tolerations: [], nodeName: 'n' },
    ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds', fixed],
  ],
  ['another node', { nodeName: 'n' }, [fixed]],
])('an update to %s', (_what, spec, complaints) => {
  expect(pods.strategy.validateUpdate(pod(spec), pod({}), '').map(fieldErrorText)).toEqual(complaints);
});

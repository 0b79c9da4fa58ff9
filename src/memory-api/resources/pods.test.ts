/** Updates of Pods: which fields may change. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../api/object.js';
import { fieldErrorText } from '../field-error.js';
import type { PodSpec } from './pod-parts.js';
import { pods } from './pods.js';

const toleration = { key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };
const fixed = 'spec: Forbidden: only images of containers, activeDeadlineSeconds and tolerations of a Pod may change';

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
  ['another container', { containers: ['c', 'd'].map((name) => ({ name, image: 'i' })) }, [fixed]],
  ['another deadline', { activeDeadlineSeconds: 50 }, []],
  ['one more toleration', { tolerations: [{ key: 'l' }, toleration] }, []],
  ['another node', { nodeName: 'n' }, [fixed]],
])('an update to %s', (_what, spec, complaints) => {
  expect(pods.strategy.validateUpdate(pod(spec), pod({}), '').map(fieldErrorText)).toEqual(complaints);
});

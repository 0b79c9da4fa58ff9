/** Validation of Pods, with the messages of a real server. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../api/object.js';
import { fieldErrorText } from '../field-error.js';
import { pods } from './pods.js';

const container = { name: 'c', image: 'i' };

function pod(spec: object): KubeObject {
  const made = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n' },
    spec: { containers: [container], ...spec },
  } as unknown as KubeObject;
  pods.strategy.setDefaults(made);
  return made;
}

const errorsOf = (spec: object) => pods.strategy.validateCreate(pod(spec)).map(fieldErrorText);
const inside = (parts: object) => errorsOf({ containers: [{ ...container, ...parts }] });

test('a plain pod is accepted', () => {
  expect(errorsOf({})).toEqual([]);
});

test('a pod without containers is rejected', () => {
  expect(errorsOf({ containers: null })).toEqual(['spec.containers: Required value']);
});

describe('validation of containers', () => {
  const at = 'spec.containers[0]';
  test.each<[string, object, string[]]>([
    ['no name', { name: '' }, [`${at}.name: Required value`]],
    ['no image', { image: '' }, [`${at}.image: Required value`]],
  ])('%s', (_name, parts, messages) => {
    expect(inside(parts)).toEqual(messages);
  });
});

describe('defaults of pods', () => {
  test('a negative grace period becomes a second', () => {
    expect(pod({ terminationGracePeriodSeconds: -1 }).spec).toMatchObject({ terminationGracePeriodSeconds: 1 });
  });

  test('podIP and podIPs agree', () => {
    for (const status of [{ podIP: '10.0.0.1' }, { podIPs: [{ ip: '10.0.0.1' }] }]) {
      const changed = { ...pod({}), status };
      pods.strategy.setDefaults(changed);
      expect(changed.status).toEqual({ podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] });
    }
  });
});

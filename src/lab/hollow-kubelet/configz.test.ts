/** What /configz shows. */
import { expect, test } from 'vitest';
import { setDefaults } from '../../config/defaults.js';
import { configz } from './configz.js';

test('shows what is set and leaves out what is nil, zero or empty, as the kubelet does', () => {
  const config = setDefaults({ maxPods: 60 }, 32);
  const { kubeletconfig } = configz({ ...config, apiVersion: 'x', kind: 'y', maxPods: 60, enforceNodeAllocatable: [] });
  expect(kubeletconfig).toMatchObject({ maxPods: 60, port: 10250, containerRuntimeEndpoint: expect.any(String) });
  for (const absent of [
    'apiVersion',
    'kind',
    'staticPodPath',
    'readOnlyPort',
    'enforceNodeAllocatable',
    'featureGates',
  ])
    expect(kubeletconfig).not.toHaveProperty(absent);
});

test('keeps a zero that a pointer says was set, and fields that are always written', () => {
  const config = setDefaults({}, 32);
  const { kubeletconfig } = configz({ ...config, eventRecordQPS: 0, failSwapOn: false, containerRuntimeEndpoint: '' });
  expect(kubeletconfig).toMatchObject({ eventRecordQPS: 0, failSwapOn: false, containerRuntimeEndpoint: '' });
  expect(kubeletconfig.logging).toMatchObject({ verbosity: 0 });
});

/** Fields that /configz shows. */
import { expect, test } from 'vitest';
import { setDefaults } from '../../config/defaults.js';
import { configz } from './configz.js';

test('configz shows set fields and leaves out nil, zero and empty ones, as the kubelet does', () => {
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

test('configz shows a zero behind a pointer, and fields that are always written', () => {
  const config = setDefaults({}, 32);
  const { kubeletconfig } = configz({ ...config, eventRecordQPS: 0, failSwapOn: false, containerRuntimeEndpoint: '' });
  expect(kubeletconfig).toMatchObject({ eventRecordQPS: 0, failSwapOn: false, containerRuntimeEndpoint: '' });
  expect(kubeletconfig.logging).toMatchObject({ verbosity: 0 });
});

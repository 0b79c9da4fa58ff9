/** Which changes the set may cause, by its spec. */
import { expect, test } from 'vitest';
import type { SetImpact } from '../api/node-config-set.js';
import { configProblem, type NodeCase } from './set-impact.js';

const node: NodeCase = {
  names: ['node-1', 'node-2'],
  labels: {},
  kubeletVersion: 'v1.36.0',
  local: { files: [] },
  before: undefined,
  mayLoseGpus: false,
};
const overlay = `apiVersion: relet.dev/v1alpha1
kind: KubeletConfigurationOverlay
config: {topologyManagerPolicy: restricted}
`;
const problem = (accept: SetImpact[], neverDrains: boolean) =>
  configProblem(overlay, [node], { accept, neverDrains })?.message;

test('a change that needs a drain is rolled out only where the set accepts it and somebody else drains', () => {
  expect(problem([], false)).toMatch(/^topologyManagerPolicy \(Drain\) on node-1.*accept: \[Drain\] allows it$/);
  expect(problem([], true)).toMatch(/accept: \[Drain\] allows it$/);
  expect(problem(['Drain'], false)).toMatch(/relet does not drain nodes yet: .*strategy\.drain\.policy: Never/);
  expect(problem(['Drain'], true)).toBeUndefined();
  expect(problem(['Reboot'], true)).toBeUndefined();
});

test('a change that only needs a restart of the kubelet is rolled out whatever the set accepts', () => {
  const restart = overlay.replace('topologyManagerPolicy: restricted', 'maxPods: 150');
  expect(configProblem(restart, [node], { accept: [], neverDrains: false })).toBeUndefined();
});

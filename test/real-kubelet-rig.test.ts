/** The rig for real kubelets, as far as it can be tried without one. */
import { expect, test } from 'vitest';
import { cgroupLines, kubeletExit } from './real-kubelet-rig.js';

test('kubelets from 1.35 on get the field that lets them start on cgroup v1, and only there', () => {
  expect(cgroupLines(35, true)).toEqual(['failCgroupV1: false']);
  expect(cgroupLines(34, true)).toEqual([]);
  expect(cgroupLines(36, false)).toEqual([]);
});

test('the line in which relet logs that a kubelet ended is found', () => {
  const started = 'INFO   kubelet started pid=7 command="/k --config=x"\n';
  expect(kubeletExit(started)).toBeUndefined();
  expect(kubeletExit(`${started}INFO   kubelet ended pid=7 code=1\nINFO   more\n`)).toBe(
    'INFO   kubelet ended pid=7 code=1',
  );
});

/** The state files of the CPU and memory managers: recorded once; a kubelet with another policy does not start. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { recordPolicies } from './state-files.js';

let dir: string;
let root: string;
beforeEach(() => {
  dir = temporaryDir();
  root = join(dir, 'root');
});

test('the first start records the policies, the next with the same ones passes', () => {
  expect(recordPolicies(root, { cpuManagerPolicy: 'none' })).toBeUndefined();
  expect(readdirSync(root).sort()).toEqual(['cpu_manager_state', 'memory_manager_state']);
  expect(recordPolicies(root, {})).toBeUndefined();
});

test('another CPU manager policy is rejected until the file is removed', () => {
  recordPolicies(root, {});
  expect(recordPolicies(root, { cpuManagerPolicy: 'static' })).toBe(
    `start cpu manager error: could not restore state from checkpoint: configured policy "static" differs from state checkpoint policy "none", please drain this node and delete the CPU manager checkpoint file "${root}/cpu_manager_state" before restarting Kubelet`,
  );
  expect(recordPolicies(root, {})).toBeUndefined();
  rmSync(join(root, 'cpu_manager_state'));
  expect(recordPolicies(root, { cpuManagerPolicy: 'static' })).toBeUndefined();
  expect(recordPolicies(root, {})).toContain('configured policy "none" differs from state checkpoint policy "static"');
});

test('another memory manager policy is rejected, and so is an invalid file', () => {
  recordPolicies(root, {});
  expect(recordPolicies(root, { memoryManagerPolicy: 'Static' })).toContain('memory_manager_state');
  writeFileSync(join(root, 'cpu_manager_state'), 'nonsense');
  expect(recordPolicies(root, {})).toContain('differs from state checkpoint policy ""');
});

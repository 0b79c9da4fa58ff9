/** State files of the kubelet: set aside for a change that the node was drained for, put back when it is rolled back. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { ExactRef } from '../api/config-ref.js';
import { createLog } from '../log.js';
import { commandRunner } from './drivers/command.js';
import { owedRecord } from './owed.js';
import { NodeState } from './state/node-state.js';
import { StateFiles, stateFilesOnHost } from './state-files.js';

const log = createLog({ format: 'text', level: 'error', write: () => {} });
const run = commandRunner(process.env);
const cpu = 'cpu_manager_state';
const memory = 'memory_manager_state';

function newDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'relet-state-files-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

describe('on the host', () => {
  let root: string;
  beforeEach(() => {
    root = newDir();
  });

  const write = (file: string, text: string) => writeFileSync(join(root, file), text);
  const read = (file: string) => readFileSync(join(root, file), 'utf8');

  test('what was set aside is put back, and a file that was not there before is removed', async () => {
    const files = stateFilesOnHost({ run, rootDir: root });
    write(cpu, 'none');
    await files.setAside('one');
    expect(readdirSync(root)).toEqual(['relet-state-files']);
    write(cpu, 'static');
    write(memory, 'Static');
    await files.putBack('one');
    expect(readdirSync(root)).toEqual([cpu]);
    expect(read(cpu)).toBe('none');
  });

  test('each step may be repeated', async () => {
    const files = stateFilesOnHost({ run, rootDir: root });
    write(cpu, 'none');
    await files.setAside('one');
    await files.setAside('one');
    await files.putBack('one');
    await files.putBack('one');
    expect(read(cpu)).toBe('none');
    await files.setAside('two');
    await files.clear();
    expect(readdirSync(root)).toEqual([]);
  });

  test('what cannot be done is an error with the words of the host', async () => {
    const files = stateFilesOnHost({ run, rootDir: '/proc/relet-none' });
    await expect(files.setAside('one')).rejects.toThrow('relet-none');
  });
});

describe('the flow', () => {
  const ref = (resourceVersion: string): ExactRef => ({
    namespace: 'kube-system',
    name: 'a',
    uid: 'u-1',
    resourceVersion,
    kubeletConfigKey: 'kubelet',
  });
  const [next, other] = [ref('2'), ref('1')];
  const at = '2026-01-01T00:00:00Z';

  function started(owed: { drained?: true; needs?: ('drain' | 'state-file')[] } = { drained: true }) {
    const dir = newDir();
    const state = new NodeState(dir, log);
    state.write(owedRecord, { at, needs: ['state-file'], bootId: 'b', ...owed });
    const calls: string[] = [];
    const call = (name: string) => async (change?: string) => void calls.push([name, change].join(' ').trim());
    const host = { setAside: call('aside'), putBack: call('back'), clear: call('clear') };
    return { state, calls, files: new StateFiles({ state, stateFiles: host, log }) };
  }

  test('once for a change, before the first start of its config', async () => {
    const { files, calls } = started();
    await files.beforeStart({ source: next, rank: 'assigned' });
    await files.beforeStart({ source: next, rank: 'assigned' });
    expect(calls).toEqual(['aside 20260101T000000Z']);
    await files.trialPassed({ source: next });
    await files.beforeStart({ source: other, rank: 'last-known-good' });
    expect(calls.slice(1)).toEqual(['clear']);
  });

  test('a rollback gets its files back, and the same change does not take them again', async () => {
    const { files, calls } = started();
    await files.beforeStart({ source: next, rank: 'assigned' });
    await files.beforeStart({ source: other, rank: 'last-known-good' });
    await files.beforeStart({ source: undefined, rank: 'local' });
    await files.beforeStart({ source: next, rank: 'assigned' });
    expect(calls).toEqual(['aside 20260101T000000Z', 'back 20260101T000000Z']);
  });

  test.each([
    ['a node that was not drained', {}],
    ['a change that needs only a drain', { drained: true, needs: ['drain'] }],
  ] as const)('%s keeps its files', async (_name, owed) => {
    const { files, calls } = started(owed as Parameters<typeof started>[0]);
    await files.beforeStart({ source: next, rank: 'assigned' });
    expect(calls).toEqual([]);
  });

  test('files that cannot be moved do not keep the kubelet from starting', async () => {
    const { state } = started();
    const fails = () => Promise.reject(new Error('read-only file system'));
    const files = new StateFiles({ state, stateFiles: { setAside: fails, putBack: fails, clear: fails }, log });
    await files.beforeStart({ source: next, rank: 'assigned' });
  });
});

/** Actions left to do on a host after a change, on the whole agent in memory: reported until they are done or dismissed. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { bootFlowRig, createFlowRig, type FlowRig, nodeName as name, sourceNamed } from '../../test/rig/memory-node.js';
import { temporaryDir } from '../../test/temporary-dir.js';
import type { ExactRef } from '../api/config-ref.js';
import { type OwedAction, owedAnnotation } from '../api/node-annotations.js';
import { nodeConfigs } from '../api/node-config.js';
import { nodes, pods } from '../kube/resource-type.js';
import { createLog } from '../log.js';
import { commandRunner } from './drivers/command.js';
import { leftToDo, owedRecord, StateFiles, stateFilesOnHost } from './owed.js';
import { NodeState } from './state/node-state.js';

const owedText = (...needs: OwedAction[]) =>
  JSON.stringify({ needs, fields: ['cgroupDriver'], at: '2026-01-01T00:00:00Z' });

describe('with a NodeConfig', () => {
  /** Runs with local; its NodeConfig assigns nothing. */
  async function started(): Promise<FlowRig> {
    const rig = await bootFlowRig('NodeConfig');
    await rig.until('local runs', () => rig.starts.length === 1);
    return rig;
  }

  /** In one write, as the command line does. */
  async function change(rig: FlowRig, config: string, owed: string | null, ...lines: string[]): Promise<void> {
    await rig.createConfigMap(config, ...lines);
    await rig.point(sourceNamed(config), { [owedAnnotation]: owed });
  }

  async function owedReason(rig: FlowRig): Promise<string | undefined> {
    const condition = await rig.condition('ActionOwed');
    return condition && `${condition.status} ${condition.reason}`;
  }

  const untilOwed = (rig: FlowRig, reason: string) => rig.until(reason, async () => (await owedReason(rig)) === reason);

  test('a reboot is owed until the host was booted again', async () => {
    const rig = await started();
    await change(rig, 'next', owedText('reboot'));
    await untilOwed(rig, 'True RebootOwed');
    await rig.passTrial();
    expect(await owedReason(rig)).toBe('True RebootOwed');
    await rig.stop();
    rig.boot();
    await rig.clock.advance(5000);
    expect(await owedReason(rig)).toBe('True RebootOwed');
    await rig.reboot();
    await untilOwed(rig, 'False NothingOwed');
    expect((await rig.status()).active).toBe('next');
  });

  test('a dismissed action is not owed any more, and its config stays', async () => {
    const rig = await started();
    await change(rig, 'next', owedText('state-file', 'reboot'));
    await untilOwed(rig, 'True RebootOwed');
    await rig.until('next is active', async () => (await rig.status()).active === 'next');
    await rig.client.patch(
      nodeConfigs,
      { name },
      { metadata: { annotations: { [owedAnnotation]: null } } },
      { as: 'merge' },
    );
    await untilOwed(rig, 'False NothingOwed');
    expect(rig.starts).toEqual(['local', 'next']);
  });

  test('a change that was rolled back owes nothing', async () => {
    const rig = await started();
    await change(rig, 'bad', owedText('reboot'), '# crashes');
    await untilOwed(rig, 'True RebootOwed');
    await untilOwed(rig, 'False NothingOwed');
    expect(rig.starts.at(-1)).toBe('local');
  });

  test('a node of which nothing was ever owed has no such condition', async () => {
    const rig = await started();
    await change(rig, 'next', null);
    await rig.until('next is active', async () => (await rig.status()).active === 'next');
    expect(await owedReason(rig)).toBeUndefined();
  });

  test('a drain is owed while a pod of before the switch is left, static pods and those of DaemonSets apart', async () => {
    const rig = await started();
    const create = (pod: string, metadata = {}) =>
      rig.client.create(
        pods,
        { namespace: 'default' },
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: pod, namespace: 'default', ...metadata },
          spec: { nodeName: name, containers: [{ name: 'c', image: 'i' }] },
        },
      );
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'u', controller: true };
    await create('old');
    await create('daemon', { ownerReferences: [owner] });
    await create('static', {
      annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.source': 'file' },
    });
    await rig.clock.advance(2000);
    await change(rig, 'next', owedText('state-file'));
    await untilOwed(rig, 'True DrainOwed');
    await rig.clock.advance(2000);
    await create('new');
    await rig.clock.advance(120_000);
    expect(await owedReason(rig)).toBe('True DrainOwed');
    const place = { name: 'old', namespace: 'default' };
    await rig.client.delete(pods, place, { gracePeriodSeconds: 0 });
    await untilOwed(rig, 'False NothingOwed');
  });
});

test('a Node has no such condition: the annotation goes when the host was booted again', async () => {
  const rig = await createFlowRig();
  const annotation = async () => (await rig.client.get(nodes, { name })).metadata.annotations?.[owedAnnotation];
  const patch = { metadata: { annotations: { [owedAnnotation]: owedText('reboot') } } };
  await rig.client.patch(nodes, { name }, patch, { as: 'merge' });
  rig.boot();
  await rig.makeLastKnownGood('next');
  expect(await annotation()).toBe(owedText('reboot'));
  await rig.reboot();
  await rig.until('annotation is removed', async () => (await annotation()) === undefined);
});

describe('what is left to do', () => {
  const [here, after] = ['boot-1', 'boot-2'];
  const noted = { at: '', bootId: here };
  const switched = { ...noted, switchedAt: '2026-01-01T00:00:00Z' };

  test.each<[string, Parameters<typeof leftToDo>[0], string, OwedAction | undefined]>([
    ['a reboot', { ...switched, needs: ['reboot'] }, here, 'reboot'],
    ['no reboot after a boot', { ...switched, needs: ['reboot'] }, after, undefined],
    ['a state file while the kubelet does not run', { ...noted, needs: ['state-file'] }, here, 'state-file'],
    ['a state file also after a boot', { ...noted, needs: ['state-file'] }, after, 'state-file'],
    ['a drain once the state file is gone', { ...switched, needs: ['state-file'] }, here, 'drain'],
    ['no drain after a boot: all containers are new', { ...switched, needs: ['drain'] }, after, undefined],
    ['no drain once old pods are gone', { ...switched, needs: ['drain'], drained: true }, here, undefined],
    ['a reboot before the state file', { ...noted, needs: ['state-file', 'reboot'] }, here, 'reboot'],
    ['the state file after the boot', { ...noted, needs: ['state-file', 'reboot'] }, after, 'state-file'],
  ])('%s', (_name, record, bootId, left) => {
    expect(leftToDo(record, bootId)).toBe(left);
  });
});

const log = createLog({ format: 'text', level: 'error', write: () => {} });
const run = commandRunner(process.env);
const cpu = 'cpu_manager_state';
const memory = 'memory_manager_state';

describe('on the host', () => {
  let root: string;
  beforeEach(() => {
    root = temporaryDir();
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
    const dir = temporaryDir();
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
    await files.kept({ choice: { source: next } });
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

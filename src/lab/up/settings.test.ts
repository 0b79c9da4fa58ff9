/** Settings of this start, of the one before, and those that exclude each other. */
import { describe, expect, test } from 'vitest';
import { SystemDirectory } from './directory.js';
import { localConfig, type NodePlan, nodeCommand } from './node.js';
import { checkSettings, decideSettings, nodeNames, notesOn, type Settings } from './settings.js';

describe('settings', () => {
  test('three hollow nodes with NodeConfigs, like Kubernetes 1.26 and later, when no flag is given', () => {
    expect(decideSettings({}, undefined)).toEqual({
      nodes: 3,
      kubeletBinary: 'hollow',
      trialDuration: '10m',
      nodeConfigAccess: 'automatic',
      nodeConfig: true,
      kubeletArgs: [],
    });
    expect(nodeNames(3)).toEqual(['node-1', 'node-2', 'node-3']);
  });

  test('settings of before hold until others are requested', () => {
    const before = decideSettings({ nodes: 5, trialDuration: '5s', nodeConfigAccess: 'manual' }, undefined);
    expect(decideSettings({ trialDuration: '1m' }, before)).toMatchObject({
      nodes: 5,
      trialDuration: '1m',
      nodeConfigAccess: 'manual',
    });
  });

  test('a real kubelet is one node, also where there were more before', () => {
    const before = decideSettings({ nodes: 5 }, undefined);
    expect(decideSettings({ kubeletBinary: '/usr/bin/kubelet' }, before).nodes).toBe(1);
    expect(() => decideSettings({ kubeletBinary: '/usr/bin/kubelet', nodes: 2 }, undefined)).toThrow(
      'leave --nodes out',
    );
  });

  const dkc = decideSettings({ nodeConfig: false }, undefined);
  const nodeConfig = decideSettings({}, undefined);

  test('a directory made for Dynamic Kubelet Configuration keeps that mode, with a note, until --node-config', () => {
    const { nodeConfig: _not, ...older } = dkc;
    for (const before of [dkc, older as Settings]) {
      const settings = decideSettings({}, before);
      expect(settings.nodeConfig).toBe(false);
      expect(notesOn({}, settings, before)).toEqual([expect.stringContaining('--dynamic-kubelet-config')]);
    }
    const again = { nodeConfig: false };
    expect(notesOn(again, decideSettings(again, dkc), dkc)).toEqual([]);
    expect(decideSettings({ nodeConfig: true }, dkc).nodeConfig).toBe(true);
  });

  test('a directory with NodeConfigs refuses --dynamic-kubelet-config: its nodes would keep following them', () => {
    expect(() => decideSettings({ nodeConfig: false }, nodeConfig)).toThrow('start over with --fresh');
    expect(notesOn({}, decideSettings({}, nodeConfig), nodeConfig)).toEqual([]);
  });

  test('fewer nodes than before: those that leave the cluster are named', () => {
    expect(notesOn({ nodes: 1 }, decideSettings({ nodes: 1 }, nodeConfig), nodeConfig)).toEqual([
      expect.stringMatching(/^removing node-2, node-3 from the cluster.* files of removed nodes stay/),
    ]);
    expect(notesOn({ nodes: 5 }, decideSettings({ nodes: 5 }, nodeConfig), nodeConfig)).toEqual([]);
  });

  test('a kubelet or an init config that is not there is named before anything starts', () => {
    const settings = decideSettings({}, undefined);
    expect(() => checkSettings({ ...settings, initConfigDir: '/nowhere' })).toThrow("no file named 'kubelet'");
  });
});

describe('the command of a node', () => {
  const network = {
    apiPort: 6443,
    firstAddress: '127.7.8.1',
    kubeletPort: 10250,
    healthzPort: 10248,
    metricsPort: 10269,
  };
  const plan = (requested: object): NodePlan => ({
    name: 'node-2',
    index: 1,
    paths: new SystemDirectory('/d').node('node-2'),
    settings: decideSettings(requested, undefined),
    network,
    serverUrl: 'https://127.0.0.1:6443',
    caFile: '/d/pki/ca.crt',
  });

  test('a hollow node lives at its own address, in its own directories', () => {
    expect(nodeCommand(['relet'], plan({ kubeletArgs: ['--v=4'] }))).toEqual([
      'relet',
      'kubelet',
      '--dynamic-config-dir=/d/nodes/node-2/dynamic-config',
      '--kubelet-binary=hollow',
      '--trial-duration=10m',
      '--config=/d/nodes/node-2/kubelet.yaml',
      '--kubeconfig=/d/nodes/node-2/kubeconfig',
      '--hostname-override=node-2',
      '--root-dir=/d/nodes/node-2/root',
      '--cert-dir=/d/nodes/node-2/pki',
      '--client-ca-file=/d/pki/ca.crt',
      '--node-ip=127.7.8.2',
      '--address=127.7.8.2',
      '--healthz-bind-address=127.7.8.2',
      '--metrics-bind-address=127.7.8.2:10269',
      '--v=4',
    ]);
    expect(localConfig(plan({}))).toContain('port: 10250\nhealthzPort: 10248\n');
  });

  test('a real kubelet finds its own address, for it refuses those of the loopback', () => {
    const command = nodeCommand(['relet'], plan({ kubeletBinary: '/usr/bin/kubelet', initConfigDir: '/init' }));
    expect(command.filter((word) => /address|node-ip/.test(word))).toEqual(['--metrics-bind-address=127.0.0.1:10269']);
    expect(command).toContain('--init-config-dir=/init');
  });
});

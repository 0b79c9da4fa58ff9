/** Diagnoses about nodes, and about nodes that never reported. */
import { describe, expect, test } from 'vitest';
import { configuredNode as node } from '../../../test/configured-node.js';
import type { Diagnosis } from './diagnosis.js';
import { byRemedy, exitCodeOf } from './doctor.js';
import {
  checkAgents,
  checkBoots,
  checkNodeConfigs,
  checkStates,
  checkUnits,
  checkUpgrades,
  checkWarnings,
  pinnedWithEffect,
} from './nodes.js';

describe('relet doctor', () => {
  test.each<[Diagnosis['level'][], number]>([
    [['ok', 'warning'], 0],
    [['ok', 'unknown', 'error'], 1],
    [['ok', 'warning', 'unknown'], 2],
  ])('ends after %j with %i', (levels, code) => {
    expect(exitCodeOf(levels.map((level) => ({ level, what: '' })))).toBe(code);
  });

  test('prints one remedy once, after all that it is for', () => {
    const found: Diagnosis[] = [
      { level: 'warning', what: 'a', remedy: 'ask' },
      { level: 'ok', what: 'b' },
      { level: 'error', what: 'c', remedy: 'ask' },
    ];
    expect(byRemedy(found)).toEqual([
      { level: 'warning', what: 'a' },
      { level: 'error', what: 'c', remedy: 'ask' },
      { level: 'ok', what: 'b' },
    ]);
  });

  test('names the node in the remedy where it is only one', () => {
    const configSource = { configMap: { namespace: 'relet-system', name: 'a', kubeletConfigKey: 'kubelet' } };
    const waiting = ['node-1', 'node-2'].map((name) => node(name, { configSource }));
    const remedies = [waiting.slice(0, 1), waiting].map((nodes) => checkStates(nodes, 0)[0]?.remedy);
    expect(remedies).toEqual([
      "'relet describe node-1' shows what it waits for",
      "'relet describe NODE' shows what it waits for",
    ]);
  });

  test('sends people to the set where a set owns the node, and to edit only where none does', () => {
    const configMap = { namespace: 'relet-system', name: 'gpu-1', kubeletConfigKey: 'kubelet' };
    const exact = { configMap: { ...configMap, uid: 'u', resourceVersion: '1' } };
    const failed = {
      configSource: { configMap },
      status: { assigned: exact, error: 'failed to validate kubelet config, see Kubelet log for details' },
    };
    const claim = {
      set: 'gpu',
      revision: 'a',
      source: configMap,
      wave: 1,
      at: '',
      previous: undefined,
    };
    const found = checkStates([node('node-1', { ...failed, claim }), node('node-2', failed)], 0);
    expect(found).toEqual([
      {
        level: 'error',
        what: 'rejected: node-1 (set gpu)',
        remedy:
          "'relet describe node-1' shows why; correct the config of the set gpu, or 'relet rollout undo gpu' takes it back",
      },
      { level: 'error', what: 'rejected: node-2', remedy: expect.stringContaining("'relet edit node-2' corrects") },
    ]);
  });

  test('warns of nodes without an agent and of silent ones, with how many and the first names, and calls neither ok', () => {
    const nowMs = Date.parse('2026-03-01T12:00:00Z');
    const lease = { renewTime: '2026-03-01T11:00:00Z', durationSeconds: 600 };
    const without = Array.from({ length: 330 }, (_, at) => node(`node-${at + 13}`, { reports: false }));
    const fleet = [...Array.from({ length: 11 }, (_, at) => node(`node-${at + 1}`)), node('node-12', { lease })];
    const found = [...checkAgents([...fleet, ...without], nowMs), ...checkStates([...fleet, ...without], nowMs)];
    expect(found.map(({ level, what }) => [level, what])).toEqual([
      [
        'warning',
        'no agent has ever reported from 330 of 342 nodes, so nobody knows what they run: node-13, node-14, node-15, node-16, node-17 and 325 more',
      ],
      ['warning', 'the agents of 1 of 342 nodes are silent, so nobody knows what they run now: node-12'],
      ['ok', 'none of the 11 nodes that report is on trial, waiting, rejected or rolled back'],
    ]);
    expect(checkAgents(fleet.slice(0, 11), nowMs)).toEqual([
      { level: 'ok', what: '11 of 11 nodes report their config' },
    ]);
  });

  test('names the nodes that run another build of the same version than the rest', () => {
    const fleet = ['node-1', 'node-2', 'node-3'].map((name) => node(name, { agentVersion: '0.1.0+3f2a9c01b7de' }));
    const other = node('node-4', { agentVersion: '0.1.0+000000000000' });
    const builds = (nodes: typeof fleet) => checkAgents(nodes, 0).filter(({ what }) => what.includes('0.1.0+'));
    expect(builds([...fleet, other])).toEqual([
      {
        level: 'warning',
        what: 'nodes run different versions or builds of relet: 0.1.0+3f2a9c01b7de (node-1, node-2, node-3), 0.1.0+000000000000 (node-4)',
        remedy: 'fine during an upgrade; finish it',
      },
    ]);
    expect(builds(fleet)).toEqual([{ level: 'ok', what: 'relet on the nodes is version 0.1.0+3f2a9c01b7de' }]);
  });

  test('prints the warnings of nodes: the first of each, and how many more there are', () => {
    const warned = node('node-1', { warnings: ['clusterDomain is set in the local config and not in this one', 'b'] });
    expect(checkWarnings([node('node-0'), warned])).toEqual([
      {
        level: 'warning',
        what: 'node-1: clusterDomain is set in the local config and not in this one; and 1 more',
        remedy: expect.stringContaining('relet describe node-1'),
      },
    ]);
  });

  test('finds nodes whose kubelet was replaced by one that is a risk for their config', () => {
    const upgradeRisk = { reason: 'NewKubeletRejectsConfig', message: 'It would not start.' };
    expect(checkUpgrades([node('node-0')])).toEqual([]);
    expect(checkUpgrades([node('node-0'), node('node-1', { upgradeRisk })])).toEqual([
      {
        level: 'error',
        what: 'their kubelet was replaced by one that would not start with their config: node-1',
        remedy: expect.stringContaining('relet describe node-1'),
      },
    ]);
  });

  test('finds nodes whose config crashed at a boot and has not survived one since', () => {
    const bootRisk = { reason: 'CrashedAtBoot', message: 'It crashed.' };
    expect(checkBoots([node('node-0')])).toEqual([]);
    expect(checkBoots([node('node-0'), node('node-1', { bootRisk })])).toEqual([
      {
        level: 'warning',
        what: 'their config crashed at a boot, and has not survived one since: node-1',
        remedy: expect.stringContaining('relet describe node-1'),
      },
    ]);
  });

  test('finds nodes whose unit was changed by somebody else', () => {
    const unitNotice = { reason: 'UnitMasked', message: 'The unit of the kubelet is masked.' };
    expect(checkUnits([node('node-0'), node('node-1', { unitNotice })])).toEqual([
      {
        level: 'warning',
        what: 'node-1: The unit of the kubelet is masked.',
        remedy: expect.stringContaining('under UnitMasked'),
      },
    ]);
  });

  test('warns of pinned fields only where a config wants another value, and once for nodes alike', () => {
    const own = { path: 'address', written: '127.0.0.1', runs: '127.0.0.1' };
    const unset = { path: 'port', written: undefined, runs: 10250 };
    const other = { path: 'maxPods', written: 70, runs: 60 };
    expect(pinnedWithEffect([{ node: 'node-1', fields: [own, unset] }])).toEqual([]);
    const found = pinnedWithEffect(['node-1', 'node-2'].map((node) => ({ node, fields: [own, other] })));
    expect(found.map(({ what }) => what)).toEqual([
      'node-1, node-2: flags of the kubelet pin maxPods; the config has another value there, without effect',
    ]);
  });

  test('finds nodes for which no controller has made a NodeConfig', () => {
    expect(checkNodeConfigs([node('node-0')])).toEqual([]);
    const [found] = checkNodeConfigs([node('node-0'), node('node-1', { version: '' })]);
    expect(found).toMatchObject({ level: 'warning', what: expect.stringMatching(/no NodeConfig.*: node-1$/) });
  });
});

/** What doctor reports about nodes, and about nodes that never reported. */
import { describe, expect, test } from 'vitest';
import { configuredNode as node } from '../../../test/configured-node.js';
import type { Diagnosis } from './diagnosis.js';
import { byRemedy, exitCodeOf } from './doctor.js';
import { checkNodeConfigs, checkStates, checkUnits, checkUpgrades, checkWarnings, pinnedWithEffect } from './nodes.js';

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
    const remedies = [waiting.slice(0, 1), waiting].map((nodes) => checkStates(nodes)[0]?.remedy);
    expect(remedies).toEqual([
      "'relet describe node-1' shows what it waits for",
      "'relet describe NODE' shows what it waits for",
    ]);
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
    const own = { path: 'address', said: '127.0.0.1', runs: '127.0.0.1' };
    const unsaid = { path: 'port', said: undefined, runs: 10250 };
    const other = { path: 'maxPods', said: 70, runs: 60 };
    expect(pinnedWithEffect([{ node: 'node-1', fields: [own, unsaid] }])).toEqual([]);
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

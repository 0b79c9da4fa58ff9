/** ConfigMaps that gc would remove, and why it keeps the rest. */
import { describe, expect, test } from 'vitest';
import { configuredNode } from '../../../test/configured-node.js';
import type { ConfigMap } from '../../api/object.js';
import { withEntry } from '../../fleet/config-history.js';
import { addUses, addUsesOfSet, type Uses } from '../../fleet/config-maps.js';
import { decideOn, gcLines } from './gc.js';

const nowMs = Date.parse('2026-03-01T12:00:00Z');
const configMap = (name: string, creationTimestamp = '2026-02-01T12:00:00Z'): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'relet-system', name, creationTimestamp },
});

const uses: Uses = { now: new Map(), history: new Map(), sets: new Map() };
const source = (name: string) => ({ configMap: { namespace: 'relet-system', name, kubeletConfigKey: 'kubelet' } });
const entry = { at: '', by: 'ann', verb: 'set', from: 'relet-system/before/kubelet', to: 'relet-system/used/kubelet' };
addUses(uses, configuredNode('n-1', { configSource: source('used'), history: withEntry({}, entry) }));

addUsesOfSet(uses, {
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name: 'gpu' },
  spec: {
    selector: {},
    config: { configMap: { namespace: 'relet-system', name: 'asked', kubeletConfigKey: 'kubelet' } },
  },
  status: { revisions: [{ revision: 'a', source: 'relet-system/gpu-1/kubelet', startedAt: '2026-02-01T12:00:00Z' }] },
});

const hour = 3_600_000;
const why = (name: string, options: { minAge: number; history?: boolean }, created?: string) =>
  decideOn([configMap(name, created)], uses, options, nowMs)[0];

describe('a ConfigMap', () => {
  test.each([
    ['used', { minAge: 0, history: true }, 'in use', ['n-1']],
    ['asked', { minAge: 0, history: true }, 'of a set', ['gpu']],
    ['gpu-1', { minAge: 0, history: true }, 'of a set', ['gpu']],
    ['before', { minAge: 0 }, 'in the history', ['n-1']],
    ['before', { minAge: 0, history: true }, 'unused', []],
    ['other', { minAge: hour }, 'unused', []],
  ])('%s with %j is %s', (name, options, expected, nodes) => {
    expect(why(name, options)).toMatchObject({ why: expected, nodes });
  });

  test('that is new is young, unless no age is asked for, whatever the clocks', () => {
    for (const created of ['2026-03-01T11:59:59Z', '2026-03-01T12:00:05Z']) {
      expect(why('other', { minAge: hour }, created)).toMatchObject({ why: 'young' });
      expect(why('other', { minAge: 0 }, created)).toMatchObject({ why: 'unused' });
    }
  });
});

describe('what a person reads', () => {
  test('why each is kept', () => {
    const all = [configMap('used'), configMap('before'), configMap('new', '2026-03-01T11:59:00Z')];
    expect(gcLines(decideOn(all, uses, { minAge: hour }, nowMs), { minAge: hour }, nowMs)).toEqual([
      'relet-system/used   kept: in use by n-1',
      'relet-system/before   kept: in the history of n-1',
      'relet-system/new   kept: younger than --min-age',
      "Kept: 1 in use; 1 only in the history of nodes, for 'relet undo' (--history removes these); 1 younger than 60m (--min-age).",
      'Nothing to remove.',
    ]);
  });

  test('many are counted', () => {
    const all = Array.from({ length: 500 }, (_, index) => configMap(`c-${index}`));
    const lines = gcLines(decideOn(all, uses, { minAge: hour }, nowMs), { minAge: hour }, nowMs);
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toBe('… and 480 more, unused');
  });
});

/** The buttons of a node, and the commands that they show. */
import { describe, expect, test } from 'vitest';
import { configuredNode } from '../../../test/configured-node.js';
import { nodeActions, sourceOf } from './node-page.js';

describe('undo of a node', () => {
  const ref = (name: string) => `relet-system/${name}/kubelet`;
  const change = (revision: number, from: string, to: string) => ({
    revision,
    at: '2026-01-01T00:00:00Z',
    by: 'ann',
    verb: 'set',
    from,
    to,
  });
  const undoOf = (history: object[]) => {
    const configSource = { configMap: { namespace: 'relet-system', name: 'b', kubeletConfigKey: 'kubelet' } };
    const node = configuredNode('node-1', { configSource, history: JSON.stringify(history) });
    return nodeActions(node).find(({ verb }) => verb === 'undo');
  };

  test('names the revision that it goes to', () => {
    const history = [change(7, ref('a'), ref('b')), change(6, ref('b'), ref('a')), change(5, 'local', ref('b'))];
    expect(undoOf(history)).toEqual({ verb: 'undo', command: 'relet undo node-1 --to 6', to: 6 });
  });

  test('names none where what it goes to has no revision', () => {
    expect(undoOf([change(1, 'local', ref('b'))])).toEqual({ verb: 'undo', command: 'relet undo node-1' });
  });

  test('names the newest revision where the node was changed without relet since', () => {
    expect(undoOf([change(2, 'local', ref('c'))])).toMatchObject({ command: 'relet undo node-1 --to 2' });
  });
});

test('a node whose agent has never reported is not said to run its local config', () => {
  const sources = (reports: boolean) =>
    (['assigned', 'active', 'lastKnownGood', 'effective', 'local'] as const).map((which) =>
      sourceOf(configuredNode('node-1', { reports }), which),
    );
  expect(sources(false)).toEqual(['local', 'unknown', 'unknown', 'unknown', 'local']);
  expect(sources(true)).toEqual(['local', 'local', 'local', 'local', 'local']);
});

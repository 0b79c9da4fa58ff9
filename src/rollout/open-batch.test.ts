/** A batch that was announced: how long it continues, and which nodes are written first when it is given up. */
import { describe, expect, test } from 'vitest';
import { batchOf, claim, minute, anySetNode as node, nowMs, planned, started } from '../../test/rig/planned-set.js';
import { parseRef } from '../api/config-ref.js';
import { rfc3339 } from '../clock.js';
import type { SetNode } from './members.js';
import { givenUp, type PlanInput } from './plan.js';
import type { Intent, SetState } from './state.js';

const intent: Intent = {
  revision: 'new',
  source: parseRef('n/new-1/k'),
  wave: 1,
  names: ['a', 'b'],
  at: rfc3339(nowMs - minute),
};
const old: Intent = { ...intent, revision: 'old', source: parseRef('n/old/k'), wave: 0 };
const written = (name: string) => node(name, { state: 'waiting', claim: claim() });
const problem = { kind: 'impact', message: 'why' } as const;
const rejected: Partial<SetState> = { rejectedRevision: 'new', rollingBack: false };
const windows = [{ from: '22:00', to: '04:00' }];

interface Given {
  intent?: Intent;
  state?: Partial<SetState>;
  nodes?: SetNode[];
  windows?: typeof windows;
  more?: Partial<PlanInput> & { spec?: object };
}
function continued({ intent: open = intent, state, nodes = ['a', 'b'].map((name) => node(name)), ...given }: Given) {
  const strategy = { windows: given.windows ?? [], maxUnavailable: 1, waves: [{ nodes: '100%' }] };
  return planned(nodes, strategy, { ...given.more, state: { ...started, ...state, intent: open } });
}

describe('an announced batch', () => {
  test.each<[string, Given, string[] | undefined]>([
    ['continues until every node is written, whatever the budgets are', {}, ['a', 'b']],
    ['continues with the node that is left', { nodes: [written('a'), node('b')] }, ['a', 'b']],
    ['is over when all its nodes are written', { nodes: [written('a'), written('b'), node('c')] }, undefined],
    ['is over when its nodes are gone', { nodes: [written('c'), node('d')] }, undefined],
    ['is given up when the set is paused', { more: { spec: { paused: true } } }, undefined],
    ['is given up when its revision was rejected', { state: rejected }, undefined],
    ['of another revision continues when the new one was rejected', { intent: old, state: rejected }, ['a', 'b']],
    ['is given up when the config may not be rolled out', { more: { problem } }, undefined],
    ['of another revision continues beside a problem of the config', { intent: old, more: { problem } }, ['a', 'b']],
    ['is given up when the window has closed', { windows }, undefined],
    ['outside the waves waits for no window', { intent: { ...intent, wave: 0 }, windows }, ['a', 'b']],
    ['of corrections waits for no window', { intent: { ...intent, exempt: ['a'] }, windows }, ['a', 'b']],
  ])('%s', (_name, given, expected) => {
    expect(batchOf(continued(given))).toEqual(expected);
  });

  test('is what the set reports, beside the nodes that are drained for it', () => {
    const drained = (name: string, state: 'Draining' | 'Drained') =>
      node(name, { drain: { state, message: 'pod shop/web' } as SetNode['drain'] & object });
    const reported = (...nodes: SetNode[]) => continued({ nodes }).progress;
    expect(reported(node('a'), drained('b', 'Drained'), drained('c', 'Draining'))).toEqual({
      condition: 'Reconciling',
      kind: 'rolling',
      message: 'changing 2 nodes: a and b',
    });
    expect(reported(node('a'), drained('b', 'Draining'), drained('c', 'Draining'))).toEqual({
      condition: 'Reconciling',
      kind: 'draining',
      message: 'draining b: pod shop/web',
    });
  });
});

test.each<[string, Intent | undefined, Intent | undefined, string[]]>([
  ['was none', undefined, intent, []],
  ['continues', intent, { ...intent }, []],
  ['ends', intent, undefined, ['a']],
  ['is replaced by a later one', intent, { ...intent, at: rfc3339(nowMs) }, ['a']],
  ['is replaced by one of another revision', intent, { ...intent, revision: 'old' }, ['a']],
])('where a batch %s, its nodes without it are written first, each once', (_name, before, after, expected) => {
  const nodes = [node('a'), written('b'), node('c', { givenUp: intent.at }), node('d')];
  const asked = before && { ...before, names: ['a', 'b', 'c'] };
  expect(givenUp(asked, after, nodes).map(({ name }) => name)).toEqual(expected);
});

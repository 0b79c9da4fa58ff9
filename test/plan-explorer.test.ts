/**
 * Explores every order of events in a rollout of three nodes, up to a number of states, and prints how many there were.
 * EXPLORE_STATES=100000 goes further: docs/reliability.md has the figures.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { plan } from '../src/rollout/plan.js';
import type { SetRules } from '../src/rollout/spec.js';
import { type Exploration, explore } from './plan-explorer.js';

const mostStates = Number(process.env.EXPLORE_STATES ?? 2000);
const none = { edits: 0, requests: 0, failures: 0, outages: 0, leaders: 0 };
const strategy: Exploration['strategy'] = {
  waves: [{ nodes: 1, approve: true }, { nodes: '100%' }],
  maxFailed: 0,
  onFailure: 'Halt',
};
const rollback: Exploration['strategy'] = { ...strategy, onFailure: 'Rollback' };
const explored: string[] = [];
afterAll(() => console.info(`states: ${explored.join('; ')}`));
const hours = 3_600_000;

describe('every order of events', () => {
  test.each<[string, Partial<Exploration>]>([
    ['nothing else', { left: none }],
    ['another leader', { left: { ...none, leaders: 1 } }],
    ['an edit and another leader', { left: { ...none, edits: 1, leaders: 1 } }],
    ['a request of a person and another leader', { left: { ...none, requests: 1, leaders: 1 } }],
    ['a failed node and another leader', { left: { ...none, failures: 1, leaders: 1 } }],
    [
      'a failed node, a rollback and another leader',
      { left: { ...none, failures: 1, leaders: 1 }, strategy: rollback },
    ],
    ['a node that is NotReady and another leader', { left: { ...none, outages: 1, leaders: 1 } }],
    ['an edit and a request', { left: { ...none, edits: 1, requests: 1 } }],
    ['everything at once', { left: { edits: 1, requests: 1, failures: 1, outages: 1, leaders: 1 } }],
  ])(
    'a rollout with %s keeps its budgets and ends',
    (name, options) => {
      const { states, isWhole, broken } = explore({ strategy, left: none, mostStates, ...options });
      explored.push(`${states} with ${name}${isWhole ? ' (all there are)' : ''}`);
      expect(broken).toBeUndefined();
    },
    hours,
  );
});

const everything = { nodes: '100%', soakMs: 0, approve: false } as const;
const mutated = (rules: Partial<SetRules>): Partial<Exploration> => ({
  decide: (input) => plan({ ...input, rules: { ...input.rules, ...rules } }),
});

describe('the exploration finds a controller that', () => {
  const left = { ...none, requests: 1, leaders: 1 };
  test.each<[string, Partial<Exploration>, string]>([
    ['gives a batch up while a write of it may be on its way', { endsBatches: false }, 'unavailable by us'],
    ['writes without the resourceVersion that it has read', { hasConflicts: false }, 'unavailable by us'],
    ['assigns nodes before its intent is in the status', { assignsFirst: true }, 'unavailable by us'],
    ['counts no node as unavailable', mutated({ maxUnavailable: 2 }), 'unavailable by us'],
    ['counts no node as in trial', { ...mutated({ maxInTrial: 3 }), strategy: { waves: [] } }, 'in trial'],
    [
      'does not wait for the first wave',
      mutated({ waves: [everything] }),
      'before the first node has passed its trial',
    ],
    ['asks nobody', mutated({ waves: [{ ...everything, nodes: 1 }, everything] }), 'without an approval'],
    [
      'counts no failures',
      { ...mutated({ maxFailed: 3 }), left: { ...none, failures: 1 } },
      'complete, but not on node-1',
    ],
  ])('%s', (_name, options, promise) => {
    const { broken } = explore({ strategy, left, mostStates: 20_000, ...options });
    expect(broken?.promise ?? '').toContain(promise);
  });
});

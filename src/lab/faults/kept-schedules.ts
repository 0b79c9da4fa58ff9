/** Schedules that broke a promise once, shortened by hand. docs/reliability.md has the seed that found each, and what was wrong. */
import type { Action, Schedule } from './schedule.js';

const schedule = (seed: string, actions: Action[]): Schedule => ({
  seed,
  nodes: ['node-1'],
  inSet: [],
  limits: { maxUnavailable: 1, maxInTrial: 1 },
  isDrained: false,
  controllers: 1,
  trialMs: 20_000,
  latencyMs: 0,
  actions,
  faultsEndMs: 300_000,
});

const node = 'node-1';
const first = { name: 'c1', version: 1, class: 'good', isOverlay: false } as const;
const second = { name: 'c2', version: 1, class: 'crashing', isOverlay: false } as const;

export const keptSchedules: Record<string, Schedule> = {
  'a last known good that crashes after a rollback reaches local within the bound': schedule('b-5', [
    { atMs: 60_000, kind: 'create', config: first },
    { atMs: 60_000, kind: 'assign', node, config: 'c1' },
    { atMs: 150_000, kind: 'create', config: second },
    { atMs: 150_000, kind: 'spoil', node, config: 'c1' },
    { atMs: 154_000, kind: 'assign', node, config: 'c2' },
  ]),
  'a trial that ends on a full disk does not log without pause': schedule('b-6', [
    { atMs: 60_000, kind: 'create', config: first },
    { atMs: 60_000, kind: 'assign', node, config: 'c1' },
    { atMs: 70_000, kind: 'disk-full', node, forMs: 60_000 },
  ]),
  'a kubelet that does not come up on a full disk does not log at every health check': schedule('test-9', [
    { atMs: 60_000, kind: 'create', config: first },
    { atMs: 60_000, kind: 'assign', node, config: 'c1' },
    { atMs: 150_000, kind: 'create', config: { ...second, class: 'unhealthy' } },
    { atMs: 150_000, kind: 'assign', node, config: 'c2' },
    { atMs: 153_000, kind: 'disk-full', node, forMs: 70_000 },
  ]),
  'a rollback has an event although the agent ended before the API server was back': schedule('test-27', [
    { atMs: 60_000, kind: 'create', config: second },
    { atMs: 60_000, kind: 'assign', node, config: 'c2' },
    { atMs: 64_000, kind: 'cut-off', client: node, forMs: 30_000 },
    { atMs: 72_000, kind: 'lose-power', node, offMs: 10_000 },
  ]),
  'a reset before the first healthy answer of a restarted kubelet keeps the config before it': schedule('d-13', [
    { atMs: 20_000, kind: 'create', config: first },
    { atMs: 20_000, kind: 'assign', node, config: 'c1' },
    { atMs: 28_938, kind: 'kill-kubelet', node },
    { atMs: 29_801, kind: 'spoil', node, config: 'local.test' },
    { atMs: 29_801, kind: 'reset', node },
  ]),
  'a reset while the API server is slow does not restart the kubelet that a rollback has started meanwhile': schedule(
    'b-323',
    [
      { atMs: 60_000, kind: 'create', config: second },
      { atMs: 60_000, kind: 'assign', node, config: 'c2' },
      { atMs: 63_000, kind: 'unanswered', client: '*', share: 0.5, forMs: 20_000 },
      { atMs: 63_491, kind: 'reset', node },
    ],
  ),
  'a status that somebody else has overwritten is put right': schedule('1-117', [
    { atMs: 20_000, kind: 'create', config: first },
    { atMs: 20_000, kind: 'assign', node, config: 'c1' },
    { atMs: 100_000, kind: 'lie', node, config: 'c9' },
  ]),
  'a reset right after the first answer of a config returns to it, where local crashes': {
    ...schedule('g-220', [
      { atMs: 20_000, kind: 'roll-out', config: { ...first, name: 's', isOverlay: true }, onFailure: 'Rollback' },
      { atMs: 28_473, kind: 'crash-controller', controller: 'controller-1', halfSteps: 13 },
      { atMs: 34_753, kind: 'lose-power', node: 'node-2', offMs: 75_142 },
      { atMs: 34_946, kind: 'create', config: { ...first, name: 'c2' } },
      { atMs: 34_946, kind: 'assign', node, config: 'c2' },
      { atMs: 35_636, kind: 'create', config: { ...second, name: 'c3' } },
      { atMs: 35_636, kind: 'assign', node, config: 'c3' },
      { atMs: 39_134, kind: 'spoil', node, config: 'local.test' },
      { atMs: 39_134, kind: 'reset', node },
    ]),
    nodes: ['node-1', 'node-2', 'node-3'],
    inSet: ['node-2', 'node-3'],
    limits: { maxUnavailable: 1, maxInTrial: 2 },
    trialMs: 12_000,
    latencyMs: 80,
    faultsEndMs: 70_903,
  },
  'a reset that reaches the next agent returns to a config that had answered, where local crashes': {
    ...schedule('h-5405', [
      { atMs: 7835, kind: 'restart-server', forMs: 10_448 },
      { atMs: 20_726, kind: 'create', config: { ...first, name: 'c2', class: 'slow' } },
      { atMs: 20_726, kind: 'assign', node, config: 'c2' },
      { atMs: 23_334, kind: 'create', config: { ...first, name: 'c3' } },
      { atMs: 23_334, kind: 'assign', node, config: 'c3' },
      { atMs: 25_922, kind: 'crash-agent', node, halfSteps: 36 },
      { atMs: 26_468, kind: 'spoil', node, config: 'local.test' },
      { atMs: 26_468, kind: 'reset', node },
    ]),
    nodes: ['node-1', 'node-2', 'node-3', 'node-4'],
    inSet: ['node-2', 'node-3', 'node-4'],
    isDrained: true,
    trialMs: 40_000,
    latencyMs: 80,
    faultsEndMs: 227_915,
  },
  'a reset while the last known good is about to be started once more does not restart the kubelet': {
    ...schedule('i-2897', [
      { atMs: 20_000, kind: 'create', config: first },
      { atMs: 20_000, kind: 'assign', node, config: 'c1' },
      { atMs: 60_000, kind: 'spoil', node, config: 'c1' },
      { atMs: 72_200, kind: 'reset', node },
    ]),
    latencyMs: 80,
  },
  'a reset while a config is validated does not restart the kubelet': {
    ...schedule('z-14', [
      { atMs: 20_000, kind: 'create', config: first },
      { atMs: 20_000, kind: 'assign', node, config: 'c1' },
      { atMs: 20_521, kind: 'spoil', node, config: 'local.test' },
      { atMs: 20_521, kind: 'reset', node },
    ]),
    nodes: ['node-1', 'node-2', 'node-3'],
    inSet: ['node-2', 'node-3'],
    latencyMs: 80,
  },
};

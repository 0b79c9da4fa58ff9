/** How long a rollout takes. */
import { expect, test } from 'vitest';
import type { NodeConfig } from '../api/node-config.js';
import type { NodeConfigSetStatus, WaveStatus } from '../api/node-config-set.js';
import { analysisMs, expectedMs, observedTrialMs, remainingMs, reportedTrialMs } from './estimate.js';

const minutes = (ms: number | undefined) => ms && Math.round(ms / 60_000);
const trialMs = 600_000;

test('5,000 nodes in four waves with trials of 10 minutes take 70 minutes', () => {
  const waves = [1, 249, 1000, 3750].map((nodes, at) => ({ nodes, soakMs: at === 1 ? 600_000 : 0 }));
  expect(minutes(expectedMs(waves, { mostInTrial: 1250, mostUnavailable: 500, trialMs }))).toBe(70);
});

test('where one node may be unavailable, restarts take longer than trials', () => {
  const waves = [{ nodes: 1000, soakMs: 0 }];
  expect(minutes(expectedMs(waves, { mostInTrial: 1000, mostUnavailable: 1, trialMs }))).toBe(93);
});

test('a budget of 0 has no end', () => {
  expect(expectedMs([{ nodes: 1, soakMs: 0 }], { mostInTrial: 0, mostUnavailable: 1, trialMs })).toBeUndefined();
});

const wave = (number: number, nodes: number, more: Partial<WaveStatus>): WaveStatus => ({
  wave: number,
  nodes,
  assigned: 0,
  updated: 0,
  failed: 0,
  state: 'Pending',
  ...more,
});
const startedAt = '2026-03-01T10:00:00Z';
const at = (minute: number) => new Date(Date.parse(startedAt) + minute * 60_000).toISOString();
const status: NodeConfigSetStatus = {
  revisions: [{ revision: 'a', source: 's', startedAt }],
  waves: [
    wave(1, 1, { assigned: 1, updated: 1, state: 'Done', endedAt: at(10) }),
    wave(2, 11, { assigned: 10, updated: 10, state: 'Soaking', endedAt: at(20) }),
    wave(3, 100, {}),
  ],
  unavailable: { allowed: 50, used: 0 },
  inTrial: { allowed: 50, used: 0 },
};

test('the first wave shows how long a trial takes', () => {
  expect(minutes(observedTrialMs(status))).toBe(10);
  expect(observedTrialMs({ ...status, waves: [] })).toBeUndefined();
});

test('what is left is the rest of the soak and the waves to come', () => {
  const nowMs = Date.parse(at(25));
  expect(minutes(remainingMs({ status, soaksMs: [0, 600_000, 0], analysisMs: 0, trialMs, nowMs }))).toBe(25);
});

test('the soak of a wave without nodes, and of the last one, is not waited for', () => {
  const waves = [wave(1, 1, {}), wave(2, 1, {}), wave(3, 8, {})];
  const soaksMs = [0, 600_000, 600_000];
  const left = remainingMs({ status: { ...status, waves }, soaksMs, analysisMs: 0, trialMs, nowMs: 0 });
  expect(minutes(left)).toBe(20);
});

test('the next wave waits for a comparison that is not over before trial and soak; the last wave has none', () => {
  const waves = [wave(1, 1, {}), wave(2, 2, {})];
  const left = (analysisMs: number, soak = 0) =>
    minutes(remainingMs({ status: { ...status, waves }, soaksMs: [soak, 0], analysisMs, trialMs, nowMs: 0 }));
  expect([left(0), left(300_000), left(1_260_000), left(1_260_000, 1_800_000)]).toEqual([20, 20, 31, 50]);
  expect(analysisMs({ window: '20m' })).toBe(1_260_000);
  expect(analysisMs({ onWorse: 'Report' })).toBe(0);
});

test('a wave whose nodes are all assigned still waits for its comparison, also while it soaks', () => {
  const left = (first: Partial<WaveStatus>, more: Partial<NodeConfigSetStatus>, soak: number, minute: number) => {
    const waves = [wave(1, 1, { assigned: 1, ...first }), wave(2, 2, {})];
    const seen = { ...status, waves, inTrialNodes: 0, pendingNodes: 0, ...more };
    const nowMs = Date.parse(at(minute));
    return minutes(remainingMs({ status: seen, soaksMs: [soak, 0], analysisMs: 1_260_000, trialMs, nowMs }));
  };
  expect(left({ state: 'Rolling' }, {}, 0, 1)).toBe(31);
  const soaking = { updated: 1, state: 'Soaking' as const, endedAt: at(10) };
  const after: [string, string] = [at(1), at(21)];
  const analyses = [{ revision: 'a', attempt: 1, wave: 1, state: 'Observing' as const, after }];
  expect(left(soaking, { analyses }, 300_000, 12)).toBe(19);
  expect(left(soaking, { analyses }, 1_800_000, 12)).toBe(38);
});

test('a wave without nodes of its own waits for no comparison', () => {
  const waves = [wave(1, 1, {}), wave(2, 1, {}), wave(3, 2, {})];
  const left = (some: WaveStatus[]) =>
    minutes(
      remainingMs({ status: { ...status, waves: some }, soaksMs: [0, 0, 0], analysisMs: 1_260_000, trialMs, nowMs: 0 }),
    );
  expect(left(waves)).toBe(left([waves[0]!, waves[2]!]));
});

test('a comparison under way counts with the rest of its window', () => {
  const after: [string, string] = [at(11), at(21)];
  const waves = [wave(1, 1, { assigned: 1, updated: 1, state: 'Analyzing', endedAt: at(10) }), wave(2, 2, {})];
  const seen = {
    ...status,
    waves,
    analyses: [{ revision: 'a', attempt: 1, wave: 1, state: 'Observing' as const, after }],
  };
  const nowMs = Date.parse(at(14));
  expect(minutes(remainingMs({ status: seen, soaksMs: [0, 0], analysisMs: 660_000, trialMs, nowMs }))).toBe(17);
});

test('the longest trial that agents report counts, and what cannot be one does not', () => {
  const node = (trialSeconds?: unknown) => ({ status: { trialSeconds } }) as NodeConfig;
  expect(reportedTrialMs([node(20), undefined, node(600), node()])).toBe(600_000);
  expect(reportedTrialMs([node(), node(-5), node('20'), node(1e9)])).toBeUndefined();
});

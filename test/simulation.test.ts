/**
 * Schedules of faults, against the promises of docs/reliability.md: `npm run simulate` runs many more. The real controller and real
 * agents on virtual time; a failure prints its seed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
// @ts-expect-error a script without types
import * as script from '../scripts/mutations.mjs';
import type { Entry } from '../src/lab/faults/history.js';
import { keptSchedules } from '../src/lab/faults/kept-schedules.js';
import { findViolations } from '../src/lab/faults/model/model.js';
import { isFault, makeSchedule } from '../src/lab/faults/schedule.js';
import { describe as describeRun, simulate } from '../src/lab/faults/simulate.js';
import { readManifests } from '../src/rehearsal/manifests.js';
import { eventually } from './eventually.js';
import { Program } from './program.js';
import { temporaryDir } from './temporary-dir.js';
import { setTraps } from './traps.js';

async function runScript(script: string, args: string[]): Promise<{ code: number | null; output: string }> {
  const { status, stdout, stderr } = await new Program(process.execPath, [script, ...args]).ended;
  return { code: status, output: `${stdout}${stderr}` };
}

const deploy = join(import.meta.dirname, '../deploy');
const manifests = ['base', 'guards', 'kube-system', 'drain'].flatMap((part) => readManifests(join(deploy, part)));

describe('schedules of faults', () => {
  // In a process of its own: bundled, schedules take a quarter of the time and a tenth of the memory that they take in a test runner.
  test('no promise is broken by 200 schedules', async () => {
    const script = join(import.meta.dirname, '../scripts/simulate.mjs');
    const { code, output } = await runScript(script, ['--seed=test', '--runs=200']);
    expect(code, output).toBe(0);
    expect(output).toContain('schedules test-1 to test-200: every promise was kept');
    // A busy machine needs more than the limit of other tests for half a minute of work.
  }, 900_000);

  test.each(Object.entries(keptSchedules))('found once: %s', async (_name, schedule) => {
    const result = await simulate(schedule, manifests);
    expect(result.violations.length > 0 ? describeRun(result) : '').toBe('');
  });

  const mutations: { name: string; edits: { file: string; search: string }[] }[] = script.mutations;
  test.each(mutations)('the safety line that $name takes out is there', ({ edits }) => {
    for (const { file, search } of edits) {
      const source = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
      expect(source.split(search).length - 1, `${file}: ${search}`).toBe(1);
    }
  });

  test('a schedule has at least three nodes, a rollout and three faults', () => {
    for (let index = 0; index < 50; index++) {
      const { nodes, inSet, actions } = makeSchedule(`any-${index}`);
      expect(nodes.length).toBeGreaterThanOrEqual(3);
      expect(inSet.length).toBeGreaterThan(1);
      expect(actions.filter(({ kind }) => kind === 'roll-out').length).toBeGreaterThan(0);
      expect(actions.filter(isFault).length).toBeGreaterThanOrEqual(3);
    }
  });

  test('some hosts require signatures, and some of their configs are not signed', () => {
    const schedules = Array.from({ length: 50 }, (_, index) => makeSchedule(`any-${index}`));
    const actions = schedules.flatMap((one) => (one.isSigned ? one.actions : []));
    const configs = actions.flatMap((one) => (one.kind === 'roll-out' ? [one.config] : []));
    expect(new Set(configs.map((one) => one.class))).toContain('foreign');
    expect(configs.some((one) => one.isRenewed)).toBe(true);
    expect(configs.some((one) => one.endsAtMs)).toBe(true);
    expect(actions.some((one) => one.kind === 'join')).toBe(true);
    expect(schedules.some((one) => one.isRetried)).toBe(true);
  });

  test('the waves of some rollouts are analyzed', () => {
    expect(Array.from({ length: 150 }, (_, index) => makeSchedule(`any-${index}`)).some((one) => one.isAnalyzed)).toBe(
      true,
    );
  });

  test('some clients meet a server that is behind, and some processes are stopped for longer than a lease', () => {
    const schedules = Array.from({ length: 60 }, (_, index) => makeSchedule(`any-${index}`));
    const actions = schedules.flatMap((one) => one.actions);
    expect(actions.some((one) => one.kind === 'lagging-server' && one.client === '*')).toBe(true);
    expect(actions.some((one) => one.kind === 'pause-agent' && one.forMs > 60_000)).toBe(true);
    expect(actions.some((one) => one.kind === 'pause-controller' && one.of && one.forMs > 45_000)).toBe(true);
    expect(actions.some((one) => one.kind === 'pause-machine')).toBe(true);
  });

  test('--forever continues at the next seed when it is started again', async () => {
    const state = join(temporaryDir(), 'state.json');
    const args = [join(import.meta.dirname, '../scripts/simulate.mjs'), '--forever', '--seed=test', `--state=${state}`];
    const first = new Program(process.execPath, args);
    onTestFinished(() => first.end());
    const hopeless = () => first.exit && first.output;
    await eventually('a schedule has ended', () => existsSync(state), { hopeless });
    await first.end();
    const { next } = JSON.parse(readFileSync(state, 'utf8'));
    expect(next).toBeGreaterThan(1);
    const again = new Program(process.execPath, args);
    onTestFinished(() => again.end());
    const continues = `continues at seed test-${next}: ${next - 1} schedules`;
    await eventually(continues, () => again.stdout.includes(continues), { seen: () => again.output });
  }, 300_000);

  test('two runs with the same seed give the same history, and nothing is taken from the system', async () => {
    // Its configs are signed. The first run also makes what needs the system once: a key of the API server.
    expect(makeSchedule('same').isSigned).toBe(true);
    const first = await simulate(makeSchedule('same'), manifests);
    const used: string[] = [];
    const clear = setTraps((name) => used.push(name));
    onTestFinished(clear);
    const second = await simulate(makeSchedule('same'), manifests);
    clear();
    expect(used).toEqual([]);
    expect(second.run.history.entries.length).toBeGreaterThan(50);
    expect(second.run.history.hash).toBe(first.run.history.hash);
    const other = await simulate(makeSchedule('another'), manifests);
    expect(other.run.history.hash).not.toBe(first.run.history.hash);
  });
});

describe('the model', () => {
  const node = 'node-1';
  const expired = { name: 's', version: 1, class: 'good', isOverlay: true, endsAtMs: 3000 } as const;
  const base: Entry[] = [
    { atMs: 0, kind: 'agent-up', node },
    { atMs: 0, kind: 'start', node, domain: 'local.test', isWhole: true },
    { atMs: 10, kind: 'config', config: 'c1', resourceVersion: '7', domain: 'c1-1.good.test' },
    { atMs: 11, kind: 'spec', node, config: 'c1' },
    { atMs: 12, kind: 'read', node, config: 'c1', status: 200 },
  ];
  const status = { assigned: 'c1@7', active: 'c1@7', lastKnownGood: 'c1@7', error: '', ok: 'True ConfigActive' };
  const good: Entry[] = [
    { atMs: 20, kind: 'exit', node, isRequested: true, how: '0' },
    { atMs: 20, kind: 'start', node, domain: 'c1-1.good.test', isWhole: true },
    { atMs: 30, kind: 'status', node, status, isCurrent: true },
  ];
  const broken = (...entries: Entry[]) => {
    const schedule = { ...makeSchedule('model'), nodes: [node], inSet: [], actions: [] };
    const history = { entries: [...base, ...entries], hash: '' } as never;
    return findViolations({ schedule, history, leaks: [] }).map(({ promise }) => promise);
  };

  test('accepts a node that follows a good config', () => {
    expect(broken(...good)).toEqual([]);
  });

  test.each<[string, number, Entry[]]>([
    [
      'a start with an invalid config',
      1,
      [...good, { atMs: 40, kind: 'start', node, domain: 'c1-2.invalid.test', isWhole: true }],
    ],
    [
      'a restart with the same config',
      1,
      [
        ...good,
        { atMs: 40, kind: 'exit', node, isRequested: true, how: '0' },
        { atMs: 40, kind: 'start', node, domain: 'c1-1.good.test', isWhole: true },
      ],
    ],
    [
      'a config that is not rolled back',
      2,
      [
        { atMs: 20, kind: 'start', node, domain: 'c1-1.crashing.test', isWhole: true },
        { atMs: 100_000, kind: 'heal' },
      ],
    ],
    [
      'a start with a config that nobody signed',
      9,
      [...good, { atMs: 40, kind: 'start', node, domain: 'c1-2.foreign.test', isWhole: true }],
    ],
    [
      'a start with a config whose statement had expired when the node got it',
      9,
      [
        { atMs: 1, kind: 'action', action: { atMs: 1, kind: 'roll-out', config: expired, onFailure: 'Halt' } },
        { atMs: 1, kind: 'config', config: 's-abc', resourceVersion: '8', domain: 's-1.good.test' },
        { atMs: 5000, kind: 'spec', node, config: 's-abc' },
        { atMs: 5001, kind: 'read', node, config: 's-abc', status: 200 },
        { atMs: 5002, kind: 'start', node, domain: 's-1.good.test', isWhole: true },
      ],
    ],
    ['half a config', 3, [{ atMs: 20, kind: 'start', node, domain: 'c1-1.good.test', isWhole: false }]],
    [
      'an agent that starts no kubelet',
      3,
      [
        ...good,
        { atMs: 40, kind: 'agent-down', node },
        { atMs: 50, kind: 'agent-up', node },
        { atMs: 20_000, kind: 'heal' },
      ],
    ],
    [
      'a boot with less than was acknowledged',
      4,
      [
        ...good,
        { atMs: 40, kind: 'agent-down', node },
        { atMs: 50, kind: 'agent-up', node },
        { atMs: 51, kind: 'start', node, domain: 'local.test', isWhole: true },
      ],
    ],
    ['a read of a config of others', 5, [...good, { atMs: 40, kind: 'read', node, config: 'c2', status: 200 }]],
    [
      'an error without event and log line',
      7,
      [
        ...good,
        {
          atMs: 40,
          kind: 'status',
          node,
          status: { ...status, active: 'local', error: 'e', ok: 'False X' },
          isCurrent: true,
        },
      ],
    ],
  ])('finds %s', (_name, promise, entries) => {
    expect(broken(...entries)).toContain(promise);
  });
});

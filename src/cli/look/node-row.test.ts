/** The fleet as `relet get` shows it, on a terminal of 80 columns and in a pipe. */

import { describe, expect, test } from 'vitest';
import { configuredNode } from '../../../test/configured-node.js';
import type { NodeConfigSource } from '../../api/config-ref.js';
import { parseRef } from '../../api/config-ref.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { stateText } from '../../fleet/state-text.js';
import { tableLines } from '../terminal/output.js';
import { createPaint } from '../terminal/terminal.js';
import { nodeObject, nodeRow, paintState, rowColumns } from './node-row.js';

const now = Date.parse('2026-03-01T12:00:00Z');
const source = (name: string): NodeConfigSource => ({
  configMap: { namespace: 'kube-system', name, kubeletConfigKey: 'kubelet', uid: `uid-${name}`, resourceVersion: '7' },
});
const condition = { status: 'True', reason: '', message: '', since: '2026-02-27T12:00:00Z' };
const node: typeof configuredNode = (name, change) => configuredNode(name, { condition, ...change });
const [a, b] = [source('kubelet-config-5t8b9kd2m4'), source('kubelet-config-t8gb2h7c9d')];

const fleet = [
  node('node-1', {}),
  node('node-2', { configSource: a!, status: { assigned: a!, active: a!, lastKnownGood: a! } }),
  node('node-3', {
    configSource: a!,
    status: { assigned: a!, active: a!, lastKnownGood: b! },
    trialEndsAt: '2026-03-01T12:04:12Z',
  }),
  node('node-4', {
    configSource: a!,
    status: {
      assigned: a!,
      active: b!,
      lastKnownGood: b!,
      error: 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details',
    },
  }),
  node('node-5', { configSource: a!, status: {} }),
];
const rows = (options = {}) => fleet.map((one) => nodeRow(one, { nowMs: now }, options));

describe('the fleet', () => {
  test('on a terminal of 80 columns', () => {
    expect(tableLines(rowColumns(), rows({ short: true }), 80).join('\n')).toMatchInlineSnapshot(`
      "NODE     STATE         ASSIGNED       ACTIVE         AGE   ERROR
      node-1   local         local          local          2d    <none>
      node-2   active        …-5t8b9kd2m4   …-5t8b9kd2m4   2d    <none>
      node-3   trial 4m12s   …-5t8b9kd2m4   …-5t8b9kd2m4   2d    <none>
      node-4   rolled back   …-5t8b9kd2m4   …-t8gb2h7c9d   2d    CrashLoop
      node-5   waiting       …-5t8b9kd2m4   local          2d    <none>"
    `);
    for (const line of tableLines(rowColumns(), rows(), 80)) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('an error that does not fit is cut where nothing is known to say it in one word', () => {
    const status = { error: 'rolled back in the words of another version, see Kubelet log for details' };
    const older = nodeRow(
      node('node-4', { configSource: a!, status: { assigned: a!, ...status } }),
      { nowMs: now },
      {
        short: true,
      },
    );
    expect(tableLines(rowColumns(), [older], 70)[1]).toMatch(/ {3}rolled back .*…$/);
  });

  test('in a pipe, whole', () => {
    expect(tableLines(rowColumns(), rows(), undefined).join('\n')).toMatchInlineSnapshot(`
      "NODE     STATE              ASSIGNED                    ACTIVE                      LAST-KNOWN-GOOD             AGE   ERROR
      node-1   local              local                       local                       local                       2d    <none>
      node-2   active             kubelet-config-5t8b9kd2m4   kubelet-config-5t8b9kd2m4   kubelet-config-5t8b9kd2m4   2d    <none>
      node-3   trial 4m12s left   kubelet-config-5t8b9kd2m4   kubelet-config-5t8b9kd2m4   kubelet-config-t8gb2h7c9d   2d    <none>
      node-4   rolled back        kubelet-config-5t8b9kd2m4   kubelet-config-t8gb2h7c9d   kubelet-config-t8gb2h7c9d   2d    the kubelet kept crashing with the assigned config
      node-5   waiting            kubelet-config-5t8b9kd2m4   local                       local                       2d    <none>"
    `);
  });

  test('wide, with labels', () => {
    const lines = tableLines(
      rowColumns({ wide: true, labels: true }),
      rows({ wide: true, labels: true }).slice(0, 2),
      undefined,
    );
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "NODE     STATE    ASSIGNED                                        ACTIVE                                          LAST-KNOWN-GOOD                                 READY   VERSION   AGE   ERROR    LABELS
      node-1   local    local                                           local                                           local                                           True    v1.32.1   2d    <none>   pool=blue
      node-2   active   kube-system/kubelet-config-5t8b9kd2m4/kubelet   kube-system/kubelet-config-5t8b9kd2m4/kubelet   kube-system/kubelet-config-5t8b9kd2m4/kubelet   True    v1.32.1   2d    <none>   pool=blue"
    `);
  });
});

describe('the set of a node', () => {
  const claim = { set: 'gpu-workers', revision: 'r', wave: 1, at: '', previous: undefined };
  const member = node('node-2', {
    configSource: a!,
    status: { assigned: a!, active: a!, lastKnownGood: a! },
    claim: { ...claim, source: parseRef('kube-system/kubelet-config-5t8b9kd2m4/kubelet') },
  });
  const taken = { ...fleet[3]!, claim: { ...claim, source: parseRef('kube-system/other/kubelet') } };
  const released = { ...member, name: 'node-6', claim: { ...member.claim!, released: true as const } };

  test('has a column, and all columns fit 80', () => {
    const shown = [member, taken, released].map((one) => nodeRow(one, { nowMs: now }, { short: true }));
    expect(tableLines(rowColumns({ sets: true }), shown, 80).join('\n')).toMatchInlineSnapshot(`
      "NODE     STATE         SET         ASSIGNED       ACTIVE         AGE   ERROR
      node-2   active        gpu-work…   …-5t8b9kd2m4   …-5t8b9kd2m4   2d    <none>
      node-4   rolled back   (gpu-wor…   …-5t8b9kd2m4   …-t8gb2h7c9d   2d    CrashLoop
      node-6   active        <none>      …-5t8b9kd2m4   …-5t8b9kd2m4   2d    <none>"
    `);
    for (const line of tableLines(rowColumns({ sets: true }), shown, 80)) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('is in the object, with a mark where the node was taken', () => {
    expect(nodeObject(member, { nowMs: now }).status.set).toBe('gpu-workers');
    expect(nodeObject(taken, { nowMs: now }).status).toMatchObject({ set: 'gpu-workers', takenFromSet: true });
    expect(nodeObject(released, { nowMs: now }).status).not.toHaveProperty('set');
  });
});

describe('the state in words', () => {
  test('shows how long a trial still takes, where the node reports it', () => {
    expect(stateText(fleet[2]!, { nowMs: now })).toBe('trial 4m12s left');
    expect(stateText({ ...fleet[2]!, trialEndsAt: undefined }, { nowMs: now })).toBe('trial');
    expect(stateText({ ...fleet[2]!, trialEndsAt: '2026-03-01T11:59:00Z' }, { nowMs: now })).toBe('trial ending');
    expect(stateText({ ...fleet[1]!, trialEndsAt: '2026-03-01T12:04:12Z' }, { nowMs: now })).toBe('active');
  });

  test('as an object has the end of the trial as a time', () => {
    expect(nodeObject(fleet[2]!, { nowMs: now }).status).toMatchObject({
      state: 'trial',
      trialEndsAt: '2026-03-01T12:04:12Z',
    });
    expect(nodeObject(fleet[0]!, { nowMs: now })).toMatchObject({ spec: {}, status: { state: 'local' } });
  });
});

describe('a node whose agent is not there', () => {
  const renewed = (minutesAgo: number) => ({
    renewTime: new Date(now - minutesAgo * 60_000).toISOString(),
    durationSeconds: 600,
  });
  const shown = (change: Partial<ConfiguredNode>, known = {}) => {
    const { state, active, lastKnownGood } = nodeRow({ ...fleet[1]!, ...change }, { nowMs: now, ...known });
    return [state, active === lastKnownGood ? active : [active, lastKnownGood]];
  };

  test.each<[string, Partial<ConfiguredNode>, string, string]>([
    ['never reported', { reports: false, status: {} }, 'no agent', 'unknown'],
    ['never reported, and is held', { reports: false, hold: { why: '', on: ['NodeConfig'] } }, 'no agent', 'unknown'],
    ['reports, and renewed 9 minutes ago', { lease: renewed(9) }, 'active', 'kubelet-config-5t8b9kd2m4'],
    ['renewed 11 minutes ago', { lease: renewed(11) }, 'silent 11m', 'unknown'],
    [
      'renewed in time, and is missed by the controller',
      { lease: renewed(4), missing: 'Silent' },
      'silent 4m',
      'unknown',
    ],
    ['is of an earlier relet, without a lease', { lease: undefined }, 'active', 'kubelet-config-5t8b9kd2m4'],
  ])('%s', (_name, change, state, configs) => {
    expect(shown(change)).toEqual([state, configs]);
  });

  test('a node that nobody has assigned a config is assigned what it reports, and without an agent that is unknown', () => {
    const assigned = (change: Partial<ConfiguredNode>) =>
      nodeRow({ ...fleet[1]!, configSource: undefined, ...change }, { nowMs: now }).assigned;
    expect(assigned({ unset: true })).toBe('kubelet-config-5t8b9kd2m4');
    expect(assigned({ unset: true, reports: false, status: {} })).toBe('unknown');
    expect(assigned({ reports: false, status: {} })).toBe('local');
  });

  test('is the same in the object for programs', () => {
    const of = (change: Partial<ConfiguredNode>) => nodeObject({ ...fleet[1]!, ...change }, { nowMs: now }).status;
    expect(of({ reports: false, status: {} })).toMatchObject({ state: 'no agent', agent: 'NoAgent' });
    expect(of({ lease: renewed(11) })).toMatchObject({ state: 'silent', agent: 'Silent' });
    expect(of({})).toMatchObject({ state: 'active', agent: 'Present' });
  });

  test('a node that its set wants to have another revision is outdated, one on trial is not', () => {
    expect(shown({}, { isOutdated: () => true })[0]).toBe('outdated');
    expect(nodeRow(fleet[2]!, { nowMs: now, isOutdated: () => true }).state).toBe('trial 4m12s left');
  });

  test('no such state is green', () => {
    const paint = { ...createPaint(false), green: () => 'green' };
    expect(['no agent', 'silent 4m', 'outdated'].map((text) => paintState(text, paint))).not.toContain('green');
  });
});

describe('the age', () => {
  const ageOf = (one: Parameters<typeof nodeRow>[0]) => nodeRow(one, { nowMs: now }).age;
  const history = (to: string) =>
    JSON.stringify([{ at: '2026-03-01T11:00:00Z', by: 'ann', verb: 'set', from: 'local', to }]);

  test('is that of the config, not of the Node', () => {
    expect(
      ageOf(node('n', { configSource: a!, history: history('kube-system/kubelet-config-5t8b9kd2m4/kubelet') })),
    ).toBe('60m');
    expect(ageOf(node('n', { history: history('local') }))).toBe('60m');
  });

  test('of a config that nobody ever changed is that of the Node', () => {
    expect(ageOf(node('n'))).toBe('2d');
  });

  test('of a change made without relet is what the node reports, else unknown', () => {
    expect(ageOf(node('n', { configSource: b!, history: history('local') }))).toBe('2d');
    expect(ageOf(node('n', { configSource: b!, condition: undefined }))).toBe('<unknown>');
  });
});

describe('rows that arrive one by one', () => {
  test('stand below each other, and within 80 columns', () => {
    const widths = new Map<string, number>();
    const lines = fleet.flatMap((one, at) =>
      tableLines(rowColumns(), [nodeRow(one, { nowMs: now }, { short: true })], 80, { headers: at === 0, widths }),
    );
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "NODE     STATE          ASSIGNED       ACTIVE         AGE     ERROR
      node-1   local          local          local          2d      <none>
      node-2   active         …-5t8b9kd2m4   …-5t8b9kd2m4   2d      <none>
      node-3   trial 4m12s    …-5t8b9kd2m4   …-5t8b9kd2m4   2d      <none>
      node-4   rolled back    …-5t8b9kd2m4   …-t8gb2h7c9d   2d      CrashLoop
      node-5   waiting        …-5t8b9kd2m4   local          2d      <none>"
    `);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    const title = lines[0]!.indexOf('ACTIVE');
    for (const line of lines) expect(line.slice(title - 3, title), line).toBe('   ');
  });
});

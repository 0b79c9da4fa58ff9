/** The fleet as `relet get` shows it, on a terminal of 80 columns and in a pipe. */
import { describe, expect, test } from 'vitest';
import { configuredNode as node } from '../../../test/configured-node.js';
import type { NodeConfigSource } from '../../api/node-config-source.js';
import { tableLines } from '../table.js';
import { nodeObject, nodeRow, rowColumns, stateText } from './node-row.js';

const now = Date.parse('2026-03-01T12:00:00Z');
const source = (name: string): NodeConfigSource => ({
  configMap: { namespace: 'kube-system', name, kubeletConfigKey: 'kubelet', uid: `uid-${name}`, resourceVersion: '7' },
});
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
      error: 'rolled back a config under which the kubelet kept dying, see Kubelet log for details',
    },
  }),
  node('node-5', { configSource: a!, status: {} }),
];
const rows = (options = {}) => fleet.map((one) => nodeRow(one, now, options));

describe('the fleet', () => {
  test('on a terminal of 80 columns', () => {
    expect(tableLines(rowColumns(), rows(), 80).join('\n')).toMatchInlineSnapshot(`
      "NODE     STATE              ASSIGNED    ACTIVE      LAST-KNO…   AGE   ERROR
      node-1   local              local       local       local       2d    <none>
      node-2   active             kub…kd2m4   kub…kd2m4   kub…kd2m4   2d    <none>
      node-3   trial 4m12s left   kub…kd2m4   kub…kd2m4   kub…h7c9d   2d    <none>
      node-4   rolled back        kub…kd2m4   kub…h7c9d   kub…h7c9d   2d    rolled ba…
      node-5   waiting            kub…kd2m4   local       local       2d    <none>"
    `);
    for (const line of tableLines(rowColumns(), rows(), 80)) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('in a pipe, whole', () => {
    expect(tableLines(rowColumns(), rows(), undefined).join('\n')).toMatchInlineSnapshot(`
      "NODE     STATE              ASSIGNED                    ACTIVE                      LAST-KNOWN-GOOD             AGE   ERROR
      node-1   local              local                       local                       local                       2d    <none>
      node-2   active             kubelet-config-5t8b9kd2m4   kubelet-config-5t8b9kd2m4   kubelet-config-5t8b9kd2m4   2d    <none>
      node-3   trial 4m12s left   kubelet-config-5t8b9kd2m4   kubelet-config-5t8b9kd2m4   kubelet-config-t8gb2h7c9d   2d    <none>
      node-4   rolled back        kubelet-config-5t8b9kd2m4   kubelet-config-t8gb2h7c9d   kubelet-config-t8gb2h7c9d   2d    rolled back a config under which the kubelet kept dying
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

describe('the state in words', () => {
  test('says how long a trial still takes, where the node tells', () => {
    expect(stateText(fleet[2]!, now)).toBe('trial 4m12s left');
    expect(stateText({ ...fleet[2]!, trialEndsAt: undefined }, now)).toBe('trial');
    expect(stateText({ ...fleet[2]!, trialEndsAt: '2026-03-01T11:59:00Z' }, now)).toBe('trial ending');
    expect(stateText({ ...fleet[1]!, trialEndsAt: '2026-03-01T12:04:12Z' }, now)).toBe('active');
  });

  test('as an object has the end of the trial as a time', () => {
    expect(nodeObject(fleet[2]!).status).toMatchObject({ state: 'trial', trialEndsAt: '2026-03-01T12:04:12Z' });
    expect(nodeObject(fleet[0]!)).toMatchObject({ spec: {}, status: { state: 'local' } });
  });
});

/** The step to take for one node: create its NodeConfig, update its conditions, or nothing. */
import { describe, expect, test } from 'vitest';
import type { NodeConfig } from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import type { GrantFacts } from './grant-plan.js';
import { type ObservedNode, planNode } from './node-configs.js';

const node = (spec: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'a', uid: 'u' },
  spec,
});
const facts: GrantFacts = {
  namespaces: ['relet-system'],
  isLabelled: () => true,
  isGranted: (_, node) => node === 'a',
  nodeAbsentMs: () => undefined,
};
const observed = (seen: Partial<ObservedNode>): ObservedNode => ({
  node: node(),
  object: undefined,
  facts,
  guards: { inForce: 'roles', problems: [] },
  now: '2026-01-01T00:00:00Z',
  ...seen,
});
const configMap = { namespace: 'relet-system', name: 'one', kubeletConfigKey: 'kubelet' };
const assigned: NodeConfig = {
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfig',
  metadata: { name: 'a' },
  spec: { configSource: { configMap } },
};

describe('reconciling a node', () => {
  test('a Node without a NodeConfig gets one that it owns and that is unset', () => {
    expect(planNode(observed({}))).toMatchObject({
      kind: 'create',
      object: {
        metadata: {
          name: 'a',
          ownerReferences: [{ kind: 'Node', name: 'a', uid: 'u' }],
          annotations: { 'relet.dev/unset': 'true', 'relet.dev/undecided': 'true' },
        },
        spec: {},
      },
    });
  });

  test('the configSource of a Node is carried over, without its uid and version', () => {
    const plan = planNode(observed({ node: node({ configSource: { configMap: { ...configMap, uid: 'x' } } }) }));
    expect(plan.kind === 'create' && plan.object.spec).toEqual({ configSource: { configMap } });
    expect(plan.kind === 'create' && plan.object.metadata.annotations).toBeUndefined();
  });

  test('a NodeConfig without a Node gets conditions; without both there is nothing to do', () => {
    expect(planNode(observed({ node: undefined, object: assigned })).kind).toBe('update-status');
    expect(planNode(observed({ node: undefined }))).toEqual({ kind: 'none' });
  });

  test('conditions are written once, and again when guards change', () => {
    const plan = planNode(observed({ object: assigned }));
    const object = plan.kind === 'update-status' ? plan.object : undefined;
    expect(object?.status?.conditions?.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['Granted', 'True', 'RoleBinding'],
      ['Guarded', 'True', 'PerNodeRoles'],
    ]);
    const later = { object, now: '2026-01-01T01:00:00Z' };
    expect(planNode(observed(later))).toEqual({ kind: 'none' });
    expect(planNode(observed({ ...later, guards: { inForce: 'nothing', problems: ['p'] } })).kind).toBe(
      'update-status',
    );
  });

  test('before the guards were checked nothing is reported about them', () => {
    const plan = planNode(observed({ object: assigned, guards: undefined }));
    expect(plan.kind === 'update-status' && plan.object.status?.conditions?.map(({ type }) => type)).toEqual([
      'Granted',
    ]);
  });
});

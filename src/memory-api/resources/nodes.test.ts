/** Nodes: Dynamic Kubelet Configuration with the gate on and off (N4), validation of sources, and columns. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../api/object.js';
import { fieldErrorText } from '../field-error.js';
import { configSourceWarning } from './node-config.js';
import { nodes } from './nodes.js';

const gateOff = nodes({ dynamicKubeletConfig: false });
const gateOn = nodes({ dynamicKubeletConfig: true });
const source = { configMap: { namespace: 'kube-system', name: 'kc', kubeletConfigKey: 'kubelet' } };
const reported = { configMap: { ...source.configMap, uid: 'u', resourceVersion: '1' } };

function node({ spec = false, status = false } = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    spec: spec ? { configSource: structuredClone(source) } : {},
    status: status ? { config: { assigned: structuredClone(reported) } } : {},
  };
}

const has = (object: KubeObject) => ({
  spec: (object.spec as Record<string, unknown>).configSource !== undefined,
  status: (object.status as Record<string, unknown>).config !== undefined,
});

describe('N4: the gate DynamicKubeletConfig', () => {
  test.each([
    ['off: a Node created without the fields stays without', gateOff, {}, { spec: false, status: false }],
    ['off: a Node created with spec.configSource loses it', gateOff, { spec: true }, { spec: false, status: false }],
    ['off: a Node created with both loses both', gateOff, { spec: true, status: true }, { spec: false, status: false }],
    ['on: a Node created with both keeps both', gateOn, { spec: true, status: true }, { spec: true, status: true }],
  ])('%s', (_name, resource, given, kept) => {
    const object = node(given);
    resource.strategy.prepareForCreate(object);
    expect(has(object)).toEqual(kept);
  });

  test.each([
    [
      'off: an update is dropped where the old Node has none',
      gateOff,
      {},
      { spec: true },
      { spec: false, status: false },
    ],
    [
      'off: an update is kept where both are in use',
      gateOff,
      { spec: true, status: true },
      { spec: true },
      { spec: true, status: true },
    ],
    [
      'off: spec is dropped where only status is in use',
      gateOff,
      { status: true },
      { spec: true },
      { spec: false, status: true },
    ],
    ['on: an update is kept', gateOn, {}, { spec: true }, { spec: true, status: false }],
  ])('%s', (_name, resource, before, given, kept) => {
    const object = node(given);
    resource.strategy.prepareForUpdate(object, node(before), '');
    expect(has(object)).toEqual(kept);
  });

  test.each([
    ['off: status.config is dropped where the old Node has none', gateOff, {}, false],
    ['off: status.config is kept where it is in use', gateOff, { status: true }, true],
    ['on: status.config is kept', gateOn, {}, true],
  ])('%s', (_name, resource, before, isKept) => {
    const object = node({ status: true });
    resource.strategy.prepareForUpdate(object, node(before), 'status');
    expect(has(object).status).toBe(isKept);
  });

  test.each([
    ['a warning comes with spec.configSource', { spec: true }, [configSourceWarning]],
    ['a warning comes with both', { spec: true, status: true }, [configSourceWarning]],
    ['no warning comes with status.config alone', { status: true }, []],
    ['no warning comes with neither', {}, []],
  ])('%s', (_name, given, warnings) => {
    expect(gateOn.strategy.warnings(node(given), '')).toEqual(warnings);
    expect(gateOn.strategy.warnings(node(given), 'status')).toEqual([]);
  });
});

describe('sources on an update', () => {
  const complaints = (configSource: unknown) =>
    gateOn.strategy.validateUpdate({ ...node(), spec: { configSource } }, node(), '').map(fieldErrorText);

  test('a valid source is accepted, and so is any DKC alpha reference', () => {
    expect(complaints(source)).toEqual([]);
    expect(complaints({ configMapRef: { name: 'x', namespace: '', uid: '' } })).toEqual([]);
  });

  test.each([
    [{ uid: 'u' }, 'uid: Forbidden: uid must not be set in spec'],
    [{ resourceVersion: '1' }, 'resourceVersion: Forbidden: resourceVersion must not be set in spec'],
    [{ namespace: '' }, 'namespace: Required value: namespace must be set'],
    [{ name: '' }, 'name: Required value: name must be set'],
    [{ kubeletConfigKey: '' }, 'kubeletConfigKey: Required value: kubeletConfigKey must be set'],
    [{ kubeletConfigKey: '..' }, `kubeletConfigKey: Invalid value: "..": must not be '..'`],
  ])('%j is rejected', (change, message) => {
    expect(complaints({ configMap: { ...source.configMap, ...change } })).toEqual([
      `spec.configSource.configMap.${message}`,
    ]);
  });

  test('a source without a reference is rejected', () => {
    expect(complaints({})).toEqual([
      'spec.configSource: Invalid value: core.NodeConfigSource{ConfigMap:(*core.ConfigMapNodeConfigSource)(nil)}: exactly one reference subfield must be non-nil',
    ]);
  });

  test('X12: a Node may be created with an invalid source', () => {
    expect(gateOn.strategy.validateCreate({ ...node(), spec: { configSource: {} } })).toEqual([]);
  });

  test('in status uid and resourceVersion are required', () => {
    const object = { ...node(), status: { config: { active: source } } };
    expect(gateOn.strategy.validateUpdate(object, node(), 'status').map(fieldErrorText)).toEqual([
      'status.config.active.configMap.uid: Required value: uid must be set in status',
      'status.config.active.configMap.resourceVersion: Required value: resourceVersion must be set in status',
    ]);
  });
});

test('a Node shows its readiness, roles and versions in columns', () => {
  const object = gateOn.decode(
    {
      metadata: {
        name: 'n',
        labels: { 'node-role.kubernetes.io/control-plane': '' },
        creationTimestamp: '2024-01-01T00:00:00Z',
      },
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        addresses: [{ type: 'InternalIP', address: '10.1.2.3' }],
        nodeInfo: { kubeletVersion: 'v1.32.1' },
      },
    },
    'json',
  ).object;
  const now = new Date('2024-01-01T00:03:20Z');
  expect(gateOn.columns.map((column) => column.cell(object, now))).toEqual([
    'n',
    'Ready,SchedulingDisabled',
    'control-plane',
    '3m20s',
    'v1.32.1',
    '10.1.2.3',
    '<none>',
    '<unknown>',
    '<unknown>',
    '<unknown>',
  ]);
});

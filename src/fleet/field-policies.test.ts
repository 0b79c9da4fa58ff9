/** Which policies of the cluster a config breaks, and on which nodes. */
import { describe, expect, test } from 'vitest';
import { type PolicedNode, policyRejections, rejectionText } from './field-policies.js';

const policy = (name: string, fields: object) => ({
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'FieldPolicy',
  metadata: { name },
  ...fields,
});
const node = (name: string, pool: string, maxPods?: number): PolicedNode => ({
  name,
  labels: { pool },
  minor: 32,
  localFiles: [
    {
      path: '/local',
      text: `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${maxPods === undefined ? '' : `maxPods: ${maxPods}\n`}`,
    },
  ],
  flags: undefined,
});
const overlay = (config: object) =>
  JSON.stringify({ apiVersion: 'relet.dev/v1alpha1', kind: 'KubeletConfigurationOverlay', config });
const nodes = [node('gpu-1', 'gpu'), node('gpu-2', 'gpu'), node('web-1', 'web')];
const texts = (objects: object[], text: string, about = nodes) =>
  policyRejections(objects as never, text, about).map(rejectionText);

describe('policies of the cluster', () => {
  const limit = { bounds: { maxPods: { max: 250 } } };

  test('a policy without a selector is for all nodes', () => {
    expect(texts([policy('limit', limit)], overlay({ maxPods: 400 }))).toEqual([
      "FieldPolicy limit: maxPods is 400, above the field policy's maximum 250 (gpu-1, gpu-2, web-1)",
    ]);
  });

  test('a policy with a selector is for the nodes that it selects', () => {
    const gpu = policy('gpu', { ...limit, selector: { matchLabels: { pool: 'gpu' } } });
    const other = policy('db', {
      ...limit,
      selector: { matchExpressions: [{ key: 'pool', operator: 'In', values: ['db'] }] },
    });
    expect(texts([gpu, other], overlay({ maxPods: 400 }))).toEqual([
      "FieldPolicy gpu: maxPods is 400, above the field policy's maximum 250 (gpu-1, gpu-2)",
    ]);
    expect(texts([gpu], overlay({ maxPods: 400 }), [nodes[2]!])).toEqual([]);
  });

  test('each node is compared with its own local config', () => {
    const mixed = [node('a', 'x', 300), node('b', 'x', 100)];
    expect(texts([policy('limit', limit)], overlay({ podPidsLimit: 100 }), mixed)).toEqual([
      "FieldPolicy limit: maxPods is 300, above the field policy's maximum 250 (a)",
    ]);
  });

  test('only a few nodes are named', () => {
    const many = Array.from({ length: 10 }, (_, at) => node(`n${at}`, 'x'));
    expect(texts([policy('limit', limit)], overlay({ maxPods: 400 }), many)[0]).toMatch(/\(n0, n1, n2 and 7 more\)$/);
  });

  test('a policy that cannot be read allows nothing', () => {
    expect(texts([policy('typo', { deny: ['maxPodz'] })], overlay({ podPidsLimit: 100 }))).toEqual([
      expect.stringMatching(/^FieldPolicy typo: it cannot be used: deny\[0\]: "maxPodz" is not a field/),
    ]);
    expect(texts([policy('typo', { selector: { matchLabel: {} } })], overlay({}))).toEqual([
      expect.stringContaining('selector: must be {matchLabels, matchExpressions}'),
    ]);
  });
});

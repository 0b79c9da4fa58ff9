/** Which NodeConfigs assign nothing. */
import { expect, test } from 'vitest';
import { isUnset, type NodeConfig, unsetAnnotations } from './node-config.js';

const nodeConfig = (
  annotations: Record<string, string>,
  rest: { generation?: number; spec?: NodeConfig['spec'] } = {},
) =>
  ({
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfig',
    metadata: { name: 'node-1', annotations, generation: rest.generation ?? 1 },
    spec: rest.spec ?? {},
  }) satisfies NodeConfig;
const configSource = { configMap: { namespace: 'n', name: 'c', kubeletConfigKey: 'k' } };

test.each([
  ['as the controller makes it, is unset', nodeConfig(unsetAnnotations('true')), true],
  ['as a controller before 0.1.0 made it, is unset', nodeConfig({ 'relet.dev/undecided': 'true' }), true],
  ['without an annotation, assigns the local config', nodeConfig({}), false],
  ['with a reference, assigns it', nodeConfig(unsetAnnotations('true'), { spec: { configSource } }), false],
  ['whose spec was written, assigns the local config', nodeConfig(unsetAnnotations('true'), { generation: 2 }), false],
])('a NodeConfig %s', (_name, object, expected) => expect(isUnset(object)).toBe(expected));

test('an agent from before 0.1.0 finds the annotation that it knows', () => {
  expect(unsetAnnotations('true')).toMatchObject({ 'relet.dev/undecided': 'true' });
});

/**
 * Specs for a walk: NodeConfigSets, NodeConfigs and FieldPolicies from the schemas of deploy/, valid and invalid.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { parse } from 'yaml';
import { fieldPolicies } from '../src/api/field-policy.js';
import { configLabel, configNamespace, nodeConfigs } from '../src/api/node-config.js';
import { nodeConfigSets } from '../src/api/node-config-set.js';
import { ApiError } from '../src/api/status.js';
import type { KubeClient } from '../src/kube/client.js';
import { configMaps, type ResourceType } from '../src/kube/resource-type.js';
import { domainOf, textOf } from '../src/lab/faults/configs.js';
import { anyOf, type Known, type Schema, withAnother } from './any-spec.js';

type Kind = 'NodeConfigSet' | 'NodeConfig' | 'FieldPolicy';

/** Applied, and then so much time passes. */
export interface Step {
  kind: Kind;
  fields: unknown;
  thenMs: number;
}

const types: Record<Kind, ResourceType> = {
  NodeConfigSet: nodeConfigSets,
  NodeConfig: nodeConfigs,
  FieldPolicy: fieldPolicies,
};
const classes = ['good', 'invalid', 'crashing', 'unhealthy'] as const;
const configs = ['a', 'b'].flatMap((name) =>
  classes.map((one) => ({ name, version: 1, class: one, isOverlay: name === 'b' })),
);

/** The part of an object that people write: all of a FieldPolicy, the spec of the others. */
function readSchema(kind: Kind): Schema {
  const text = readFileSync(`deploy/base/${types[kind].resource}.relet.dev.yaml`, 'utf8');
  const schema: Schema = parse(text).spec.versions[0].schema.openAPIV3Schema;
  const { apiVersion: _, kind: __, metadata: ___, ...rest } = schema.properties!;
  return kind === 'FieldPolicy' ? { type: 'object', properties: rest } : rest.spec!;
}

const schemas: Record<Kind, Schema> = {
  NodeConfigSet: readSchema('NodeConfigSet'),
  NodeConfig: readSchema('NodeConfig'),
  FieldPolicy: readSchema('FieldPolicy'),
};

const { constant, constantFrom, oneof } = fc;
const few = oneof(constantFrom<unknown>(1, 2, '50%', '100%'), constant(undefined));
const pool = constant({ matchLabels: { pool: 'set' } });
const overlays = configs.map((config) => ({
  overlay: { clusterDomain: domainOf(config), ...(config.class === 'invalid' && { maxPods: -1 }) },
}));
const fieldNames = constantFrom('clusterDomain', 'maxPods', 'evictionHard', 'evictionHard[memory.available]');
const mapOf = (name: string) => ({ namespace: configNamespace, name, kubeletConfigKey: 'kubelet' });
const sourceOf = (...some: string[]) => constantFrom(...some.map((name) => ({ configMap: mapOf(name) })));

/** Values that matter, and sometimes others that the schema accepts. */
function knownOf(kind: Kind): Known {
  const mostly = (usual: fc.Arbitrary<unknown>, schema: Schema) =>
    oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: anyOf(schema, () => undefined) });
  const schema = schemas[kind];
  const at = (path: string): Schema =>
    path.split('.').reduce<Schema>((one, name) => {
      const child = one.properties![name.replace('[]', '')]!;
      return name.endsWith('[]') ? child.items! : child;
    }, schema);
  const usual: Record<Kind, Record<string, fc.Arbitrary<unknown>>> = {
    NodeConfigSet: {
      selector: pool,
      config: constantFrom(...overlays),
      'strategy.waves[].nodes': constantFrom<unknown>(0, 1, 2, '50%', '100%'),
      'strategy.waves[].soak': constantFrom('0s', '30s', '2m'),
      'strategy.maxUnavailable': few,
      'strategy.maxInTrial': few,
      'strategy.progressDeadline': constantFrom('2m', '15m'),
      'strategy.drain': constant(undefined),
      'strategy.windows': constant(undefined),
      'strategy.analysis': constant(undefined),
      expiresAfter: constantFrom('1m', '1h'),
    },
    NodeConfig: {
      configSource: sourceOf('good-a', 'invalid-a', 'crashing-b', 'missing'),
    },
    FieldPolicy: { allow: fc.array(fieldNames), deny: constant(undefined) },
  };
  return (path) => {
    const found = usual[kind][path];
    return found && mostly(found, at(path));
  };
}

const specOf = (kind: Kind) => anyOf(schemas[kind], knownOf(kind));
const kinds: Kind[] = ['NodeConfigSet', 'NodeConfigSet', 'NodeConfigSet', 'NodeConfig', 'FieldPolicy'];
export const anyStep: fc.Arbitrary<Step> = constantFrom(...kinds).chain((kind) =>
  fc.record({
    kind: constant(kind),
    fields: oneof(specOf(kind), withAnother(specOf(kind))),
    thenMs: constantFrom(0, 0, 1000, 20_000, 90_000, 600_000),
  }),
);

/** ConfigMaps to which a NodeConfig may refer. */
export async function createConfigs(client: KubeClient): Promise<void> {
  for (const config of configs) {
    const labels = { [configLabel]: '' };
    const metadata = { name: `${config.class}-${config.name}`, namespace: configNamespace, labels };
    const data = { kubelet: textOf(config) };
    await client.create(
      configMaps,
      { namespace: configNamespace },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data },
    );
  }
}

/** `node` is the one with a NodeConfig by hand. False: the API server has rejected it. */
export async function put(client: KubeClient, { kind, fields }: Step, node: string): Promise<boolean> {
  const name = { NodeConfigSet: 'pool', NodeConfig: node, FieldPolicy: 'limits' }[kind];
  const content = kind === 'FieldPolicy' ? { ...(fields as object) } : { spec: fields };
  const object = { apiVersion: 'relet.dev/v1alpha1', kind, metadata: { name }, ...content };
  try {
    await client.patch(types[kind], { name }, object, { as: 'apply', fieldManager: 'git', force: true });
    return true;
  } catch (error) {
    // Server-side apply answers 500 to a value of a wrong type.
    if (!(error instanceof ApiError) || (error.code >= 500 && !/failed to create typed patch/.test(error.message)))
      throw error;
    return false;
  }
}

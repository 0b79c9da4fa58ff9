/** A key named __proto__ is stored like any other, with every encoding, and after a restart. */
import { expect, onTestFinished, test } from 'vitest';
import { startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { temporaryDir } from '../temporary-dir.js';
import { clientOf } from './client.js';

const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.x.dev' },
  spec: {
    group: 'x.dev',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { data: { type: 'object', additionalProperties: { type: 'string' } } },
          },
        },
      },
    ],
  },
};

const types = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
};

async function start(dataDir: string) {
  const server = await startApiServer({ dataDir });
  return { server, client: clientOf(server, 'memory') };
}

test.each([
  ['a ConfigMap', '/api/v1/namespaces/default/configmaps', 'apiVersion: v1\nkind: ConfigMap\n', true],
  ['a custom resource', '/apis/x.dev/v1/namespaces/default/things', 'apiVersion: x.dev/v1\nkind: Thing\n', false],
])('%s', async (_kind, collection, header, isBuiltIn) => {
  const dataDir = temporaryDir();
  let { server, client } = await start(dataDir);
  onTestFinished(() => server.close());
  await client.call({ method: 'POST', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body: crd });
  const yaml = (value: string) => `${header}metadata: {name: a}\ndata: {"__proto__": ${value}, other: x}\n`;
  const path = `${collection}/a`;
  const shown = (text: string) => (JSON.parse(text) as { data: Record<string, string> }).data;
  const write = async (method: string, target: string, type: string, raw: string, value: string) => {
    const { code, text } = await client.call({ method, path: target, raw, headers: { 'content-type': type } });
    expect([type, code < 300, Object.entries(shown(text))]).toEqual([
      type,
      true,
      expect.arrayContaining([['__proto__', value]]),
    ]);
  };
  await write('POST', collection, 'application/yaml', yaml('created'), 'created');
  await write('PATCH', path, types.merge, '{"data":{"__proto__":"merged"}}', 'merged');
  if (isBuiltIn) await write('PATCH', path, types.strategic, '{"data":{"__proto__":"strategic"}}', 'strategic');
  await write('PATCH', path, types.json, '[{"op":"add","path":"/data/__proto__","value":"added"}]', 'added');
  await write(
    'PATCH',
    path,
    types.json,
    '[{"op":"copy","from":"/data","path":"/data/x"},{"op":"remove","path":"/data/x"}]',
    'added',
  );
  await write('PATCH', `${path}?fieldManager=f&force=true`, types.apply, yaml('applied'), 'applied');
  await client.close();
  await server.close();
  ({ server, client } = await start(dataDir));
  expect(Object.entries(shown((await client.call({ path })).text))).toContainEqual(['__proto__', 'applied']);
  await client.call({
    method: 'PATCH',
    path,
    raw: '{"data":{"__proto__":null}}',
    headers: { 'content-type': types.merge },
  });
  expect(Object.keys(shown((await client.call({ path })).text))).toEqual(['other']);
});

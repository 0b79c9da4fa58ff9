/** Reports of local configs that a node may write, and which of them are used. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readPlain } from '../config/plain-document.js';
import { localConfigBounds, readLocalConfig } from './local-config.js';

const file = (config: unknown, path: unknown = '/etc/kubelet.yaml') => ({ files: [{ path, config }] });

function nested(depth: number, wrap: (inner: unknown) => unknown = (inner) => ({ a: inner })): unknown {
  let value: unknown = 1;
  for (let level = 1; level < depth; level++) value = wrap(value);
  return { x: value };
}

describe('a local config that a node reports', () => {
  test('is read as it is where it is within the bounds', () => {
    const report = file({ maxPods: 50, logging: { options: { json: { infoBufferSize: '0' } } } });
    expect(readLocalConfig(report)).toEqual({ local: report });
    expect(readLocalConfig({ files: [] })).toEqual({ local: { files: [] } });
    expect(readLocalConfig(undefined)).toEqual({});
  });

  test.each<[string, unknown, string]>([
    ['8,000 objects deep', file(nested(8000)), 'it is nested deeper than 7 levels'],
    ['200,000 lists deep', file(nested(200_000, (inner) => [inner])), 'it is nested deeper than 7 levels'],
    ['one level too deep', file(nested(localConfigBounds.depth + 1)), 'it is nested deeper than 7 levels'],
    [
      'with too many keys',
      file({ kubeReserved: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`k${i}`, 1])) }),
      'an object or a list of it has more than 1000 entries',
    ],
    [
      'too large',
      file(Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`k${i}`, 'x'.repeat(100)]))),
      'it is larger than 65536 bytes',
    ],
    ['with a long value', file({ clusterDomain: 'x'.repeat(40_000) }), 'a value is longer than 32768 characters'],
    [
      'with too many files',
      { files: Array.from({ length: 65 }, () => file({}).files[0]) },
      'it has more than 64 files',
    ],
    ['with a long path', file({}, 'x'.repeat(5000)), 'the path of a file is too long'],
    ['that is a text', 'files', 'it is not a list of files'],
    ['whose files are an object', { files: { 0: {} } }, 'it is not a list of files'],
    ['whose config is a list', file([]), 'it is not a list of files'],
    ['whose config is null', file(null), 'it is not a list of files'],
    ['whose path is a number', file({}, 7), 'it is not a list of files'],
  ])('is not used where it is %s', (_what, report, unusable) => {
    expect(readLocalConfig(report)).toEqual({ unusable });
  });

  test('at the bounds is used', () => {
    const report = file(nested(localConfigBounds.depth));
    expect(readLocalConfig(report)).toEqual({ local: report });
  });
});

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
  maxItems?: number;
  maxLength?: number;
  maxProperties?: number;
}

test('the schema of NodeConfigs has the same bounds', () => {
  const path = new URL('../../deploy/base/nodeconfigs.relet.dev.yaml', import.meta.url);
  const crd = readPlain(readFileSync(path, 'utf8')) as {
    spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
  };
  const { status } = crd.spec.versions[0]!.schema.openAPIV3Schema.properties!;
  const { files } = status!.properties!.localConfig!.properties!;
  const { path: name, config } = files!.items!.properties!;
  const bounds = localConfigBounds;
  expect([files!.maxItems, name!.maxLength]).toEqual([bounds.files, bounds.pathLength]);
  let depth = 1;
  for (let level = config!; level.maxProperties !== 0; level = level.additionalProperties!) {
    expect(level.maxProperties).toBe(bounds.entries);
    if (depth++ === 1) continue;
    expect(level).toMatchObject({ maxItems: bounds.entries, maxLength: bounds.textLength });
    expect(level.items).toEqual(level.additionalProperties);
  }
  expect(depth - 1).toBe(bounds.depth);
});

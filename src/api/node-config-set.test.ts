/** The schema in deploy/ has the defaults of the code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { specDefaults, strategyDefaults } from './node-config-set.js';

interface Schema {
  default?: unknown;
  properties?: Record<string, Schema>;
}

const definition = parse(
  readFileSync(join(import.meta.dirname, '../../deploy/base/nodeconfigsets.relet.dev.yaml'), 'utf8'),
);
const { spec } = definition.spec.versions[0].schema.openAPIV3Schema.properties as Record<string, Schema>;

/** Defaults that the API server fills in where the user writes `{}`. */
function filledIn({ default: own, properties = {} }: Schema): unknown {
  if (own === undefined || JSON.stringify(own) !== '{}') return own;
  const entries = Object.entries(properties).map(([name, below]) => [name, filledIn(below)]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

test('the defaults in the schema are those of the code', () => {
  expect(filledIn({ ...spec!, default: {} })).toEqual({ ...specDefaults, strategy: strategyDefaults });
});

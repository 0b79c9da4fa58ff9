/** The schema in deploy/ has the defaults of the code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readClaim, specDefaults, strategyDefaults } from './node-config-set.js';

interface Schema {
  default?: unknown;
  properties?: Record<string, Schema>;
}

const definition = parse(
  readFileSync(join(import.meta.dirname, '../../deploy/base/nodeconfigsets.relet.dev.yaml'), 'utf8'),
);
const { spec } = definition.spec.versions[0].schema.openAPIV3Schema.properties as Record<string, Schema>;

/** What the API server fills in where the user writes `{}`. */
function filledIn({ default: own, properties = {} }: Schema): unknown {
  if (own === undefined || JSON.stringify(own) !== '{}') return own;
  const entries = Object.entries(properties).map(([name, below]) => [name, filledIn(below)]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

test('the defaults in the schema are those of the code', () => {
  expect(filledIn({ ...spec!, default: {} })).toEqual({ ...specDefaults, strategy: strategyDefaults });
});

test('a claim is read as it was written, and anything else is none', () => {
  const claim = { set: 'gpu', revision: 'a', source: 'n/c/k', wave: 1, at: '2026-01-01T00:00:00Z', previous: 'local' };
  expect(readClaim(JSON.stringify(claim))).toEqual(claim);
  expect(readClaim(JSON.stringify({ ...claim, released: true, more: 1 }))).toEqual({ ...claim, released: true });
  for (const text of [undefined, '', 'null', '[]', '{', JSON.stringify({ ...claim, wave: '1' })])
    expect(readClaim(text), text).toBeUndefined();
});

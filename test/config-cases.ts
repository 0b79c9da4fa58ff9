/** Tables of configs as text files, for tests of rules: `MINOR {fields} on {host}` and, indented below, what is expected. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { setDefaults } from '../src/config/defaults.js';
import type { Host, KubeletConfig, Minor } from '../src/config/model.js';

export type Case = [title: string, minor: Minor, set: Record<string, unknown>, host: Host, expected: string[]];

/** `IC ` at the start of an expected line stands for the kubelet's "invalid configuration: ". */
export function casesIn(file: string): Case[] {
  const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
  return [...text.matchAll(/^(\d+) (\{.*\})\n((?: {3}.*\n)*)/gm)].map(([, minor, fields, below]) => {
    const [set, host = '{}'] = fields!.split(' on ');
    const expected = below!
      .split('\n')
      .slice(0, -1)
      .map((line) => line.trim().replace(/^IC /, 'invalid configuration: '));
    return [`1.${minor} ${fields}`, Number(minor), parse(set!), parse(host), expected];
  });
}

/** Returns the config of a document that sets these fields (dotted paths), before flags. */
export function defaulted(minor: Minor, set: Record<string, unknown>): KubeletConfig {
  const config = setDefaults(set.featureGates === undefined ? {} : { featureGates: set.featureGates }, minor);
  for (const [path, value] of Object.entries(set)) {
    const parts = path.split('.');
    const name = parts.pop()!;
    let parent: KubeletConfig = config;
    for (const part of parts) {
      parent[part] ??= {};
      parent = parent[part] as KubeletConfig;
    }
    parent[name] = value;
  }
  return config;
}

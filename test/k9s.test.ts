/** The files for k9s name fields that our CRDs have, and commands that relet has. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { clusterCommand } from '../src/cli/cluster-verbs.js';
import { rolloutVerb } from '../src/cli/rollout/rollout.js';

const root = join(import.meta.dirname, '..');
const read = (path: string) => parse(readFileSync(join(root, path), 'utf8'));

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
}

interface Definition {
  spec: {
    group: string;
    names: { plural: string; shortNames: string[] };
    versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
}

const definitions: Definition[] = ['nodeconfigs', 'nodeconfigsets'].map((plural) =>
  read(`deploy/base/${plural}.relet.dev.yaml`),
);
const resources = new Map(
  definitions.map(({ spec }) => [`${spec.group}/${spec.versions[0]!.name}/${spec.names.plural}`, spec.versions[0]!]),
);

/** `NAME:.path[?(@.type=="Ready")].status|WN`, as k9s takes a column apart. */
function column(text: string): { name: string; path: string; marks: string } {
  const [, name, path, marks] = /^([\w\s%/-]+):?([\w\W]*?)\|?([NTWSLRH]{0,3})$/.exec(text)!;
  return { name: name!, path: path!, marks: marks! };
}

/** The keys of a path; a filter and an index are an item of the list. */
const steps = (path: string): string[] =>
  path
    .replace(/\[[^\]]*\]/g, '.[]')
    .split(/(?<!\\)\./)
    .filter((step) => step !== '')
    .map((step) => step.replaceAll('\\.', '.'));

function hasField(schema: Schema, path: string): boolean {
  const [first] = steps(path);
  // The API server adds these to every object; the schema has only their type.
  if (first === 'metadata') return /^\.metadata\.(labels|annotations)\./.test(path);
  let at: Schema | undefined = schema;
  for (const step of steps(path)) at = step === '[]' ? at?.items : at?.properties?.[step];
  return at !== undefined;
}

describe('integrations/k9s', () => {
  const { views } = read('integrations/k9s/views.yaml') as {
    views: Record<string, { sortColumn: string; columns: string[] }>;
  };
  const { plugins } = read('integrations/k9s/plugins.yaml') as {
    plugins: Record<
      string,
      { shortCut: string; scopes: string[]; command: string; args: string[]; confirm?: boolean; dangerous?: boolean }
    >;
  };

  test('there is a view for each of our kinds, under the version that is served', () => {
    expect(Object.keys(views).sort()).toEqual([...resources.keys()].sort());
  });

  test('every column is a field of the CRD, and is sorted by one that exists', () => {
    for (const [resource, { columns, sortColumn }] of Object.entries(views)) {
      const schema = resources.get(resource)!.schema.openAPIV3Schema;
      const parts = columns.map(column);
      // Without a path k9s takes its own column of that name.
      const own = parts.filter(({ path }) => path === '').map(({ name }) => name);
      expect(own).toEqual(['NAME', 'AGE']);
      const unknown = parts.filter(({ path }) => path !== '' && !hasField(schema, path));
      expect(unknown).toEqual([]);
      expect(parts.map(({ name }) => name)).toContain(sortColumn.replace(/:asc$/, ''));
    }
    const schema = resources.get('relet.dev/v1alpha1/nodeconfigsets')!.schema.openAPIV3Schema;
    expect(hasField(schema, '.status.noSuchField')).toBe(false);
  });

  test('a jump leads from sets to the NodeConfigs that they have claimed', () => {
    const { jumps } = read('integrations/k9s/jumps.yaml') as {
      jumps: Record<string, { targetGVR: string; labelSelector: string }>;
    };
    expect(jumps).toEqual({
      'relet.dev/v1alpha1/nodeconfigsets': {
        targetGVR: 'relet.dev/v1alpha1/nodeconfigs',
        labelSelector: 'relet.dev/set={{.metadata.name}}',
      },
    });
  });

  test('every plugin runs a command of relet with options that it has', () => {
    for (const { command, args } of Object.values(plugins)) {
      expect(command).toBe('sh');
      const words = /relet ([^|;]*?)(2>&1|;|$)/.exec(args[1]!)![1]!.trim().split(' ');
      const declared =
        words[0] === 'rollout'
          ? rolloutVerb().commands.find((one) => one.name() === words[1])
          : clusterCommand(words[0]!);
      expect(declared, words.join(' ')).toBeDefined();
      const options = declared!.options.flatMap(({ long, short }) => [long, short]);
      for (const word of words.filter((one) => one.startsWith('-'))) expect(options).toContain(word);
      // The name of a node or set is never part of a script.
      expect(args[1]).not.toMatch(/\$[A-Z]/);
      expect(args.slice(2)).toEqual(['relet', '$NAME', '$CONTEXT', '$KUBECONFIG']);
    }
  });

  test('what changes something asks first and is absent in read-only mode; what only looks does neither', () => {
    const looks = /relet (describe|view|diff|history|rollout (status|plan|history)) /;
    for (const { args, confirm = false, dangerous = false } of Object.values(plugins))
      expect({ confirm, dangerous }).toEqual(
        looks.test(args[1]!) ? { confirm: false, dangerous: false } : { confirm: true, dangerous: true },
      );
  });

  test('scopes are resources, and no key is used twice in a view or is one that k9s has there', () => {
    const plurals = [...definitions.map(({ spec }) => spec.names.plural), 'nodes'];
    const usedByK9s = ['c', 'd', 'e', 'y', 'q', 'g', 'h', 'j', 'k', 'l', 'Shift-A', 'Shift-N', 'Shift-S', 'Shift-O'];
    for (const scope of plurals) {
      const keys = Object.values(plugins)
        .filter(({ scopes }) => scopes.includes(scope))
        .map(({ shortCut }) => shortCut);
      expect(keys.length).toBeGreaterThan(0);
      expect(new Set(keys).size).toBe(keys.length);
      expect(keys.filter((key) => usedByK9s.includes(key))).toEqual([]);
    }
    expect(
      Object.values(plugins)
        .flatMap(({ scopes }) => scopes)
        .every((scope) => plurals.includes(scope)),
    ).toBe(true);
  });

  test('the README lists every key with its command', () => {
    const page = readFileSync(join(root, 'integrations/k9s/README.md'), 'utf8');
    for (const { shortCut } of Object.values(plugins)) expect(page).toContain(`\`${shortCut}\``);
  });
});

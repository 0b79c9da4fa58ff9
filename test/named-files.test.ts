/** A file that a comment names exists: a name that outlives its file sends the reader nowhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

function filesBelow(dir: string): string[] {
  return readdirSync(join(root, dir), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

const own = ['src', 'test', 'scripts', 'bench', 'docs', 'deploy', 'examples', 'bin', 'integrations'].flatMap(
  filesBelow,
);
const top = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isFile());
const files = [...own, ...top.map(({ name }) => name)];
const names = new Set(files.map((file) => basename(file)));

function comments(text: string): string[] {
  return text.match(/\/\*\*?[\s\S]*?\*\/|(?<=^|[\s;,{}])\/\/ .*$/gm) ?? [];
}

/** Names of source files and pages, with their directories. An address is none, and a pattern is none. */
function namedIn(comment: string): string[] {
  return [...comment.matchAll(/(?<![\w./*<{$:-])[\w./-]*\w\.(?:tsx?|mjs|cjs|md)\b(?![\w*(-]|\.\w)/g)].map(
    ([name]) => name,
  );
}

const isThere = (name: string) =>
  name.includes('/')
    ? files.some((file) => `/${file}`.endsWith(`/${name.replace(/^(\.\.?\/)+/, '')}`))
    : names.has(name);

test('every file that a comment names exists', () => {
  const missing = own
    .filter(
      (file) => /^(src|test|scripts|bench)\/.*\.(tsx?|mjs|cjs)$/.test(file) && file !== 'test/named-files.test.ts',
    )
    .flatMap((file) =>
      comments(readFileSync(join(root, file), 'utf8'))
        .flatMap(namedIn)
        .filter((name) => !isThere(name))
        .map((name) => `${file}: ${name}`),
    );
  expect(missing).toEqual([]);
});

test('the rule reads names in comments, and nothing else', () => {
  expect(comments("const a = 'b.ts'; // see c.ts\n/** d.ts\n * and e/f.md */").flatMap(namedIn)).toEqual([
    'c.ts',
    'd.ts',
    'e/f.md',
  ]);
  expect(isThere('no-such-file.ts')).toBe(false);
  expect(isThere('agent/agent.ts')).toBe(true);
});

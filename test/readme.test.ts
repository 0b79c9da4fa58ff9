/**
 * Claims of the pages are true. In the README every promise is the name of a test in the file it links, and every figure in the
 * prose is one that this file knows how to check: a new figure without a check fails here. On all pages links lead somewhere.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { fields } from '../src/config/fields.js';
import { newestMinor, oldestMinor } from '../src/config/model.js';
import { oracleCases } from './evidence/read.js';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true })
    .map((name) => `docs/${name}`)
    .filter((name) => name.endsWith('.md')),
];

/** Names of tests and of groups of tests, as they are written. */
function namesIn(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/\b(?:test|describe)(?:\.\w+\([^)]*\))?\(\s*(['"`])(.+?)\1/g)].map((match) => match[2]!);
}

describe('every promise is the name of a test', () => {
  const chapter = /^## What it promises\n(.*?)^## /ms.exec(readme)?.[1] ?? '';
  const promises = [...chapter.matchAll(/^- \[([^\]]+)\]\(([^)]+\.test\.ts)\)/gm)];

  test('there are promises', () => {
    expect(promises.length).toBe(chapter.match(/^- /gm)?.length);
    expect(promises.length).toBeGreaterThan(5);
  });

  test.each(promises.map(([, promise, file]) => [promise!, file!]))('%s', (promise, file) => {
    const wanted = promise.replace(/\s+/g, ' ').toLowerCase();
    // Tests of the conformance list have its id before their name.
    const found = namesIn(file).filter((name) => name.toLowerCase().replace(/^[a-z]\d+(\.\d+)? /, '') === wanted);
    expect(found).toHaveLength(1);
  });
});

describe('every figure in the prose of the README', () => {
  const prose = readme.replace(/^```.*?^```$/gms, '').replace(/`[^`]*`|\]\([^)]*\)/g, '');
  const [, leastNode] = /^>=(\d+)/.exec(manifest.engines.node)!;
  const checks: Record<string, { sentence: RegExp; is: () => string[] }> = {
    'kubelet versions': { sentence: /supports\s+kubelets\s+(\S+) to (\d\.\d+)/, is: () => minors() },
    'Node versions': { sentence: /You need Node (\d+), 22 or 24/, is: () => [leastNode!] },
    fields: { sentence: /All (\d+) fields/, is: () => [String(fields.length)] },
    'documents given to real kubelets': {
      sentence: /Checked against (\d+) documents given to real kubelets 1\.23, 1\.32, 1\.36 and 1\.37/,
      is: () => [String(oracleCases().length)],
    },
    // Facts of the past, which no script can print.
    'the removal': { sentence: /removed it in (1\.24)/, is: () => ['1.24'] },
    'the page': { sentence: /its\s+page\s+of\s+Kubernetes (1\.11)/, is: () => ['1.11'] },
    licence: { sentence: /Apache-(2\.0)/, is: () => [manifest.license.replace('Apache-', '')] },
    'kill -9': { sentence: /kill -(9)/, is: () => ['9'] },
  };
  const minors = () => [`1.${oldestMinor}`, `1.${newestMinor}`];

  for (const [name, { sentence, is }] of Object.entries(checks)) {
    test(`${name}: as it is`, () => {
      expect(sentence.exec(prose)?.slice(1)).toEqual(is());
    });
  }

  test('claims nothing that no test can show', () => {
    // The promises are names of tests, which are compared above.
    const chapters = prose.split(/^## /m).filter((chapter) => !chapter.startsWith('What it promises'));
    const absolute = /\b(?:ever|never|always|guarantee[sd]?|any cluster|without risk|impossible|safely)\b/gi;
    expect(chapters.join('').match(absolute)).toBeNull();
  });

  test('has a check here', () => {
    const unchecked = Object.values(checks).reduce((text, { sentence }) => text.replace(sentence, ''), prose);
    expect(unchecked.match(/\d[\d.,]*/g) ?? []).toEqual([]);
  });
});

describe('links lead somewhere', () => {
  test.each(pages)('%s', (page) => {
    const text = readFileSync(join(root, page), 'utf8').replace(/^```.*?^```$/gms, '');
    const dead = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)/g)].filter(([, path, anchor]) => {
      const target = path === '' ? join(root, page) : join(root, dirname(page), path!);
      return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(dead.map(([link]) => link)).toEqual([]);
  });

  /** As GitHub makes them of headings. */
  function anchorsOf(file: string): string[] {
    const headings = readFileSync(file, 'utf8').match(/^#+ .*$/gm) ?? [];
    return headings.map(
      (line) =>
        `#${line
          .replace(/^#+ /, '')
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\s_-]/gu, '')
          .replaceAll(' ', '-')}`,
    );
  }
});

describe('prose is wrapped at 120 columns', () => {
  // docs/fields.md is generated: one line for each text of the catalogue.
  test.each(pages.filter((page) => page !== 'docs/fields.md'))('%s', (page) => {
    const text = readFileSync(join(root, page), 'utf8').replace(/^```.*?^```$/gms, '');
    // Rows of tables cannot be wrapped, nor can a link that is longer than a line.
    const tooLong = text.split('\n').filter((line) => line.length > 120 && !line.startsWith('|') && /\S \S/.test(line));
    expect(tooLong.filter((line) => !/^ *(- )?\[[^\]]*\]\([^)]*\)$/.test(line))).toEqual([]);
  });
});

test('every file and folder that ARCHITECTURE.md names is there', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const present = ['src', 'test', 'deploy', 'bench'].flatMap((top) => [
    top,
    ...readdirSync(join(root, top), { recursive: true }).map((name) => `${top}/${name}`),
  ]);
  const named = [...text.matchAll(/`((?:[\w-]+\/)*[\w-]+\.ts|src\/[\w/-]+|[\w-]+\/)`/g)].map((match) => match[1]!);
  expect(named.length).toBeGreaterThan(20);
  const missing = named.filter((name) => !present.some((path) => `/${path}`.endsWith(`/${name.replace(/\/$/, '')}`)));
  expect(missing).toEqual([]);
});

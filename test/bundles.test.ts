/** Content of the built executables: a node loads only the code of a node, and a verb only the code of that verb. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { entryOf } from '../src/config/catalogue.js';

const dist = join(import.meta.dirname, '..', 'dist');
const text = (name: string) => readFileSync(join(dist, name), 'utf8');
const catalogueText = entryOf('maxPods')!.what;

describe('bundles', () => {
  test('the texts for people are where people ask for them', () => {
    expect(text('config-explain.cjs')).toContain(catalogueText);
    expect(text('config-validate.cjs')).not.toContain(catalogueText);
  });

  test.each(['node.cjs', 'node-run-agent.cjs', 'node-agent.cjs', 'hollow.cjs'])(
    '%s, on every node, does not carry them',
    (name) => {
      expect(text(name)).not.toContain(catalogueText);
    },
  );

  test('what a node at rest needs stays small: the validator and its tables are loaded with the first new config', () => {
    expect(text('node-run-agent.cjs').length).toBeLessThan(332_000);
    expect(text('node-agent.cjs').length).toBeLessThan(445_000);
    for (const known of ['RotateKubeletServerCertificate', 'failed to load kubelet config file']) {
      expect(text('node-full-validator.cjs')).toContain(known);
      expect(text('node-run-agent.cjs')).not.toContain(known);
    }
  });

  test('signatures are verified by code that only a host with a trust file loads', () => {
    const ofSignatures = 'is not one of the allowed signers';
    expect(text('node-signature-code.cjs')).toContain(ofSignatures);
    for (const name of ['node-run-agent.cjs', 'node-agent.cjs']) expect(text(name)).not.toContain(ofSignatures);
  });

  test('the table of verbs is small and knows nothing of them', () => {
    expect(text('cli.cjs').length).toBeLessThan(20_000);
  });

  test('what rehearses is loaded only to rehearse, and never on a node', () => {
    const ofRehearsals = 'RehearsalSpread';
    expect(text('rollout-rehearse.cjs')).toContain(ofRehearsals);
    for (const name of [
      'cli.cjs',
      'rollout-rollout.cjs',
      'rollout-status.cjs',
      'node.cjs',
      'node-run-agent.cjs',
      'node-agent.cjs',
    ])
      expect(text(name)).not.toContain(ofRehearsals);
  });

  test('the published library needs no other package', () => {
    const imports = [...text('config.js').matchAll(/\bfrom\s*"([^"]+)"|\bimport\s*"([^"]+)"|\brequire\("([^"]+)"\)/g)];
    const packages = imports.map((match) => (match[1] ?? match[2] ?? match[3])!);
    expect(packages.filter((name) => !name.startsWith('node:'))).toEqual([]);
  });
});

describe('the page of the dashboard', () => {
  const files = readdirSync(join(dist, 'dashboard'));
  const scripts = files.filter((name) => name.endsWith('.js'));

  test('its scripts, without the editor that is loaded on demand, are at most 120 KB compressed', () => {
    const atStart = scripts.filter((name) => name.startsWith('app-') || text('dashboard/index.html').includes(name));
    const reached = reachable(atStart, (name) => text(`dashboard/${name}`));
    expect(reached.length).toBeGreaterThan(0);
    const size = reached.reduce((sum, name) => sum + gzipSync(text(`dashboard/${name}`)).length, 0);
    expect(size).toBeLessThan(120 * 1024);
  });

  test('it loads nothing from elsewhere, and has neither scripts nor styles in its HTML', () => {
    const html = text('dashboard/index.html');
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\/|<style|style=|<script(?![^>]*\ssrc=)|\son\w+=/);
    expect(html.match(/(?:src|href)="(?:app-\w+\.(?:js|css))"/g)).toHaveLength(2);
  });

  /** Returns the files that these import, not on demand, directly or through others. */
  function reachable(names: string[], read: (name: string) => string): string[] {
    const reached = new Set(names);
    for (const name of reached)
      for (const [, path] of read(name).matchAll(/(?:from|import)\s*"\.\/([\w-]+\.js)"/g)) reached.add(path!);
    return [...reached];
  }
});

describe('code caches', () => {
  const loader = join(import.meta.dirname, '..', 'bin', 'load-bundle.cjs');

  /** Runs `relet config explain maxPods`, then prints which bundles V8 compiled here, and whether it took their cache. */
  function explain(cacheFor: string) {
    const program = `
      const { cacheOf, createLoader } = require(${JSON.stringify(loader)});
      const compiled = {};
      process.argv = [process.argv[0], 'relet', 'config', 'explain', 'maxPods'];
      process.on('exit', () => console.error(JSON.stringify(compiled)));
      const onCompiled = (name, script) => { compiled[name] = script.cachedDataRejected === false };
      createLoader({ onCompiled, ${cacheFor} })('cli.cjs');`;
    const env = { ...process.env, NODE_V8_COVERAGE: undefined };
    const { stdout, stderr, status } = spawnSync(process.execPath, ['-e', program], { env, encoding: 'utf8' });
    return { status, stdout, compiled: JSON.parse(stderr) };
  }

  const usual = explain('');

  test('V8 takes those that the build wrote', () => {
    expect(usual.status).toBe(0);
    expect(usual.compiled).toEqual({ 'cli.cjs': true, 'config-config.cjs': true, 'config-explain.cjs': true });
  });

  test.each([
    ['none', 'cacheFor: () => undefined', {}],
    [
      'those of another version of Node',
      'cacheFor: (name) => require("node:fs").readFileSync(cacheOf(name)).fill(0, 0, 16)',
      { 'cli.cjs': false, 'config-config.cjs': false, 'config-explain.cjs': false },
    ],
  ])('with %s a command does the same', (_name, cacheFor, compiled) => {
    expect(explain(cacheFor)).toEqual({ ...usual, compiled });
  });
});

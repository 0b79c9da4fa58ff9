/** Files that relet writes on the host, whatever a ConfigMap has in it. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { configFile, hostLayout } from './host-layout.js';
import { OwnFiles } from './own-files.js';
import { local, renderDropIn } from './unit-text.js';

const layout = hostLayout({ unit: 'kubelet.service', dir: '/var/lib/relet' });
const base = { text: '/usr/bin/kubelet $ARGS', digest: 'b'.repeat(16) };
const counter = { script: layout.script, limit: 3 };

function setUp() {
  const root = temporaryDir();
  const own = new OwnFiles(layout, root);
  /** A checkpoint with these files, and its config under `key`. */
  const checkpoint = (files: Record<string, string>, key: string, name = 'good') => {
    const dir = mkdtempSync(join(root, 'checkpoint-'));
    mkdirSync(dir, { recursive: true });
    for (const [file, text] of Object.entries(files)) writeFileSync(join(dir, file), text);
    const source = { namespace: 'kube-system', name, uid: name, resourceVersion: '1', kubeletConfigKey: key };
    return { source, file: join(dir, key) };
  };
  const dropInOf = (digest: string) =>
    renderDropIn({
      kind: 'trial',
      base,
      config: { digest, file: configFile(layout, digest) },
      hasConfigDir: false,
      counter,
    });
  return { root, own, checkpoint, dropInOf };
}

const evil = "x\n[Service]\nExecStart=/bin/evil\nExecStartPre=/bin/sh -c 'id'\n%n $(id) `id` \\\n";

describe('a hostile ConfigMap', () => {
  const configMaps: { files: Record<string, string>; key?: string; name?: string }[] = [
    { files: { kubelet: evil } },
    { files: { kubelet: 'a: b\n' }, name: evil },
    { files: { 'a%n$(id)`id`;x': 'a: b\n' }, key: 'a%n$(id)`id`;x' },
    { files: { kubelet: 'a: b\n', 'zz-relet-90-trial.conf': evil, '$(id)': evil } },
  ];

  test('writes nothing of its payload, its name or its keys to a unit file', () => {
    const { own, checkpoint, dropInOf } = setUp();
    for (const { files, key = 'kubelet', name } of configMaps) {
      const digest = own.store(checkpoint(files, key, name));
      expect(digest).toMatch(/^[0-9a-f]{64}$/);
      // The drop-in differs from that of any other config in the digest alone.
      expect(dropInOf(digest).replaceAll(digest, 'f'.repeat(64))).toBe(dropInOf('f'.repeat(64)));
    }
  });

  test('whose other key is named as the stored config does not replace it', () => {
    const { own, checkpoint, root } = setUp();
    const digest = own.store(checkpoint({ kubelet: 'maxPods: 1\n', 'kubelet.yaml': evil }, 'kubelet'));
    expect(readFileSync(root + configFile(layout, digest), 'utf8')).toBe('maxPods: 1\n');
  });
});

test('the digest of a config is known without writing it, and that of local is local', () => {
  const { own, checkpoint, root } = setUp();
  const config = checkpoint({ kubelet: 'maxPods: 1\n' }, 'kubelet');
  const digest = own.digestOf(config);
  expect(readdirSync(root)).not.toContain('var');
  expect(own.store(config)).toBe(digest);
  expect(own.digestOf({ source: undefined, file: undefined })).toBe(local);
});

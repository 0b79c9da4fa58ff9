/** The digest of the code of a node: it names the bundles that run there, and nothing else. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import pkg from '../../../package.json' with { type: 'json' };
import { temporaryDir } from '../../../test/temporary-dir.js';
import { codeDigest, reportedVersion } from './code-digest.js';

function distWith(files: Record<string, string>): string {
  const dist = temporaryDir();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dist, name), text);
  return dist;
}

test('the digest changes with a bundle that runs on a node, and with no other file', () => {
  const bundles = { 'node.cjs': 'a', 'node-agent.cjs': 'b' };
  const digest = codeDigest(distWith(bundles));
  expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(codeDigest(distWith({ ...bundles, 'cluster.cjs': 'c', 'node.txt': 'd' }))).toBe(digest);
  expect(codeDigest(distWith({ ...bundles, 'node-agent.cjs': 'B' }))).not.toBe(digest);
  expect(codeDigest(distWith({ 'node.cjs': 'a' }))).not.toBe(digest);
});

test('an agent reports twelve digits of the digest behind its version, and only the version without bundles', () => {
  expect(reportedVersion(`sha256:${'3f2a9c01b7de'.padEnd(64, '0')}`)).toBe(`${pkg.version}+3f2a9c01b7de`);
  expect(codeDigest(join(distWith({}), 'missing'))).toBeUndefined();
});

/** `relet apiserver backup` and `restore`: with a running server and without, and files that are rejected. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { decodeBackup } from '../../src/lab/apiserver/backup/backup-format.js';
import { clientOf } from './client.js';

const folder = mkdtempSync(join(tmpdir(), 'relet-backup-'));
const dataDir = join(folder, 'data');
const file = join(folder, 'backup.gz');
const maps = '/api/v1/namespaces/default/configmaps';
const program = new URL('../../bin/relet.cjs', import.meta.url).pathname;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function relet(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'apiserver', ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

async function withServer<T>(directory: string, work: (server: ApiServer) => Promise<T>): Promise<T> {
  const server = await startApiServer({ dataDir: directory });
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

const make = (server: ApiServer, name: string) =>
  clientOf(server, 'memory').call({
    method: 'POST',
    path: maps,
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { k: name } },
  });
const names = async (server: ApiServer) => {
  const { json } = await clientOf(server, 'memory').call({ path: maps });
  return json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
};

beforeAll(async () => {
  await withServer(dataDir, (server) => make(server, 'first'));
  expect(relet('backup', file, '--data-dir', dataDir)).toMatchObject({ status: 0, stderr: '' });
});

test('a backup is taken of a stopped server, and only its owner can read the file', async () => {
  const { items } = await decodeBackup(readFileSync(file));
  expect(items.map(({ key }) => `${key.resource}/${key.name}`)).toContain('configmaps/first');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('a backup is taken of a running server, and a restore over it is rejected', async () => {
  const running = join(folder, 'running');
  const args = [program, 'apiserver', '--data-dir', running, '--port', '0'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  for await (const chunk of child.stdout) if (String(chunk).includes('ready')) break;
  const taken = relet('backup', join(folder, 'running.gz'), '--data-dir', running);
  expect(taken).toMatchObject({ status: 0, stderr: '' });
  expect(taken.stdout).toMatch(/^wrote \d+ objects at revision \d+ to /);
  expect(relet('restore', file, '--data-dir', running, '--force').stderr).toMatch(
    /another relet \(pid \d+\) runs on this directory; stop it/,
  );
  child.kill('SIGTERM');
  await once(child, 'exit');
});

test('a backup is restored into a new directory, and watches from before it get 410', async () => {
  const fresh = join(folder, 'fresh');
  expect(relet('restore', file, '--data-dir', fresh)).toMatchObject({ status: 0, stderr: '' });
  await withServer(fresh, async (server) => {
    expect(await names(server)).toEqual(['first']);
    const before = await decodeBackup(readFileSync(file));
    const watch = await clientOf(server, 'memory').watch(`${maps}?watch=1&resourceVersion=${before.revision}`);
    expect(await watch.next()).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    expect((await make(server, 'second')).code).toBe(201);
  });
  await withServer(fresh, async (server) => expect(await names(server)).toEqual(['first', 'second']));
});

test('a restore replaces an existing store only with --force, and keeps it under another name', async () => {
  const used = join(folder, 'used');
  await withServer(used, (server) => make(server, 'mine'));
  const refused = relet('restore', file, '--data-dir', used);
  expect(refused.status).toBe(2);
  expect(refused.stderr).toMatch(/has a store already: give another --data-dir, or --force/);
  await withServer(used, async (server) => expect(await names(server)).toEqual(['mine']));
  expect(relet('restore', file, '--data-dir', used, '--force')).toMatchObject({ status: 0, stderr: '' });
  await withServer(used, async (server) => expect(await names(server)).toEqual(['first']));
  const aside = readdirSync(used).find((name) => name.startsWith('store-before-'))!;
  const old = join(folder, 'old');
  await withServer(old, async () => {});
  rmSync(join(old, 'store'), { recursive: true });
  renameSync(join(used, aside), join(old, 'store'));
  await withServer(old, async (server) => expect(await names(server)).toEqual(['mine']));
});

describe('a restore that a crash interrupted', () => {
  test('is finished at the next start if the old store was already renamed', async () => {
    const crashed = join(folder, 'crashed');
    relet('restore', file, '--data-dir', crashed);
    renameSync(join(crashed, 'store'), join(crashed, 'store-restored'));
    await withServer(crashed, async (server) => expect(await names(server)).toEqual(['first']));
  });

  test('is removed at the next start if it was not', async () => {
    const crashed = join(folder, 'crashed-early');
    await withServer(crashed, (server) => make(server, 'mine'));
    relet('restore', file, '--data-dir', join(folder, 'other'));
    renameSync(join(folder, 'other', 'store'), join(crashed, 'store-restored'));
    await withServer(crashed, async (server) => expect(await names(server)).toEqual(['mine']));
    expect(existsSync(join(crashed, 'store-restored'))).toBe(false);
  });
});

test.each([
  ['a file that is not a backup', 'hello', /bad\.gz: it is not a backup of relet apiserver/],
  ['a file that is missing', undefined, /ENOENT/],
])('restore rejects %s and changes nothing', (_what, content, why) => {
  const bad = join(folder, 'bad.gz');
  if (content === undefined) rmSync(bad, { force: true });
  else writeFileSync(bad, content);
  const target = join(folder, 'untouched');
  const refused = relet('restore', bad, '--data-dir', target);
  expect(refused.status).toBe(2);
  expect(refused.stderr).toMatch(why);
  expect(existsSync(target)).toBe(false);
});

test('only administrators may take a backup over the network', async () => {
  await withServer(join(folder, 'guarded'), async (server) => {
    const client = clientOf(server, 'memory');
    const asJane = {
      path: '/relet/backup',
      headers: { 'impersonate-user': 'jane', 'impersonate-group': 'system:authenticated' },
    };
    expect((await client.call(asJane)).code).toBe(403);
  });
});

/** `relet apiserver` as a command: files, output and rejected flags. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Program, startRelet } from '../program.js';
import { relet as runRelet } from '../run-relet.js';
import { temporaryDir } from '../temporary-dir.js';

const home = temporaryDir();
const servers: Program[] = [];

afterAll(() => {
  for (const server of servers) server.kill('SIGKILL');
});

/** Resolves with the output once the server is ready. */
async function start(...flags: string[]): Promise<{ child: Program; printed: Record<string, string> }> {
  const child = startRelet(['apiserver', ...flags]);
  servers.push(child);
  await child.printed(/^ready$/m);
  const lines = child.stdout.trim().split('\n').slice(0, -1);
  return { child, printed: Object.fromEntries(lines.map((line) => line.split(': ') as [string, string])) };
}

async function stop(child: Program): Promise<number | null> {
  await child.end();
  return child.exit!.code;
}

function get(url: string, ca: string, token: string): Promise<{ code: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
    request(url, { ca: readFileSync(ca), headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ code: response.statusCode!, text }));
    })
      .on('error', reject)
      .end();
  });
}

describe('relet apiserver', () => {
  test('writes its files, prints where they are, and is ready', async () => {
    const data = join(home, 'one');
    const { child, printed } = await start('--data-dir', data, '--port', '0');
    expect(printed.kubeconfig).toBe(join(data, 'admin.kubeconfig'));
    expect(printed.ca).toBe(join(data, 'pki', 'ca.crt'));
    expect(printed.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(readFileSync(printed.kubeconfig!, 'utf8')).toContain(`server: "${printed.url}"`);
    for (const file of ['admin.kubeconfig', 'pki/ca.key', 'pki/apiserver.key', 'pki/admin.key']) {
      expect(statSync(join(data, file)).mode & 0o777, file).toBe(0o600);
    }
    expect((await get(`${printed.url}/readyz`, printed.ca!, '')).code).toBe(401);
    expect(await stop(child)).toBe(0);
  });

  test('relet apiserver keeps its certificate authority across restarts', async () => {
    const data = join(home, 'two');
    const first = await start('--data-dir', data, '--port', '0');
    const ca = readFileSync(first.printed.ca!, 'utf8');
    await stop(first.child);
    const second = await start('--data-dir', data, '--port', '0');
    expect(readFileSync(second.printed.ca!, 'utf8')).toBe(ca);
    await stop(second.child);
  });

  test('accepts tokens, and anonymous requests only with --anonymous-auth', async () => {
    const tokens = join(home, 'tokens.csv');
    writeFileSync(tokens, 'secret,alice,1,"system:masters"\n');
    const { child, printed } = await start(
      ...['--data-dir', join(home, 'three'), '--port', '0', '--token-auth-file', tokens, '--anonymous-auth=true'],
    );
    expect((await get(`${printed.url}/api/v1/nodes`, printed.ca!, 'secret')).code).toBe(200);
    expect((await get(`${printed.url}/api/v1/nodes`, printed.ca!, 'wrong')).code).toBe(401);
    expect((await get(`${printed.url}/version`, printed.ca!, '')).code).toBe(200);
    expect((await get(`${printed.url}/api/v1/nodes`, printed.ca!, '')).code).toBe(403);
    await stop(child);
  });

  test('rejects a directory that another server uses', async () => {
    const data = join(home, 'four');
    const { child } = await start('--data-dir', data, '--port', '0');
    const { status, stderr } = runRelet(['apiserver', '--data-dir', data, '--port', '0']);
    expect(status).toBe(1);
    expect(stderr).toContain(`another relet (pid ${child.pid}) runs on this directory; stop it`);
    await stop(child);
  });

  test('relet apiserver --storage memory stores no objects on disk', async () => {
    const data = join(home, 'five');
    const { child } = await start('--data-dir', data, '--port', '0', '--storage', 'memory');
    expect(existsSync(join(data, 'store'))).toBe(false);
    await stop(child);
  });

  test.each([
    [['--port', '99999', '--data-dir', 'x'], 2, 'a port is a number from 0 to 65535'],
    [['--feature-gates', 'Nonsense=true', '--data-dir', 'x'], 2, "there is no feature gate 'Nonsense'"],
    [['--authorization-mode', 'Webhook', '--data-dir', 'x'], 1, 'Webhook'],
    [
      ['--token-auth-file', '/missing', '--data-dir', 'x'],
      1,
      '--token-auth-file=/missing: cannot be read: there is no such file',
    ],
    [['--data-dir', '/dev/null'], 1, '--data-dir=/dev/null is not a directory: give another'],
    [['--data-dir', '/proc/relet/x'], 1, '--data-dir=/proc/relet/x cannot be created (ENOENT'],
    [[], 2, "required option '--data-dir <dir>' not specified"],
  ])('%j is rejected with exit code %d', (flags, code, message) => {
    const { status, stderr } = runRelet(['apiserver', ...flags], { cwd: home });
    expect(status).toBe(code);
    expect(stderr).toContain(message);
    expect(existsSync(join(home, 'x'))).toBe(false);
  });
});

/** Mistakes that everybody makes once end with a remedy and exit code 2, and are never called a bug in relet. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runRelet } from './program.js';
import { executable } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const dir = temporaryDir();
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

let webPage: string;
let brokenTls: string;
beforeAll(async () => {
  webPage = await listen(
    createHttpServer((_request, response) => response.end('<html>log in first</html>')),
    'http',
  );
  brokenTls = await listen(
    createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    'https',
  );
  mkdirSync(join(dir, 'a-directory'));
});

async function listen(server: Server, scheme: string): Promise<string> {
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function kubeconfig(name: string, user: object, server = 'https://127.0.0.1:1'): string {
  const path = join(dir, name);
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server } }],
    users: [{ name: 'u', user }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

const exec = (command: string) => ({
  exec: { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never', installHint: 'get it' },
});
const plain = () => kubeconfig('plain', {});
const file = (name: string, text: string) => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

/** Not waited for with spawnSync: the servers above are in this process. */
const relet = (args: string[]) => runRelet(args, { env: { PATH: '/usr/bin:/bin', HOME: dir } });

describe('a usual mistake', () => {
  test.each<[name: string, args: () => string[], says: RegExp]>([
    [
      'an exec plugin that is not installed',
      () => ['--kubeconfig', kubeconfig('p1', exec('relet-no-such-plugin'))],
      /is not installed\nget it\n.*install or repair it/,
    ],
    [
      'an exec plugin that fails',
      () => ['--kubeconfig', kubeconfig('p2', exec('false'))],
      /failed with exit code 1\n.*install or repair it/,
    ],
    [
      'a token with a line feed',
      () => ['--kubeconfig', kubeconfig('p3', { token: 'abc\ndef' })],
      /token or password has a line break .*; write it again/,
    ],
    [
      'a user to impersonate with a line feed',
      () => ['--kubeconfig', plain(), '--as', 'a\nb'],
      /impersonate-user has a line break/,
    ],
    [
      'a kubeconfig with a YAML error',
      () => ['--kubeconfig', file('bad', 'a: b: c\n')],
      /read kubeconfig .*; correct the file, or choose another/,
    ],
    [
      'a kubeconfig that is a directory',
      () => ['--kubeconfig', join(dir, 'a-directory')],
      /read kubeconfig .*; correct the file, or choose another/,
    ],
    [
      'a kubeconfig that does not exist',
      () => ['--kubeconfig', join(dir, 'none')],
      /no such file; point KUBECONFIG or --kubeconfig at one that exists/,
    ],
    [
      'an unknown context',
      () => ['--kubeconfig', plain(), '--context', 'x'],
      /context "x" does not exist in .* \(contexts: c\); choose one with --context\n$/,
    ],
    [
      'a server that is a web page',
      () => ['--kubeconfig', plain(), '--server', webPage],
      /gave an answer that relet cannot read .*not JSON.*; check that --server/,
    ],
    [
      'a server that does not speak TLS',
      () => ['--kubeconfig', plain(), '--server', brokenTls],
      /cannot reach the API server: .*; check that the address is one of https/,
    ],
    ['a server that is not there', () => ['--kubeconfig', plain()], /connection refused/],
    [
      'a host name that does not exist',
      () => ['--kubeconfig', plain(), '--server', 'https://relet.invalid'],
      /host name not resolved/,
    ],
    [
      'a proxy that is not a URL',
      () => ['--kubeconfig', plain(), '--proxy-url', 'nonsense'],
      /proxy .*nonsense.* is not an http or https URL/,
    ],
    [
      'a certificate that is none',
      () => ['--kubeconfig', plain(), '--client-certificate', file('cert', 'x'), '--client-key', file('key', 'x')],
      /use certificate, key and authority/,
    ],
    [
      'an authority that is a directory',
      () => ['--kubeconfig', plain(), '--certificate-authority', join(dir, 'a-directory')],
      /read certificate-authority of the cluster/,
    ],
  ])('%s', async (_name, args, says) => {
    const { status, stderr } = await relet(['get', ...args()]);
    expect(stderr).not.toContain('bug in relet');
    expect(stderr).toMatch(says);
    expect(status).toBe(2);
  });

  test('a full disk behind standard output', () => {
    const run = (words: string) =>
      spawnSync('sh', ['-c', `"${process.execPath}" "${executable}" ${words} > /dev/full`], { encoding: 'utf8' });
    for (const words of ['--help', 'config explain', 'config defaults']) {
      const { status, stderr } = run(words);
      expect(stderr).toBe('relet: cannot write: no space left on the device; free some and try again\n');
      expect(status).toBe(2);
    }
  });

  test('a reader that stops early is none', () => {
    const { stdout, stderr } = spawnSync(
      'sh',
      ['-c', `"${process.execPath}" "${executable}" config explain | head -n 1`],
      { encoding: 'utf8' },
    );
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toHaveLength(2);
  });
});

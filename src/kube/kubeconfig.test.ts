/** Reading kubeconfig files: which ones, how they are merged, and errors. Compared with kubectl where it is installed. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { needs } from '../../test/programs.js';
import { temporaryDir } from '../../test/temporary-dir.js';
import { readPlain } from '../config/plain-document.js';
import { inClusterConnection, resolveConnection } from './connection.js';
import { type Kubeconfig, kubeconfigPaths, loadKubeconfig, systemFileReader } from './kubeconfig.js';

const dir = temporaryDir();
const kubectl = needs('kubectl');

let count = 0;
function write(text: string | object, name = `${++count}.yaml`): string {
  const path = join(dir, name);
  writeFileSync(path, typeof text === 'string' ? text : JSON.stringify(text));
  return path;
}

const simple = {
  'current-context': 'c',
  clusters: [{ name: 'k', cluster: { server: 'https://k.example:6443/' } }],
  users: [{ name: 'u', user: { token: 't' } }],
  contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace: 'n' } }],
};

describe('which kubeconfig files', () => {
  test.each([
    ['the flag wins and must exist', { explicit: '/x', env: { KUBECONFIG: '/a' } }, ['/x'], true],
    ['KUBECONFIG is a list, without gaps and duplicates', { env: { KUBECONFIG: '/a::/b:/a' } }, ['/a', '/b'], false],
    ['the default is in the home directory', { env: { HOME: '/home/me' } }, ['/home/me/.kube/config'], false],
    ['an empty KUBECONFIG counts as unset', { env: { HOME: '/h', KUBECONFIG: '' } }, ['/h/.kube/config'], false],
  ])('%s', (_name, options, paths, mustExist) => {
    expect(kubeconfigPaths(options)).toEqual({ paths, mustExist });
  });
});

describe('a kubeconfig', () => {
  test('a kubeconfig has the server, user and namespace of its current context', () => {
    const connection = resolveConnection(
      loadKubeconfig([write(simple)], { readYaml: readPlain, files: systemFileReader }),
    );
    expect(connection).toMatchObject({ server: 'https://k.example:6443', userName: 'u', namespace: 'n' });
    expect(connection.user.token).toBe('t');
  });

  test('relative paths in a kubeconfig are relative to its directory', () => {
    mkdirSync(join(dir, 'sub'));
    const path = write(
      {
        clusters: [{ name: 'k', cluster: { 'certificate-authority': 'ca.crt' } }],
        users: [
          { name: 'a', user: { 'client-certificate': '../c.pem', tokenFile: '/abs', exec: { command: './plugin' } } },
          { name: 'b', user: { exec: { command: 'plugin' } } },
        ],
      },
      'sub/config',
    );
    const { clusters, users } = loadKubeconfig([path], { readYaml: readPlain, files: systemFileReader });
    expect(clusters.get('k')).toEqual({ 'certificate-authority': join(dir, 'sub/ca.crt') });
    expect(users.get('a')).toMatchObject({ 'client-certificate': join(dir, 'c.pem'), tokenFile: '/abs' });
    expect(users.get('a')!.exec!.command).toBe(join(dir, 'sub/plugin'));
    expect(users.get('b')!.exec!.command).toBe('plugin');
  });

  test('a kubeconfig may be JSON, and may have entries named like members of Object', () => {
    const config = loadKubeconfig(
      [
        write(
          '{"current-context":"__proto__","contexts":[{"name":"__proto__","context":{"cluster":"constructor"}}],"clusters":[{"name":"constructor","cluster":{"server":"http://h"}}]}',
        ),
      ],
      { readYaml: readPlain, files: systemFileReader },
    );
    expect(resolveConnection(config).server).toBe('http://h');
  });

  test.each([
    ['server', { server: 'https://other:1' }, { server: 'https://other:1' }],
    ['namespace', { namespace: 'm' }, { namespace: 'm' }],
    ['token', { token: 'x' }, { user: { token: 'x' } }],
    ['as', { as: 'jane', 'as-groups': ['g'] }, { user: { as: 'jane', 'as-groups': ['g'] } }],
  ])('the kubeconfig is overridden by the flag --%s', (_name, flags, expected) => {
    expect(
      resolveConnection(loadKubeconfig([write(simple)], { readYaml: readPlain, files: systemFileReader }), flags),
    ).toMatchObject(expected);
  });

  test('an exec plugin is not used when flags have credentials', () => {
    const path = write({ ...simple, users: [{ name: 'u', user: { exec: { command: 'x', apiVersion: 'y' } } }] });
    expect(
      resolveConnection(loadKubeconfig([path], { readYaml: readPlain, files: systemFileReader }), { token: 'x' }).user,
    ).toEqual({
      token: 'x',
    });
  });
});

describe('an invalid kubeconfig', () => {
  const resolve = (text: string | object, flags = {}) =>
    resolveConnection(loadKubeconfig([write(text, 'bad')], { readYaml: readPlain, files: systemFileReader }), flags);
  const bad = join(dir, 'bad');
  test.each<[string, string | object, object, string]>([
    ['not YAML', 'a: [b', {}, `read kubeconfig ${bad}: yaml: line 1: did not find expected ',' or ']'`],
    ['a list', '- a', {}, `read kubeconfig ${bad}: not a mapping of clusters, users and contexts`],
    [
      'an unquoted number',
      { users: [{ name: 'u', user: { token: 123 } }] },
      {},
      `read kubeconfig ${bad}: user "u": token must be a string, not a number (quote it)`,
    ],
    [
      'an argument that is a number',
      { users: [{ name: 'u', user: { exec: { command: 'x', args: ['a', 5] } } }] },
      {},
      `read kubeconfig ${bad}: user "u" exec: args[1] must be a string, not a number (quote it)`,
    ],
    [
      'an empty item among the variables of a plugin',
      { users: [{ name: 'u', user: { exec: { command: 'x', env: [null] } } }] },
      {},
      `read kubeconfig ${bad}: user "u" exec: env[0] must be a mapping, not a null`,
    ],
    [
      'an empty item among the extensions',
      { clusters: [{ name: 'c', cluster: { extensions: [null] } }] },
      {},
      `read kubeconfig ${bad}: cluster "c": extensions[0] must be a mapping, not a null`,
    ],
    [
      'a value to impersonate that is not a list',
      { users: [{ name: 'u', user: { 'as-user-extra': { a: 'b' } } }] },
      {},
      `read kubeconfig ${bad}: user "u": as-user-extra[a] must be a list, not a string`,
    ],
    [
      'a name twice',
      { clusters: [{ name: 'k' }, { name: 'k' }] },
      {},
      `read kubeconfig ${bad}: clusters has "k" twice; remove or rename one`,
    ],
    [
      'no current context',
      { ...simple, 'current-context': '' },
      {},
      `kubeconfig ${bad} has no current-context: choose one with --context or 'kubectl config use-context' (contexts: c)`,
    ],
    ['an unknown context', simple, { context: 'zz' }, `context "zz" does not exist in kubeconfig ${bad} (contexts: c)`],
    [
      'an unknown cluster',
      { ...simple, clusters: [] },
      {},
      `cluster "k" of context "c" does not exist in kubeconfig ${bad} (it has no clusters)`,
    ],
    [
      'an unknown user',
      simple,
      { user: 'zz' },
      `user "zz" of context "c" does not exist in kubeconfig ${bad} (users: u)`,
    ],
    [
      'a cluster without server',
      { ...simple, clusters: [{ name: 'k' }] },
      {},
      `cluster "k" in kubeconfig ${bad} has no server`,
    ],
    [
      'a server that is not a URL',
      { ...simple, clusters: [{ name: 'k', cluster: { server: 'ftp://x' } }] },
      {},
      'is not an http(s) URL',
    ],
    [
      'a certificate without key',
      { ...simple, users: [{ name: 'u', user: { 'client-certificate': 'c' } }] },
      {},
      'user "u": a client certificate without a key',
    ],
    ['token and password', simple, { username: 'me' }, 'user "u": both a token and a username are given; keep one'],
    ['groups to impersonate without a user', simple, { 'as-groups': ['g'] }, 'without a user (--as)'],
  ])('is an error that names the place and the remedy: %s', (_name, text, flags, message) => {
    expect(() => resolve(text, flags)).toThrow(message);
  });

  test('an explicit kubeconfig that does not exist is an error', () => {
    expect(() =>
      loadKubeconfig(['/nowhere/config'], { mustExist: true, readYaml: readPlain, files: systemFileReader }),
    ).toThrow('read kubeconfig /nowhere/config: no such file');
  });

  test('without any kubeconfig the error has the remedy', () => {
    expect(() =>
      resolveConnection(loadKubeconfig(['/nowhere/config'], { readYaml: readPlain, files: systemFileReader })),
    ).toThrow('kubeconfig /nowhere/config does not exist: point KUBECONFIG or --kubeconfig at one, or pass --server');
  });
});

describe('in a Pod', () => {
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
  test('in a Pod the service account is the identity', () => {
    for (const [file, text] of Object.entries({ token: 'abc', 'ca.crt': 'ca', namespace: 'home\n' })) write(text, file);
    expect(inClusterConnection(env, systemFileReader, dir)).toMatchObject({
      server: 'https://[fd00::1]:443',
      namespace: 'home',
      user: { tokenFile: join(dir, 'token') },
      cluster: { 'certificate-authority': join(dir, 'ca.crt') },
    });
  });

  test.each([
    ['an IPv6 address', { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }],
    ['an IPv4 address and another port', { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '6443' }],
  ])('in a Pod the official client has the same server: %s', (_what, env) => {
    const mount = join(dir, 'var/run/secrets/kubernetes.io/serviceaccount');
    mkdirSync(mount, { recursive: true });
    for (const [file, text] of Object.entries({ token: 'abc', 'ca.crt': 'ca', namespace: 'home' }))
      writeFileSync(join(mount, file), text);
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const theirs = new KubeConfig();
    theirs.loadFromCluster(dir);
    vi.unstubAllEnvs();
    const ours = inClusterConnection(env, systemFileReader, mount);
    expect(ours?.server).toBe(theirs.getCurrentCluster()?.server);
    expect(ours?.cluster['certificate-authority']).toBe(theirs.getCurrentCluster()?.caFile);
    expect(ours?.user.tokenFile).toBe(theirs.getCurrentUser()?.authProvider?.config.tokenFile);
    expect(ours?.namespace).toBe(theirs.getContextObject(theirs.getCurrentContext())?.namespace);
  });

  test('outside of a Pod there is no in-cluster connection', () => {
    expect(inClusterConnection({}, systemFileReader, dir)).toBeUndefined();
    expect(inClusterConnection(env, systemFileReader, '/nowhere')).toBeUndefined();
  });
});

const name = fc.constantFrom('a', 'b', 'c');
const unique = { selector: ({ name }: { name: string }) => name, maxLength: 3 };
const file = fc.record({
  'current-context': fc.constantFrom('', 'a', 'b'),
  clusters: fc.uniqueArray(
    fc.record({ name, cluster: fc.record({ server: fc.constantFrom('https://1', 'https://2') }) }),
    unique,
  ),
  users: fc.uniqueArray(
    fc.record({
      name,
      user: fc.record(
        { token: fc.constantFrom('t1', 't2'), tokenFile: fc.constant('/run/token') },
        { requiredKeys: [] },
      ),
    }),
    unique,
  ),
  contexts: fc.uniqueArray(
    fc.record({ name, context: fc.record({ cluster: name, user: name }, { requiredKeys: ['cluster', 'user'] }) }),
    unique,
  ),
});

describe.skipIf(kubectl.isMissing)(`merging as kubectl does${kubectl.note}`, () => {
  test('any two or three files are merged as by `kubectl config view`', () => {
    fc.assert(
      fc.property(fc.array(file, { minLength: 2, maxLength: 3 }), (files) => {
        const paths = files.map((content, index) => write(content, `merge-${index}`));
        const { stdout, stderr, status } = spawnSync('kubectl', ['config', 'view', '--raw', '-o', 'json'], {
          env: { ...process.env, KUBECONFIG: paths.join(':') },
          encoding: 'utf8',
        });
        expect(stderr).toBe('');
        expect(status).toBe(0);
        expect(comparable(loadKubeconfig(paths, { readYaml: readPlain, files: systemFileReader }))).toEqual(
          fromKubectl(JSON.parse(stdout)),
        );
      }),
      { numRuns: 12 },
    );
  });
});

function comparable(config: Kubeconfig) {
  const { currentContext, clusters, users, contexts } = config;
  const sorted = (map: Map<string, object>) => Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
  return { currentContext, clusters: sorted(clusters), users: sorted(users), contexts: sorted(contexts) };
}

type Entries = { name: string; [inner: string]: unknown }[] | null;
function fromKubectl(view: { 'current-context': string; clusters: Entries; users: Entries; contexts: Entries }) {
  const byName = (entries: Entries, inner: string) =>
    Object.fromEntries((entries ?? []).map((entry) => [entry.name, entry[inner]]));
  return {
    currentContext: view['current-context'],
    clusters: byName(view.clusters, 'cluster'),
    users: byName(view.users, 'user'),
    contexts: byName(view.contexts, 'context'),
  };
}

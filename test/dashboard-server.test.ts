/** The server of the dashboard over real HTTP, in front of the lab's API server, with people of different rights. */
import { once } from 'node:events';
import { get as httpGet } from 'node:http';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { nodeConfigs } from '../src/api/node-config.js';
import { nodeConfigSets } from '../src/api/node-config-set.js';
import { systemClock } from '../src/clock.js';
import { type Question, reply } from '../src/dashboard/server/answers.js';
import type { RunRelet } from '../src/dashboard/server/children.js';
import { proxiesOf } from '../src/dashboard/server/request-checks.js';
import { type Dashboard, type DashboardOptions, startDashboard } from '../src/dashboard/server/server.js';
import { referencesOfKind } from '../src/fleet/config-references.js';
import { createClient, type KubeClient } from '../src/kube/client.js';
import { createIdentity } from '../src/kube/identity.js';
import { systemFileReader } from '../src/kube/kubeconfig.js';
import { TimeoutError } from '../src/kube/requester.js';
import { clusterRoleBindings, clusterRoles, nodes } from '../src/kube/resource-type.js';
import { readTokenFile } from '../src/lab/apiserver/access/token-file.js';
import { type ApiServer, startApiServer } from '../src/lab/apiserver/apiserver.js';
import { silentLog } from '../src/log.js';
import { systemRandom } from '../src/random.js';
import { clientFor } from './cluster-rig.js';
import { call, logIn, openStream } from './dashboard-client.js';
import { eventually } from './eventually.js';
import { applyDeploy } from './node-config-cluster.js';
import { temporaryDir } from './temporary-dir.js';

const hostile = '</script><img src=x onerror=alert(1)>\u001b[2J';
const tokens = readTokenFile('ann-token,ann,1\nann-renewed,ann,1\nbob-token,bob,2\neve-token,eve,3', 'tokens.csv');
let api: ApiServer;
let admin: KubeClient;
const dir = temporaryDir();

beforeAll(async () => {
  api = await startApiServer({ tokens: [tokens], dataDir: join(dir, 'api') });
  admin = clientFor(api.kubeconfig);
  await applyDeploy(admin);
  for (const name of ['node-1', 'node-2']) await addNode(name);
  await admin.patch(
    nodeConfigs,
    { name: 'node-1', subresource: 'status' },
    { status: { config: { error: hostile }, cause: hostile, warnings: [hostile] } },
    { as: 'merge' },
  );
  await grant(
    'sees-all',
    'ann',
    ['nodes', 'nodeconfigs', 'nodeconfigsets', 'configmaps', 'events'],
    ['get', 'list', 'watch'],
  );
  await grant('sees-nodes', 'bob', ['nodes'], ['get', 'list', 'watch']);
  await admin.create(
    nodeConfigSets,
    {},
    {
      apiVersion: 'relet.dev/v1alpha1',
      kind: 'NodeConfigSet',
      metadata: { name: 'secret-set' },
      spec: { selector: { matchLabels: { pool: 'blue' } }, config: { overlay: { maxPods: 77 } } },
    },
  );
});
afterAll(async () => {
  admin.close();
  await api.close();
});

async function addNode(name: string): Promise<void> {
  const labels = { pool: 'blue', 'topology.kubernetes.io/zone': 'zone-a', evil: 'yes' };
  await admin.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
  await admin.create(
    nodeConfigs,
    {},
    { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata: { name }, spec: {} },
  );
}

async function grant(role: string, user: string, resources: string[], verbs: string[]): Promise<void> {
  const rules = [{ apiGroups: ['', 'relet.dev'], resources, verbs }];
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  await admin.create(clusterRoles, {}, { apiVersion, kind: 'ClusterRole', metadata: { name: role }, rules });
  await bind(admin, role, user);
}

async function bind(client: KubeClient, role: string, user: string): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const metadata = { name: role };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }];
  await client.create(clusterRoleBindings, {}, { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects });
}

const ran: { args: string[]; kubeconfig: string }[] = [];
const run: RunRelet = async (args, { kubeconfig, stdin = '' }) => {
  ran.push({ args, kubeconfig });
  return { code: 0, stdout: args[0] === '__answer' ? await answerHere(kubeconfig, stdin) : '{}', stderr: 'done' };
};

/** As `relet __answer` does it. */
async function answerHere(kubeconfig: string, stdin: string): Promise<string> {
  const { users } = JSON.parse(kubeconfig);
  const client = users[0].user.token === undefined ? clientFor(api.kubeconfig) : clientWith(users[0].user.token);
  const { name, arguments: given, mode, may } = JSON.parse(stdin) as Question;
  const { signal } = new AbortController();
  const reader = { client, references: referencesOfKind(client, mode), may, nowMs: Date.now(), signal };
  try {
    return await reply(reader, { name, arguments: given });
  } finally {
    client.close();
  }
}

const clientWith = (token: string): KubeClient =>
  createClient({
    source: () =>
      createIdentity({
        connection: { ...admin.connection, user: { token } },
        env: {},
        files: systemFileReader,
        clock: systemClock,
      }),
    clock: systemClock,
    random: systemRandom,
    userAgent: 'test',
  });

async function serve(more: Partial<DashboardOptions> = {}): Promise<Dashboard> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  return startDashboard({
    address: '127.0.0.1',
    port: 0,
    basePath: '/',
    readOnly: false,
    allowedHosts: [],
    trustedProxies: new BlockList(),
    pageDir: join(dir, 'no-page'),
    connect: (token) => (token === undefined ? clientFor(api.kubeconfig) : clientWith(token)),
    run,
    memoryMB: 4096,
    version: '0.0.0-test',
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    signal: stop.signal,
    ...more,
  });
}

describe('login', () => {
  test('a token logs in, its cookie cannot be read by scripts or sent by other pages, and logout ends it', async () => {
    const dashboard = await serve();
    const { status, headers, json } = await call(dashboard, {
      method: 'POST',
      path: '/api/login',
      body: { token: 'ann-token' },
    });
    expect({ status, user: json.user, login: json.login }).toEqual({ status: 200, user: 'ann', login: 'token' });
    expect(headers['set-cookie']![0]).toMatch(/^relet-session-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(JSON.stringify(json)).not.toContain('ann-token');
    const own = { cookie: headers['set-cookie']![0]!.split(';')[0]!, 'x-relet-csrf': json.csrf };
    expect((await call(dashboard, { path: '/api/me', headers: own })).status).toBe(200);
    expect((await call(dashboard, { method: 'POST', path: '/api/logout', body: {}, headers: own })).status).toBe(200);
    expect((await call(dashboard, { path: '/api/me', headers: own })).status).toBe(401);
  });

  test.each([
    ['a wrong token', { token: 'nobody' }, 401, 'TokenRefused'],
    ['no token', {}, 400, 'BadRequest'],
    ['a token with a line break', { token: 'a\nb' }, 400, 'BadRequest'],
    ['an invented code', { once: 'x' }, 401, 'LinkUsed'],
  ])('%s is refused', async (_name, body, status, reason) => {
    const answer = await call(await serve(), { method: 'POST', path: '/api/login', body });
    expect({ status: answer.status, reason: answer.json.reason }).toEqual({ status, reason });
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  test('a link logs in once, as the person who started the server', async () => {
    const dashboard = await serve();
    const once = dashboard.newCode();
    expect((await logIn(dashboard, { once })).me).toMatchObject({ login: 'kubeconfig', may: { createSets: true } });
    expect((await call(dashboard, { method: 'POST', path: '/api/login', body: { once } })).json.reason).toBe(
      'LinkUsed',
    );
  });

  test('a link stays valid when the API server was away', async () => {
    let isAway = true;
    const dashboard = await serve({
      connect: () => {
        const client = clientFor(api.kubeconfig);
        const away = () => Promise.reject(new TimeoutError('the API server did not answer'));
        return isAway ? { ...client, connection: client.connection, create: away } : client;
      },
    });
    const once = dashboard.newCode();
    const answer = await call(dashboard, { method: 'POST', path: '/api/login', body: { once } });
    expect({ status: answer.status, reason: answer.json.reason }).toEqual({
      status: 503,
      reason: 'APIServerUnreachable',
    });
    isAway = false;
    expect((await logIn(dashboard, { once })).me.login).toBe('kubeconfig');
  });

  test('a sixth session of a person ends the first, and says so; no number of them ends that of another person', async () => {
    const dashboard = await serve();
    const ann = await logIn(dashboard, { token: 'ann-token' });
    const first = await logIn(dashboard, { token: 'eve-token' });
    const stream = openStream(dashboard, first.headers);
    await eventually('the stream is open', () => stream.seen.text !== '');
    const others = [];
    for (let login = 2; login <= 6; login++) others.push(await logIn(dashboard, { token: 'eve-token' }));
    const statusOf = async ({ headers }: { headers: Record<string, string> }) =>
      (await call(dashboard, { path: '/api/me', headers })).status;
    // The one with an open tab stays; the oldest without one goes.
    expect(await Promise.all([ann, first, ...others].map(statusOf))).toEqual([200, 200, 401, 200, 200, 200, 200]);
    for (let login = 1; login <= 6; login++) await logIn(dashboard, { token: 'eve-token' });
    expect(await statusOf(ann)).toBe(200);
  });

  test('the header of a proxy counts only from a trusted address', async () => {
    const headers = { 'x-token': 'Bearer ann-token' };
    const trusting = await serve({ proxyHeader: 'X-Token', trustedProxies: proxiesOf(['127.0.0.1'])! });
    expect((await call(trusting, { path: '/api/me', headers })).json).toMatchObject({ user: 'ann', login: 'proxy' });
    const other = await serve({ proxyHeader: 'X-Token', trustedProxies: proxiesOf(['10.1.2.3', '10.2.0.0/16'])! });
    expect((await call(other, { path: '/api/me', headers })).status).toBe(401);
    expect((await call(await serve(), { path: '/api/me', headers })).status).toBe(401);
  });

  test('a token of a proxy that the API server does not accept is refused with a remedy for the proxy', async () => {
    const dashboard = await serve({ proxyHeader: 'X-Token', trustedProxies: proxiesOf(['127.0.0.0/8'])! });
    const { status, json } = await call(dashboard, {
      path: '/api/me',
      headers: { 'x-token': 'Bearer of-another-issuer' },
    });
    expect({ status, ...json }).toMatchObject({ status: 401, reason: 'ProxyTokenRefused' });
    expect(json.remedy).toContain('must trust the issuer');
  });
});

describe('two logins', () => {
  test('of one browser, which has one cookie: a tab of the first gets nothing of the second', async () => {
    const dashboard = await serve();
    const ann = await logIn(dashboard, { token: 'ann-token' });
    const admin = await logIn(dashboard, { once: dashboard.newCode() });
    const headers = { cookie: admin.headers.cookie, 'x-relet-csrf': ann.me.csrf };
    for (const path of ['/api/me', '/api/nodes/node-1', '/api/sets/secret-set']) {
      const { status, json } = await call(dashboard, { path, headers });
      expect({ path, status, ...json }).toMatchObject({ path, status: 403, reason: 'CSRFTokenMissing' });
    }
    expect((await call(dashboard, { path: '/api/me', headers: admin.headers })).status).toBe(200);
  });

  test('of a proxy that has renewed the token of a person: an open page works on; that of another person does not', async () => {
    const dashboard = await serve({ proxyHeader: 'X-Token', trustedProxies: proxiesOf(['127.0.0.1'])! });
    const { csrf } = (await call(dashboard, { path: '/api/me', headers: { 'x-token': 'ann-token' } })).json;
    const planned = async (token: string) => {
      const headers = { 'x-token': token, 'x-relet-csrf': csrf };
      return (await call(dashboard, { method: 'POST', path: '/api/sets/plan', body: { yaml: 'a: 1' }, headers }))
        .status;
    };
    expect([await planned('ann-token'), await planned('ann-renewed'), await planned('bob-token')]).toEqual([
      200, 200, 403,
    ]);
  });
});

describe('what another page could try', () => {
  test.each([
    ['without the CSRF header', {}, 'CSRFTokenMissing'],
    ['with a wrong CSRF header', { 'x-relet-csrf': 'x' }, 'CSRFTokenMissing'],
    ['with a foreign Origin', { origin: 'https://evil.example' }, 'ForeignOrigin'],
    ['as the browser marks it', { 'sec-fetch-site': 'cross-site' }, 'ForeignOrigin'],
  ])('a POST %s changes nothing', async (_name, more, reason) => {
    const dashboard = await serve();
    const { headers } = await logIn(dashboard, { token: 'ann-token' });
    const own = {
      cookie: headers.cookie,
      ...('x-relet-csrf' in more || reason !== 'ForeignOrigin' ? {} : headers),
      ...more,
    };
    const before = ran.length;
    const answer = await call(dashboard, {
      method: 'POST',
      path: '/api/nodes/node-1/undo',
      body: {},
      headers: own as Record<string, string>,
    });
    expect({ status: answer.status, reason: answer.json.reason }).toEqual({ status: 403, reason });
    expect(ran).toHaveLength(before);
  });

  test('a foreign name that points to loopback is not answered; a name that was allowed is', async () => {
    const dashboard = await serve({ allowedHosts: ['relet.example'] });
    const status = async (host: string) => (await call(dashboard, { path: '/healthz', headers: { host } })).status;
    expect(await Promise.all(['evil.example', 'localhost:1', '127.0.0.1', 'relet.example'].map(status))).toEqual([
      421, 200, 200, 200,
    ]);
  });

  test('every answer forbids inline scripts, frames, foreign requests and sniffing', async () => {
    const dashboard = await serve();
    for (const path of ['/', '/api/me', '/nodes/x', '/nothing.js']) {
      const { headers } = await call(dashboard, { path });
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'");
      expect(policy).not.toContain('unsafe');
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    }
  });

  test.each([
    ['a path that climbs', '/api/nodes/..%2F..%2Fsecrets', 400],
    ['a name that is an option', '/api/nodes/--help', 400],
    ['broken escapes', '/api/nodes/%zz', 400],
    ['another method', '/api/nodes/node-1/rm', 400],
  ])('%s is rejected', async (_name, path, status) => {
    const dashboard = await serve();
    const { headers } = await logIn(dashboard, { token: 'ann-token' });
    const method = path.endsWith('/rm') ? 'POST' : 'GET';
    expect((await call(dashboard, { method, path, headers, ...(method === 'POST' && { body: {} }) })).status).toBe(
      status,
    );
  });

  test('a body of more than 1 MiB is not read to its end', async () => {
    const body = { token: 'x'.repeat(2 * 1024 * 1024) };
    const dashboard = await serve();
    const answer = await call(dashboard, { method: 'POST', path: '/api/login', body }).catch((error: Error) => error);
    expect(answer instanceof Error || answer.status === 413).toBe(true);
  });
});

describe('who sees what', () => {
  test('a person gets on the wire nothing that they may not read', async () => {
    const dashboard = await serve();
    const [ann, bob] = await Promise.all([
      logIn(dashboard, { token: 'ann-token' }),
      logIn(dashboard, { token: 'bob-token' }),
    ]);
    expect(ann.me.may).toMatchObject({ seeFleet: true, seeSets: true, changeNodes: false, steerSets: false });
    expect(bob.me.may).toMatchObject({ seeFleet: false, seeSets: false, seeConfigs: false });
    const [annSees, bobSees] = [openStream(dashboard, ann.headers), openStream(dashboard, bob.headers)];
    await eventually('ann sees the fleet and the set', () => {
      expect(annSees.rows().map(({ name }) => name)).toEqual(['node-1', 'node-2']);
      expect(
        annSees
          .events('sets')
          .at(-1)
          ?.sets.map(({ name }) => name),
      ).toEqual(['secret-set']);
    });
    await eventually('bob gets an empty fleet', () => expect(bobSees.events('fleet')).not.toEqual([]));
    const asked = [
      '/api/nodes/node-1',
      '/api/sets/secret-set',
      '/api/configs',
      '/api/timeline',
      '/api/labels',
      '/api/select?selector=pool%3Dblue',
      '/api/configs/relet-system/x',
      '/api/upgrade-check?to=1.37',
      '/api/inventory',
      '/api/audit',
    ];
    const answers = await Promise.all(asked.map((path) => call(dashboard, { path, headers: bob.headers })));
    // An error repeats the name that he asked for.
    const wire = [bobSees.seen.text, ...answers.map(({ text }) => text.replaceAll('"secret-set\\"', ''))].join('\n');
    expect(wire).not.toMatch(/node-2|zone-a|maxPods|onerror/);
    expect(bobSees.seen.text).not.toContain('secret-set');
    expect(answers.slice(0, 2).map(({ status }) => status)).toEqual([403, 403]);
    expect((await call(dashboard, { path: '/api/select?selector=pool%3Dblue', headers: ann.headers })).json.count).toBe(
      2,
    );
  });

  test('rights that are taken away take the fleet from the page', async () => {
    const dashboard = await serve();
    await grant('eve-sees', 'eve', ['nodes', 'nodeconfigs'], ['get', 'list', 'watch']);
    const eve = await logIn(dashboard, { token: 'eve-token' });
    expect(eve.me.may.seeFleet).toBe(true);
    await admin.delete(clusterRoleBindings, { name: 'eve-sees' });
    // Her watches are refused from now on; the list is the first that she asks for.
    const sees = openStream(dashboard, eve.headers);
    await eventually('the page receives it', () => expect(sees.events('access').at(-1)?.may.seeFleet).toBe(false));
    await eventually('and is empty', () => expect(sees.events('fleet').at(-1)?.rows.name).toEqual([]));
    expect(sees.rows()).toEqual([]);
  });

  test('an eleventh tab gets the reason and nothing else; the others stay open', async () => {
    const dashboard = await serve();
    const { headers } = await logIn(dashboard, { once: dashboard.newCode() });
    const tabs = Array.from({ length: 10 }, () => openStream(dashboard, headers));
    await eventually('ten snapshots', () => expect(tabs.every((tab) => tab.events('fleet').length > 0)).toBe(true));
    const another = openStream(dashboard, headers);
    await eventually('it ends', () => expect(another.seen.ended).toBe(true));
    expect(another.events('rejected')).toMatchObject([{ reason: 'TooManyStreams', remedy: 'Close some of them.' }]);
    expect(another.events('fleet')).toEqual([]);
    expect(tabs.some((tab) => tab.seen.ended)).toBe(false);
  });

  test('tabs that are closed while their session is opened do not count as open', async () => {
    let proceed = () => {};
    const allowed = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const dashboard = await serve({
      proxyHeader: 'X-Token',
      trustedProxies: proxiesOf(['127.0.0.1'])!,
      connect: () => {
        const client = clientFor(api.kubeconfig);
        const create: KubeClient['create'] = (...args) => allowed.then(() => client.create(...args)) as never;
        return { ...client, connection: client.connection, create };
      },
    });
    const headers = { 'x-token': 'ann-token' };
    const closed = Array.from({ length: 10 }, () => {
      const request = httpGet({ port: dashboard.port, host: '127.0.0.1', path: '/api/stream', headers });
      request.on('error', () => {});
      return request;
    });
    const isServed = () => call(dashboard, { path: '/healthz' });
    await Promise.all(closed.map((request) => once(request, 'finish')));
    await isServed();
    for (const request of closed) request.destroy();
    await isServed();
    proceed();
    await eventually('a tab gets its data', async () => {
      const tab = openStream(dashboard, headers);
      await eventually('an answer', () => tab.seen.text !== '');
      return tab.events('rejected').length === 0;
    });
  });

  test('changes reach an open page, and a hostile text stays a text', async () => {
    const dashboard = await serve();
    const { headers } = await logIn(dashboard, { token: 'ann-token' });
    const sees = openStream(dashboard, headers);
    await eventually('snapshot', () => expect(sees.rows()).toHaveLength(2));
    await addNode('node-3');
    await eventually('new row', () =>
      expect(sees.events('rows').flatMap(({ upsert }) => upsert.map(({ name }) => name))).toContain('node-3'),
    );
    await admin.delete(nodeConfigs, { name: 'node-3' });
    await admin.delete(nodes, { name: 'node-3' });
    await eventually('gone', () => expect(sees.events('rows').flatMap(({ remove }) => remove)).toContain('node-3'));
    const { headers: answered, text } = await call(dashboard, { path: '/api/nodes/node-1', headers });
    expect(answered['content-type']).toBe('application/json; charset=utf-8');
    expect(text).not.toContain('\u001b');
  });
});

describe('buttons', () => {
  test('a button runs the command that it shows, with the credential of the person', async () => {
    const dashboard = await serve();
    const { headers } = await logIn(dashboard, { token: 'ann-token' });
    const path = '/api/sets/secret-set/approve';
    const answer = await call(dashboard, { method: 'POST', path, body: { revision: 'abc', wave: 2 }, headers });
    expect(answer.json).toMatchObject({
      command: 'relet rollout approve secret-set --revision abc --wave 2',
      code: 0,
      output: 'done',
    });
    const { args, kubeconfig } = ran.at(-1)!;
    expect(args).toEqual([
      'rollout',
      'approve',
      'secret-set',
      '--revision',
      'abc',
      '--wave',
      '2',
      '--yes',
      '-o',
      'json',
    ]);
    expect(JSON.parse(kubeconfig).users[0].user).toEqual({ token: 'ann-token' });
  });

  test('a login without any right gets no command and no comparison, only the sentence why', async () => {
    const dashboard = await serve();
    const { headers } = await logIn(dashboard, { token: 'eve-token' });
    const before = ran.length;
    const body = { yaml: 'x', revision: 'abc' };
    for (const path of ['/api/sets/secret-set/approve', '/api/sets/plan', '/api/nodes/node-1/undo', '/api/sets'])
      expect(await call(dashboard, { method: 'POST', path, body, headers })).toMatchObject({
        status: 403,
        json: { reason: 'NoRights', message: expect.stringMatching(/^eve may see and change nothing of relet/) },
      });
    const rehearsal = await call(dashboard, { method: 'POST', path: '/api/sets/rehearse', body, headers });
    expect(rehearsal.text).toContain('"reason":"NoRights"');
    for (const path of ['/api/configs/diff?a=x/a&b=x/b', '/api/nodes/node-1/diff?from=active&to=local'])
      expect((await call(dashboard, { path, headers })).json.reason).toBe('NoRights');
    expect(ran).toHaveLength(before);
  });

  test('what a node or an author wrote is decoded and compared in a process of its own, which may take too much', async () => {
    const ended = 'it needed more than 192 MB of memory';
    // Output of a process that was ended is not an answer.
    const dashboard = await serve({ run: async () => ({ code: 2, stdout: '200\n{"changes":[', stderr: 'x', ended }) });
    const { headers } = await logIn(dashboard, { token: 'ann-token' });
    const compared = ['/api/configs/diff?a=x/a&b=x/b', '/api/nodes/node-1/diff?from=active&to=local'];
    for (const path of [...compared, '/api/nodes/node-1', '/api/sets/secret-set', '/api/configs/x/a'])
      expect(await call(dashboard, { path, headers })).toMatchObject({
        status: 503,
        json: { reason: 'TooMuchWork', message: `This was too much work for the server: ${ended}.` },
      });
  });

  test('an answer that is under way when its session ends says that one has to log in again', async () => {
    let isUnderWay = false;
    const ended = 'nobody waits for it any more';
    const dashboard = await serve({
      run: (_args, { signal }) =>
        new Promise((resolve) => {
          isUnderWay = true;
          signal.addEventListener('abort', () => resolve({ code: 2, stdout: '', stderr: 'x', ended }));
        }),
    });
    const { headers } = await logIn(dashboard, { token: 'ann-token' });
    const answer = call(dashboard, { path: '/api/nodes/node-1', headers });
    await eventually('the answer is under way', () => isUnderWay);
    await call(dashboard, { method: 'POST', path: '/api/logout', body: {}, headers });
    expect(await answer).toMatchObject({ status: 401, json: { reason: 'LoginNeeded' } });
  });

  test('with --read-only not even an administrator can change anything', async () => {
    const dashboard = await serve({ readOnly: true });
    const { me, headers } = await logIn(dashboard, { once: dashboard.newCode() });
    expect(me).toMatchObject({
      readOnly: true,
      may: { changeNodes: false, steerSets: false, changeSets: false, createSets: false, seeFleet: true },
    });
    const before = ran.length;
    for (const path of ['/api/nodes/node-1/undo', '/api/sets/secret-set/abort', '/api/sets'])
      expect((await call(dashboard, { method: 'POST', path, body: { yaml: 'x' }, headers })).json.reason).toBe(
        'ReadOnly',
      );
    expect(ran).toHaveLength(before);
  });
});

test('below a base path everything is below it, cookies too', async () => {
  const dashboard = await serve({ basePath: '/ops/relet/' });
  const { status, headers } = await call(dashboard, {
    method: 'POST',
    path: '/ops/relet/api/login',
    body: { token: 'ann-token' },
    headers: { 'x-forwarded-proto': 'https' },
  });
  expect(status).toBe(200);
  expect(headers['set-cookie']![0]).toMatch(/; Path=\/ops\/relet\/; HttpOnly; SameSite=Strict; Secure$/);
  expect((await call(dashboard, { path: '/api/me' })).status).toBe(404);
  expect((await call(dashboard, { path: '/ops/relet' })).headers.location).toBe('/ops/relet/');
});

test('an API server that goes away makes the page stale, and fresh when it is back; a token that it forgot asks for a login', async () => {
  const dataDir = join(dir, 'restarted');
  const first = await startApiServer({ tokens: [tokens], dataDir });
  const own = clientFor(first.kubeconfig);
  await applyDeploy(own);
  // With rights, so that her watches meet the server that does not know her.
  await bind(own, 'relet:viewer', 'ann');
  const { connection } = own;
  const port = Number(new URL(first.url).port);
  const dashboard = await serve({
    proxyHeader: 'X-Token',
    trustedProxies: proxiesOf(['127.0.0.1'])!,
    connect: (token) =>
      createClient({
        source: () =>
          createIdentity({
            connection: token === undefined ? connection : { ...connection, user: { token } },
            env: {},
            files: systemFileReader,
            clock: systemClock,
          }),
        clock: systemClock,
        random: systemRandom,
        userAgent: 'test',
      }),
  });
  const asAdmin = await logIn(dashboard, { once: dashboard.newCode() });
  const asAnn = await logIn(dashboard, { token: 'ann-token' });
  const [sees, annSees] = [openStream(dashboard, asAdmin.headers), openStream(dashboard, asAnn.headers)];
  await eventually('snapshot', () => expect(sees.events('fleet')).not.toEqual([]));
  const throughProxy = openStream(dashboard, { 'x-token': 'ann-renewed' });
  await eventually('snapshot of ann', () => expect(annSees.events('fleet')).not.toEqual([]));
  await eventually('snapshot of ann, through the proxy', () => expect(throughProxy.events('fleet')).not.toEqual([]));
  await first.close();
  await eventually('stale', () => expect(sees.events('stale')).not.toEqual([]));
  const again = await startApiServer({ dataDir, port });
  onTestFinished(() => again.close());
  await eventually('fresh', () => expect(sees.events('fresh')).not.toEqual([]));
  // The stream ends the session: nobody has to click for it.
  await eventually('ann is asked to log in', () =>
    expect(annSees.events('login')).toMatchObject([{ reason: 'LoginNeeded' }]),
  );
  await eventually('her stream ends', () => expect(annSees.seen.ended).toBe(true));
  expect((await call(dashboard, { path: '/api/nodes/none', headers: asAnn.headers })).status).toBe(401);
  expect(sees.events('login')).toEqual([]);
  // The proxy may have renewed it: the page opens the stream again.
  await eventually('her stream through the proxy ends', () => expect(throughProxy.seen.ended).toBe(true));
  expect(throughProxy.events('login')).toEqual([]);
  own.close();
});

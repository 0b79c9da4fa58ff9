/** Verbs that look, against the API server as a process, in a pipe, with nodes played by the test. */
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { header, OperatorCluster } from './operator-rig.js';

let cluster: OperatorCluster;

/** alpha is on trial, b-1 has passed its trial, b-2 is local, b-3 rejects its config. No test changes them. */
beforeAll(async () => {
  cluster = await OperatorCluster.start();
  await cluster.node('alpha', { labels: { pool: 'red' } });
  for (const name of ['b-1', 'b-2', 'b-3'])
    await cluster.node(name, { labels: { pool: 'blue' }, does: name === 'b-3' ? 'refuse' : 'prove' });
  await cluster.node('pinned', { flags: ['--max-pods=60'], pinned: ['maxPods'], does: 'prove' });
  file('push.yaml', `${header}maxPods: 77\n`);
  for (const [name, maxPods] of [
    ['alpha', 150],
    ['b-1', 125],
    ['pinned', 70],
  ])
    await cluster.relet(`set ${name} maxPods=${maxPods} --yes`);
  await cluster.relet(`assign ${await cluster.push(`${header}maxPods: 77\n`)} b-3 --yes`);
});
afterAll(() => cluster?.close());

const file = (name: string, text: string) => cluster.file(name, text);
const sourceOf = (name: string) => cluster.sourceOf(name);
const payloadOf = (name: string) => cluster.payloadOf(name);

describe('words that cannot be meant', () => {
  test.each([
    ['diff b-1 ./missing.yaml', 'cannot read ./missing.yaml: there is no such file'],
    ['diff b-1 ../missing', 'cannot read ../missing: there is no such file'],
    ['describe ..', "'..' cannot be the name of a node; 'relet get' lists them"],
    ['reset Node/b-1 --yes', "'Node/b-1' cannot be the name of a node"],
    ['assign a/b/c b-1 --yes', "'a/b/c' cannot be the name of a ConfigMap: write NAME or NAMESPACE/NAME"],
    ['get --sort-by nonsense', '--sort-by nonsense: choose one of name, age, state'],
  ])('relet %s exits with 2', async (words, message) => {
    const { status, stdout, stderr } = await cluster.relet(words.split(' '));
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(`relet: ${message}`);
  });

  test('a node that is not there is said once', async () => {
    const { stderr } = await cluster.relet('get nosuch');
    expect(stderr).toBe("relet: there is no node 'nosuch'; 'relet get' lists them\n");
  });
});

describe('relet view and diff', () => {
  test('each of the configs of a node', async () => {
    const { text } = await payloadOf('b-1');
    for (const which of ['--assigned', '--active', '--last-known-good'])
      expect(await cluster.relet(`view b-1 ${which}`)).toEqual({ status: 0, stdout: text, stderr: '' });
    expect((await cluster.relet('view b-1')).stdout).toMatch(/^maxPods: 125$/m);
    const asJson = await cluster.relet('view b-1 --assigned -o json');
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      kind: 'KubeletConfigurationOverlay',
      config: { maxPods: 125 },
    });
  });

  test('what the API does not have is said, with the way to it', async () => {
    const { status, stderr } = await cluster.relet('view alpha --local');
    expect(status).toBe(2);
    expect(stderr).toMatch(/is a file on that host.*'relet node status' on the host/);
    expect((await cluster.relet('view alpha --last-known-good')).stderr).toContain('does not report it');
    expect((await cluster.relet('view b-2 --local')).stdout).toBe(header);
  });

  test('an edited ConfigMap no longer has the version that runs', async () => {
    const place = { namespace: 'relet-system', name: 'by-hand' };
    const data = { kubelet: `${header}maxPods: 50\n` };
    await cluster.admin.create(
      configMaps,
      { namespace: 'relet-system' },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'by-hand' }, data },
    );
    await cluster.node('edited', { does: 'prove' });
    await cluster.relet('assign by-hand edited --yes');
    await cluster.admin.patch(configMaps, place, { data: { kubelet: `${header}maxPods: 51\n` } }, { as: 'merge' });
    const { status, stderr } = await cluster.relet('view edited --active');
    expect(status).toBe(2);
    expect(stderr).toContain("'relet node view active' on the host prints it");
  });

  test('diff compares with a file, a ConfigMap, a node, and with what was assigned', async () => {
    expect((await cluster.relet('diff b-1')).status).toBe(0);
    const withFile = await cluster.relet('diff b-1 push.yaml');
    expect(withFile).toMatchObject({ status: 1, stderr: '' });
    expect(withFile.stdout).toMatch(/^maxPods {2}restart\n {4}- 125\n {4}\+ 77$/m);
    expect((await cluster.relet('diff b-1 node/alpha')).stdout).toMatch(/^\+\+\+ alpha, as it runs$/m);
    expect((await cluster.relet(['diff', 'b-1', `configmap/${await sourceOf('b-1')}`])).status).toBe(0);
    const { status, stderr } = await cluster.relet('diff b-1 nothing-of-that-name');
    expect(status).toBe(2);
    expect(stderr).toContain('is not a file here, a node, or a ConfigMap');
  });
});

describe('relet diff of a node whose flags pin a field', () => {
  test('does not predict a change of that field', async () => {
    file('flagged.yaml', `${header}maxPods: 99\npodsPerCore: 7\n`);
    const { status, stdout } = await cluster.relet('diff pinned flagged.yaml');
    expect(status).toBe(1);
    expect(stdout).toMatch(/^podsPerCore {2}restart$/m);
    expect(stdout).not.toMatch(/^maxPods {2}/m);
    expect(stdout).toMatch(/pin these fields, so they do not change:\n {4}maxPods: stays 60, not 99$/m);
    const { stdout: json } = await cluster.relet('diff pinned flagged.yaml -o json');
    expect(JSON.parse(json)).toContainEqual(expect.objectContaining({ path: 'maxPods', pinnedByFlag: true }));
  });

  test('exits with 0 where only pinned fields differ from what is assigned', async () => {
    const { status, stdout } = await cluster.relet('diff pinned');
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('stays 60, not 70') });
  });
});

describe('relet wait', () => {
  test('-o json gives one object, and nothing else on standard output', async () => {
    const { stdout } = await cluster.relet('wait b-1 pinned --for=ok -o json');
    const { nodes: waited, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({ apiVersion: 'cli.relet.dev/v1', kind: 'WaitResult', for: 'ok' });
    expect(waited).toEqual(['b-1', 'pinned'].map((node) => ({ node, state: 'active', reached: true })));
  });

  test('0 when it is so, with the words of kubectl', async () => {
    expect(await cluster.relet('wait b-1 --for=lastKnownGood')).toEqual({
      status: 0,
      stdout: 'node/b-1 condition met\n',
      stderr: '',
    });
  });

  test('3 when the time is over', async () => {
    const { status, stderr } = await cluster.relet('wait alpha --for=lastKnownGood --timeout=100ms');
    expect(status).toBe(3);
    expect(stderr).toBe("relet: not 'lastKnownGood' after 0.1 s: alpha (trial)\n");
  });

  test('1 when it never will', async () => {
    const { status, stderr } = await cluster.relet('wait b-3 b-1 --for=ok');
    expect(status).toBe(1);
    expect(stderr).toMatch(/b-3 will not reach 'ok': rejected: the kubelet/);
  });

  test('2 for a node that is not there, or nobody asked about', async () => {
    expect((await cluster.relet('wait nobody')).status).toBe(2);
    expect((await cluster.relet('wait')).status).toBe(2);
    expect((await cluster.relet('wait -l pool=green --timeout=5s')).status).toBe(2);
  });

  test('wakes up when the node gets there', async () => {
    const waking = await cluster.node('waking');
    await cluster.relet('set waking maxPods=160 --yes --no-wait');
    const waiting = cluster.relet('wait waking --for=lastKnownGood --timeout=20s');
    await cluster.relet('wait waking --for=active');
    const { assigned } = (await cluster.object('waking')).status.config!;
    await waking.report({ assigned: assigned!, active: assigned!, lastKnownGood: assigned! });
    expect(await waiting).toMatchObject({ status: 0, stdout: 'node/waking condition met\n' });
  });
});

describe('relet describe and doctor', () => {
  test('describe shows state, cause, history and the next step in 80 columns', async () => {
    const { status, stdout } = await cluster.relet('describe b-3');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^State: +rejected$/m);
    expect(stdout).toMatch(/^Cause: +port 10250 is taken$/m);
    expect(stdout).toContain('Correct it with');
    expect(stdout).toMatch(/^Last changes:\n {2}- .*assign by/m);
    expect(stdout).toMatch(/^Last events:\n {2}- .*KubeletConfig/m);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('describe shows no cause of another version of the config, though its error has the same words', async () => {
    const newer = await cluster.node('newer', { does: 'refuse' });
    await cluster.relet('set newer maxPods=161 --yes');
    const { assigned, error } = (await cluster.object('newer')).status.config!;
    const configMap = { ...assigned!.configMap!, resourceVersion: '999999' };
    await newer.report({ assigned: { configMap }, error: error! });
    const { stdout } = await cluster.relet('describe newer');
    expect(stdout).toMatch(/^State: +rejected$/m);
    expect(stdout).not.toMatch(/^Cause:/m);
  });

  test('doctor finds what is wrong, and exits with 1', async () => {
    await cluster.node('lost', { does: 'deaf' });
    await cluster.admin.patch(
      nodes,
      { name: 'lost' },
      {
        spec: {
          configSource: { configMap: { namespace: 'relet-system', name: 'missing', kubeletConfigKey: 'kubelet' } },
        },
      },
      { as: 'merge' },
    );
    const { status, stdout } = await cluster.relet('doctor -o json');
    const found = JSON.parse(stdout) as { level: string; what: string; remedy?: string }[];
    const whats = found.map(({ level, what }) => `${level}: ${what}`);
    expect(status).toBe(1);
    expect(whats).toContain('ok: the server keeps spec.configSource of Nodes');
    expect(whats).toContain('error: assigned a config, and nothing there ever reported about it: lost');
    expect(whats).toContain(
      'error: ConfigMap relet-system/missing is assigned to lost and does not exist; they keep what they have',
    );
    expect(whats.join('\n')).toMatch(/^error: rejected: b-3/m);
    expect(whats.join('\n')).toMatch(/warning: pinned: flags of the kubelet pin maxPods/);
    expect(found.filter(({ level, remedy }) => level === 'error' && remedy === undefined)).toEqual([]);
  });

  test('doctor of one node, as somebody who may not', async () => {
    const { stdout } = await cluster.relet('doctor b-1 --as ann --as-group system:masters');
    expect(stdout).toContain('All is well.');
    const ann = await cluster.relet('doctor b-1 --as ann');
    expect(ann.stdout).toMatch(/^unknown {2}the nodes: nodes "b-1" is forbidden/m);
    expect(ann.stdout).toMatch(/warning {2}you may not patch nodes: assigning a config to a node will be refused/);
    expect(ann.stdout.match(/ask an administrator/g)).toHaveLength(1);
    expect(ann.stdout).toMatch(/could not be checked\.$/m);
    expect(ann.status).toBe(2);
  });
});

describe('relet get', () => {
  test('in a pipe nothing is cut, and there are no colours', async () => {
    const { stdout } = await cluster.relet('get b-1 b-3');
    expect(stdout).not.toMatch(/…|\x1b/);
    expect(stdout).toContain(await sourceOf('b-1'));
  });

  test.each([
    ['-o name', ['get', 'b-1', 'b-2', '-o', 'name'], 'node/b-1\nnode/b-2\n'],
    [
      'a template',
      ['get', '-l', 'pool=blue', '-o', 'jsonpath={range .items[*]}{.metadata.name},{end}'],
      'b-1,b-2,b-3,',
    ],
    ['columns', ['get', 'b-3', '-o', 'custom-columns=N:.metadata.name,S:.status.state'], 'N     S\nb-3   rejected\n'],
    ['sorted', ['get', '-l', 'pool=blue', '--sort-by', 'state', '-o', 'name'], 'node/b-1\nnode/b-2\nnode/b-3\n'],
  ])('%s', async (_name, args, stdout) => {
    expect(await cluster.relet(args)).toEqual({ status: 0, stdout, stderr: '' });
  });

  test('json and yaml have the same, in the shape that is documented', async () => {
    const json = JSON.parse((await cluster.relet('get b-1 -o json')).stdout);
    expect(json).toMatchObject({
      kind: 'NodeConfigSummary',
      metadata: { name: 'b-1', labels: { pool: 'blue' } },
      spec: { configSource: { configMap: { namespace: 'relet-system' } } },
      status: { state: 'active', ready: 'True', kubeletVersion: 'v1.32.1' },
    });
    const { parse } = await import('yaml');
    expect(parse((await cluster.relet('get b-1 -o yaml')).stdout)).toEqual(json);
    const list = JSON.parse((await cluster.relet('get -l pool=blue -o json')).stdout);
    expect(list).toMatchObject({ kind: 'List', items: [{}, {}, {}] });
  });

  test.each([
    ['an unknown format', ['get', '-o', 'xml'], /choose one of wide, json/],
    ['a path that is none', ['get', '-o', 'jsonpath={.items'], /unmatched/],
    ['names with a selector', ['get', 'b-1', '-l', 'a=b'], /do not go together/],
    ['a node that is not there, beside one that is', ['get', 'b-1', 'nobody'], /there is no node 'nobody'/],
  ])('%s exits with 2', async (_name, args, message) => {
    const { status, stderr } = await cluster.relet(args);
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
  });

  test('no node at all is not an error', async () => {
    expect(await cluster.relet('get -l pool=green')).toEqual({
      status: 0,
      stdout: '',
      stderr: 'relet: no nodes found\n',
    });
  });
});

describe('an API that does not answer', () => {
  test('hangs: exits with 2 after --request-timeout, and says what to do', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as AddressInfo;
    const { status, stderr } = await cluster.relet(`get -s http://127.0.0.1:${port} --request-timeout 200ms`);
    silent.close();
    expect(status).toBe(2);
    expect(stderr).toMatch(/does not answer .*no answer in 200 ms.*--request-timeout/);
  });

  test('is not there: exits with 2', async () => {
    const { status, stderr } = await cluster.relet('get -s https://127.0.0.1:1');
    expect(status).toBe(2);
    expect(stderr).toMatch(/cannot reach the API server: .*connection refused/);
  });

  test('no kubeconfig at all: exits with 2', async () => {
    const { status, stderr } = await cluster.relet('get', { env: { KUBECONFIG: '/nonexistent' } });
    expect(status).toBe(2);
    expect(stderr).toMatch(/kubeconfig \/nonexistent does not exist: point KUBECONFIG/);
  });

  test('-v prints each request', async () => {
    const { stderr } = await cluster.relet('get -v b-1');
    expect(stderr).toMatch(/^relet: GET https:\S+\/api\/v1\/nodes\/b-1 200 in \d+ ms$/m);
  });
});

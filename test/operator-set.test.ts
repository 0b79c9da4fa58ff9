/** relet set, in a pipe, on an API server in its own process and nodes that the test plays. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OperatorCluster, overlayHeader } from './operator-rig.js';

let cluster: OperatorCluster;

beforeAll(async () => {
  cluster = await OperatorCluster.start();
  // No test changes these two.
  for (const name of ['wrong', 'wrong-2']) await cluster.node(name, { labels: { pool: 'few' } });
});
afterAll(() => cluster?.close());

const stored = async (node: string) => [
  await cluster.configMapNames(),
  (await cluster.object(node)).metadata.resourceVersion,
];

describe('relet set', () => {
  test('changes a field: a hashed, immutable, labelled ConfigMap, assigned and active', async () => {
    await cluster.node('alpha');
    const { status, stdout, stderr } = await cluster.relet(['set', 'alpha', 'maxPods=150', '--yes']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^maxPods {2}restart\n {4}- 110\n {4}\+ 150$/m);
    expect(stdout).toMatch(/^configmap\/kubelet-config-\w{10} created in namespace relet-system$/m);
    expect(stdout).toMatch(/^alpha: active: relet-system\/kubelet-config-\w{10}\/kubelet; on trial/m);
    const { text, immutable, metadata } = await cluster.payloadOf('alpha');
    expect(text).toBe(`${overlayHeader}config:\n  maxPods: 150\n`);
    expect(immutable).toBe(true);
    expect(metadata.labels).toEqual({ 'relet.dev/kubelet-config': 'true' });
  });

  test('the history says who, when and why, and what became of it', async () => {
    await cluster.node('recorded');
    await cluster.relet(['set', 'recorded', 'maxPods=149', '--yes', '-m', 'more pods']);
    const { stdout } = await cluster.relet('history recorded -o json');
    expect(JSON.parse(stdout)).toEqual([
      {
        revision: 1,
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        by: 'kubernetes-admin',
        verb: 'set',
        why: 'more pods',
        from: 'local',
        to: `relet-system/${await cluster.sourceOf('recorded')}/kubelet`,
        verified: false,
        result: { outcome: 'trial' },
        state: 'trial',
      },
    ]);
  });

  test('once more is not a change', async () => {
    await cluster.node('same');
    await cluster.relet('set same maxPods=148 --yes');
    const before = await cluster.object('same');
    const { status, stdout } = await cluster.relet('set same maxPods=148 --yes');
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'same: has that already, nothing to change\n' });
    expect((await cluster.object('same')).spec).toEqual(before.spec);
  });

  test('a dry run prints, and changes nothing', async () => {
    await cluster.node('dry');
    const before = await stored('dry');
    for (const how of ['client', 'server']) {
      const { status, stdout } = await cluster.relet(`set dry maxPods=151 --dry-run=${how}`);
      expect(status).toBe(0);
      expect(stdout).toMatch(/dry: assigned relet-system\/kubelet-config-\w{10}\/kubelet \((server )?dry run\)/);
    }
    expect(await stored('dry')).toEqual(before);
  });

  test('many nodes: one ConfigMap per distinct result, whatever version and host, one node at a time', async () => {
    for (const name of ['b-1', 'b-2', 'b-3']) await cluster.node(name, { labels: { pool: 'blue' }, does: 'prove' });
    await cluster.node('old', { version: 'v1.17.17', labels: { pool: 'old' } });
    const { status, stdout } = await cluster.relet(['set', '-l', 'pool in (blue,old)', 'maxPods=99', '--yes']);
    expect(status).toBe(0);
    const names = await Promise.all(['b-1', 'b-2', 'b-3', 'old'].map((name) => cluster.sourceOf(name)));
    expect(new Set(names).size).toBe(1);
    const ends = [...stdout.matchAll(/^(\S+): (assigning|active: )/gm)].map(
      ([, name, what]) => `${name} ${what!.slice(0, 6)}`,
    );
    expect(ends).toEqual(['b-1', 'b-2', 'b-3', 'old'].flatMap((name) => [`${name} assign`, `${name} active`]));
    expect(stdout).toMatch(/^Done \(4\): b-1, b-2, b-3, old$/m);
    expect(stdout).toMatch(/^4 nodes: b-1, b-2, [a-z0-9-]+ and 1 more: local -> relet-system/m);
    expect(stdout.match(/^maxPods {2}/gm)).toHaveLength(1);
  });

  test('a field that a flag pins is reported, and not shown as a change', async () => {
    await cluster.node('pinned', { flags: ['--max-pods=60'], pinned: ['maxPods'], does: 'prove' });
    const first = await cluster.relet('set pinned podsPerCore=5 --yes');
    expect(first.stdout).not.toContain('pins');
    const { stdout, status } = await cluster.relet('set pinned maxPods=70 --yes');
    expect(status).toBe(0);
    expect(stdout).toMatch(/a flag of the kubelet pins maxPods; this change will have no\s+effect/);
    expect(stdout).not.toMatch(/^maxPods {2}/m);
  });

  describe('on local configs', () => {
    test('writes the change and nothing else, so that nodes with different local configs share one ConfigMap', async () => {
      const config = { maxPods: 250, clusterDNS: ['10.96.0.10'], logging: { verbosity: 4 } };
      for (const name of ['host-1', 'host-2'])
        await cluster.node(name, {
          config: { ...config, maxPods: 250 + Number(name.at(-1)), providerID: `aws:///eu/${name}` },
          flags: [`--address=10.0.0.${name.at(-1)}`, `--cert-dir=/var/lib/${name}/pki`],
          pinned: ['address'],
          does: 'prove',
        });
      const { status, stdout } = await cluster.relet('set host-1 host-2 podsPerCore=5 --yes');
      expect(status).toBe(0);
      expect((await cluster.payloadOf('host-1')).text).toBe(`${overlayHeader}config:\n  podsPerCore: 5\n`);
      expect(await cluster.sourceOf('host-2')).toBe(await cluster.sourceOf('host-1'));
      expect(stdout.match(/^podsPerCore {2}/gm)).toHaveLength(1);
      expect(stdout).toMatch(/^host-1, host-2: local -> /m);
      expect((await cluster.relet('view host-2')).stdout).toMatch(/^maxPods: 252$/m);
    });

    test('a field that the person names is written, also when it is of one host', async () => {
      await cluster.node('own', { does: 'prove' });
      const words = ['tlsCertFile=/etc/pki/kubelet.crt', 'tlsPrivateKeyFile=/etc/pki/kubelet.key', 'address=10.0.0.9'];
      expect((await cluster.relet(['set', 'own', ...words, '--yes'])).status).toBe(0);
      const { text } = await cluster.payloadOf('own');
      expect(text).toMatch(/^ {2}tlsCertFile: \/etc\/pki\/kubelet.crt$/m);
      expect(text).toMatch(/^ {2}address: "10.0.0.9"$/m);
    });

    test('one key of a map that has its default keeps the other keys', async () => {
      await cluster.node('evicts', { does: 'prove' });
      await cluster.relet('set evicts evictionHard.memory.available=200Mi --yes');
      const { stdout } = await cluster.relet('view evicts');
      expect(stdout).toMatch(/^ {2}memory.available: 200Mi$/m);
      expect(stdout).toMatch(/^ {2}nodefs.available: 10%$/m);
    });

    test('FIELD- takes back what set wrote; with nothing left, the node returns to its local config', async () => {
      await cluster.node('back', { config: { maxPods: 50 }, does: 'prove' });
      await cluster.relet('set back maxPods=60 podsPerCore=5 --yes');
      await cluster.relet('set back maxPods- --yes');
      expect((await cluster.payloadOf('back')).text).toBe(`${overlayHeader}config:\n  podsPerCore: 5\n`);
      const { stdout } = await cluster.relet('set back podsPerCore- --yes');
      expect(stdout).toMatch(/^back: active: its local config$/m);
      expect(await cluster.sourceOf('back')).toBeUndefined();
    });

    test("--unset applies the kubelet's default; FIELD- of what only the local config sets points to it", async () => {
      await cluster.node('defaults', { config: { maxPods: 50 }, does: 'prove' });
      const nothing = await cluster.relet('set defaults maxPods- --yes');
      expect(nothing.stdout).toMatch(
        /^defaults: maxPods is not in its overlay, nothing to change\nNote: .*--unset\s+maxPods/ms,
      );
      const { stdout } = await cluster.relet('set defaults --unset maxPods --yes');
      expect(stdout).toMatch(/^maxPods {2}restart\n {4}- 50\n {4}\+ 110/m);
      expect((await cluster.payloadOf('defaults')).text).toBe(`${overlayHeader}unset:\n  - maxPods\n`);
    });
  });

  test('an empty list of the local config stays empty', async () => {
    await cluster.node('bare', { config: { enforceNodeAllocatable: [], cgroupsPerQOS: false }, does: 'prove' });
    const { status } = await cluster.relet('set bare maxPods=20 --yes');
    expect(status).toBe(0);
    expect((await cluster.relet('view bare')).stdout).toMatch(/^enforceNodeAllocatable: \[\]$/m);
  });

  test.each([
    ['a mistyped field', 'set wrong maxPds=1 --yes', /did you mean 'maxPods'/],
    ['a value of the wrong type', 'set wrong maxPods=x --yes', /maxPods: 'x' is not a whole number/],
    [
      'a value that validation refuses',
      'set wrong maxPods=-1 --yes',
      /would not run with that, so nothing was changed:\n {2}maxPods: /,
    ],
    ['a node that is not there', 'set nobody maxPods=1 --yes', /there is no node 'nobody'; 'relet get' lists them/],
    [
      'a selector that matches nothing',
      'set -l pool=green maxPods=1 --yes',
      /no node matches 'pool=green'; nothing was changed/,
    ],
    ['a selector that is none', ['set', '-l', 'a b', 'maxPods=1', '--yes'], /--selector 'a b'/],
    ['no field', 'set wrong --yes', /nothing to set: write FIELD=VALUE/],
    ['a value without its sign', 'set wrong maxPods 100 --yes', /did you mean maxPods=100\?/],
    ['no node', 'set maxPods=1 --yes', /name the nodes, or use --selector or --all/],
    [
      'nobody to ask',
      'set wrong maxPods=152',
      /cannot ask for confirmation without a terminal; nothing was changed, use --yes/,
    ],
    ['many at once by mistake', 'set -l pool=few maxPods=1 --yes --no-wait', /--no-wait would change 2 nodes at once/],
    ['no permission', 'set wrong maxPods=153 --yes --as ann', /ann.*cannot get resource.*ask an administrator/],
    [
      'a namespace that is not there',
      'set wrong maxPods=154 --yes -n nowhere',
      /there is no namespace 'nowhere'; create it with 'kubectl create namespace nowhere', or choose another with -n/,
    ],
    ['an unknown context', 'set wrong maxPods=1 --context x', /context "x" does not exist/],
  ])('%s exits with 2 and changes nothing', async (_name, args, message) => {
    const before = await stored('wrong');
    const { status, stderr } = await cluster.relet(args);
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
    expect(await stored('wrong')).toEqual(before);
  });
});

describe('a server that drops the reference', () => {
  test('is noticed before anything is made, and explained', async () => {
    const modern = await OperatorCluster.start('--feature-gates', 'DynamicKubeletConfig=false');
    try {
      await modern.node('n', { does: 'deaf' });
      const { status, stderr } = await modern.relet('set n maxPods=5 --yes');
      expect(status).toBe(2);
      expect(stderr).toMatch(/does not keep spec.configSource.*Nothing was changed.*NodeConfig/);
      expect(await modern.configMapNames()).toEqual([]);
      const doctor = await modern.relet('doctor');
      expect(doctor.status).toBe(1);
      expect(doctor.stdout).toMatch(/error +the server drops spec.configSource of Nodes silently/);
    } finally {
      await modern.close();
    }
  });
});

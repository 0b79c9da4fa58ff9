/** Verbs that change nodes, against the API server as a process, in a pipe, with nodes played by the test. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../src/api/object.js';
import { configMaps } from '../src/kube/resource-type.js';
import { header, OperatorCluster, overlayHeader, type PlayedNode } from './operator-rig.js';

/** From 1.30 on: older clients write \b and \f as \u0008 and \u000c. */
const hasKubectl = (() => {
  const { stdout } = spawnSync('kubectl', ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
  return Number(/"minor": "(\d+)/.exec(stdout ?? '')?.[1] ?? 0) >= 30;
})();

let cluster: OperatorCluster;
const node: Record<string, PlayedNode> = {};

beforeAll(async () => {
  cluster = await OperatorCluster.start();
  node.alpha = await cluster.node('alpha', { labels: { pool: 'red' } });
  for (const name of ['b-1', 'b-2', 'b-3'])
    node[name] = await cluster.node(name, { labels: { pool: 'blue' }, does: 'prove' });
  node.old = await cluster.node('old', { version: 'v1.17.17', labels: { pool: 'old' } });
  node.pinned = await cluster.node('pinned', { flags: ['--max-pods=60'], pinned: ['maxPods'], does: 'prove' });
});
afterAll(() => cluster?.close());

const file = (name: string, text: string) => cluster.file(name, text);
const sourceOf = (name: string) => cluster.sourceOf(name);
const payloadOf = (name: string) => cluster.payloadOf(name);

describe('relet set', () => {
  test('changes a field: a hashed, immutable, labelled ConfigMap, assigned and active', async () => {
    const { status, stdout, stderr } = await cluster.relet(['set', 'alpha', 'maxPods=150', '--yes', '-m', 'more pods']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^maxPods {2}restart\n {4}- 110\n {4}\+ 150$/m);
    expect(stdout).toMatch(/^configmap\/kubelet-config-\w{10} created in namespace relet-system$/m);
    expect(stdout).toMatch(/^alpha: active: relet-system\/kubelet-config-\w{10}\/kubelet; on trial/m);
    const { text, immutable, metadata } = await payloadOf('alpha');
    expect(text).toBe(`${overlayHeader}config:\n  maxPods: 150\n`);
    expect(immutable).toBe(true);
    expect(metadata.labels).toEqual({ 'relet.dev/kubelet-config': 'true' });
  });

  test('the history says who, when and why', async () => {
    const { stdout } = await cluster.relet(['history', 'alpha', '-o', 'json']);
    expect(JSON.parse(stdout)).toEqual([
      {
        revision: 1,
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        by: 'kubernetes-admin',
        verb: 'set',
        why: 'more pods',
        from: 'local',
        to: `relet-system/${await sourceOf('alpha')}/kubelet`,
      },
    ]);
  });

  test('once more is not a change', async () => {
    const before = await cluster.object('alpha');
    const { status, stdout } = await cluster.relet(['set', 'alpha', 'maxPods=150', '--yes']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'alpha: has that already, nothing to change\n' });
    expect((await cluster.object('alpha')).spec).toEqual(before.spec);
  });

  test('a dry run prints, and changes nothing', async () => {
    const before = [await cluster.configMapNames(), (await cluster.object('alpha')).metadata.resourceVersion];
    for (const how of ['client', 'server']) {
      const { status, stdout } = await cluster.relet(['set', 'alpha', 'maxPods=151', `--dry-run=${how}`]);
      expect(status).toBe(0);
      expect(stdout).toMatch(/alpha: assigned relet-system\/kubelet-config-\w{10}\/kubelet \((server )?dry run\)/);
    }
    expect([await cluster.configMapNames(), (await cluster.object('alpha')).metadata.resourceVersion]).toEqual(before);
  });

  test('many nodes: one ConfigMap per distinct result, whatever version and host, one node at a time', async () => {
    const { status, stdout } = await cluster.relet(['set', '-l', 'pool in (blue,old)', 'maxPods=99', '--yes']);
    expect(status).toBe(0);
    const names = await Promise.all(['b-1', 'b-2', 'b-3', 'old'].map(sourceOf));
    expect(new Set(names).size).toBe(1);
    const ends = [...stdout.matchAll(/^(\S+): (assigning|active: )/gm)].map(
      ([, name, what]) => `${name} ${what!.slice(0, 6)}`,
    );
    expect(ends).toEqual(['b-1', 'b-2', 'b-3', 'old'].flatMap((name) => [`${name} assign`, `${name} active`]));
    expect(stdout).toMatch(/^Done \(4\): b-1, b-2, b-3, old$/m);
    expect(stdout).toMatch(/^4 nodes: b-1 … old: local -> relet-system/m);
    expect(stdout.match(/^maxPods {2}/gm)).toHaveLength(1);
  });

  test('a field that a flag pins is reported, and not shown as a change', async () => {
    const first = await cluster.relet(['set', 'pinned', 'podsPerCore=5', '--yes']);
    expect(first.stdout).not.toContain('pins');
    const { stdout, status } = await cluster.relet(['set', 'pinned', 'maxPods=70', '--yes']);
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
      const { status, stdout } = await cluster.relet(['set', 'host-1', 'host-2', 'podsPerCore=5', '--yes']);
      expect(status).toBe(0);
      expect((await payloadOf('host-1')).text).toBe(`${overlayHeader}config:\n  podsPerCore: 5\n`);
      expect(await sourceOf('host-2')).toBe(await sourceOf('host-1'));
      expect(stdout.match(/^podsPerCore {2}/gm)).toHaveLength(1);
      expect(stdout).toMatch(/^host-1, host-2: local -> /m);
      expect((await cluster.relet(['view', 'host-2'])).stdout).toMatch(/^maxPods: 252$/m);
    });

    test('a field that the person names is written, also when it is of one host', async () => {
      await cluster.node('own', { does: 'prove' });
      const words = ['tlsCertFile=/etc/pki/kubelet.crt', 'tlsPrivateKeyFile=/etc/pki/kubelet.key', 'address=10.0.0.9'];
      expect((await cluster.relet(['set', 'own', ...words, '--yes'])).status).toBe(0);
      const { text } = await payloadOf('own');
      expect(text).toMatch(/^ {2}tlsCertFile: \/etc\/pki\/kubelet.crt$/m);
      expect(text).toMatch(/^ {2}address: "10.0.0.9"$/m);
    });

    test('one key of a map that has its default keeps the other keys', async () => {
      await cluster.node('evicts', { does: 'prove' });
      await cluster.relet(['set', 'evicts', 'evictionHard.memory.available=200Mi', '--yes']);
      const { stdout } = await cluster.relet(['view', 'evicts']);
      expect(stdout).toMatch(/^ {2}memory.available: 200Mi$/m);
      expect(stdout).toMatch(/^ {2}nodefs.available: 10%$/m);
    });

    test('FIELD- takes back what set wrote; with nothing left, the node returns to its local config', async () => {
      await cluster.node('back', { config: { maxPods: 50 }, does: 'prove' });
      await cluster.relet(['set', 'back', 'maxPods=60', 'podsPerCore=5', '--yes']);
      await cluster.relet(['set', 'back', 'maxPods-', '--yes']);
      expect((await payloadOf('back')).text).toBe(`${overlayHeader}config:\n  podsPerCore: 5\n`);
      const { stdout } = await cluster.relet(['set', 'back', 'podsPerCore-', '--yes']);
      expect(stdout).toMatch(/^back: active: its local config$/m);
      expect(await sourceOf('back')).toBeUndefined();
    });

    test("--unset applies the kubelet's default; FIELD- of what only the local config sets points to it", async () => {
      await cluster.node('defaults', { config: { maxPods: 50 }, does: 'prove' });
      const nothing = await cluster.relet(['set', 'defaults', 'maxPods-', '--yes']);
      expect(nothing.stdout).toMatch(
        /^defaults: maxPods is not in its overlay, nothing to change\nNote: .*--unset\s+maxPods/ms,
      );
      const { stdout } = await cluster.relet(['set', 'defaults', '--unset', 'maxPods', '--yes']);
      expect(stdout).toMatch(/^maxPods {2}restart\n {4}- 50\n {4}\+ 110/m);
      expect((await payloadOf('defaults')).text).toBe(`${overlayHeader}unset:\n  - maxPods\n`);
    });
  });

  test('a rollback says what the node runs, and which change on trial is no longer used', async () => {
    const unlucky = await cluster.node('unlucky');
    await cluster.relet(['set', 'unlucky', 'maxPods=150', '--yes']);
    const onTrial = await sourceOf('unlucky');
    unlucky.does = 'roll back';
    const { status, stdout } = await cluster.relet(['set', 'unlucky', 'port=10269', '--yes']);
    expect(status).toBe(1);
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      `The node runs its local config. relet-system/${onTrial}/kubelet, which was active before, is no longer used; 'relet undo unlucky' assigns it again.`,
    );
  });

  describe('on a node that runs something else than it is assigned', () => {
    test('set changes the assignment that failed', async () => {
      const failing = await cluster.node('failing', { does: 'roll back' });
      expect((await cluster.relet(['set', 'failing', 'maxPods=7', 'port=10269', '--yes'])).status).toBe(1);
      const failed = await sourceOf('failing');
      failing.does = 'prove';
      const { status, stdout } = await cluster.relet(['set', 'failing', 'maxPods=111', '--yes']);
      expect(stdout.replace(/\s+/g, ' ')).toMatch(
        /Warning: the kubelet of failing rolled back the assigned config \(.+\), and this change keeps what it sets: port: 10269\. To drop it: relet set failing port- port/,
      );
      expect(status).toBe(0);
      expect(await sourceOf('failing')).not.toBe(failed);
    });

    test('undo to a config that failed before warns of it, and is not recommended', async () => {
      const twice = await cluster.node('twice', { does: 'roll back' });
      await cluster.relet(['set', 'twice', 'port=10269', '--yes']);
      const failed = `relet-system/${await sourceOf('twice')}/kubelet`;
      const { stderr } = await cluster.relet(['set', 'twice', 'maxPods=111', '--yes']);
      const hint = `'relet reset twice' returns to its local config ('relet undo twice' would assign ${failed} again, which was rolled back before)`;
      expect(stderr).toContain(hint);
      expect((await cluster.relet(['describe', 'twice'])).stdout.replace(/\s+/g, ' ')).toContain(hint);
      twice.does = 'prove';
      const { stdout } = await cluster.relet(['undo', 'twice', '--dry-run=client']);
      expect(stdout.replace(/\s+/g, ' ')).toMatch(/Warning: twice rolled this config back before \(.+\); 'relet reset/);
    });

    test('the difference to what runs is noted as such', async () => {
      await cluster.node('late', { does: 'deaf' }).then((late) => late.report({}));
      await cluster.relet(['set', 'late', 'maxPods=70', '--yes', '--no-wait']);
      const { stdout } = await cluster.relet(['set', 'late', 'maxPods=71', '--dry-run']);
      expect(stdout.replace(/\s+/g, ' ')).toContain(
        'Note: late: it does not run its assigned config yet; the difference',
      );
    });

    test('set of what failed is not reported as well', async () => {
      await cluster.node('stubborn', { does: 'refuse' });
      await cluster.relet(['set', 'stubborn', 'maxPods=9', '--yes']);
      const { status, stdout } = await cluster.relet(['set', 'stubborn', 'maxPods=9', '--yes']);
      expect(status).toBe(1);
      expect(stdout).toMatch(
        /^stubborn: is assigned that already, and it was rejected; see 'relet describe stubborn'/m,
      );
    });

    test('edit opens the config that failed, with the error', async () => {
      await cluster.node('mistaken', { does: 'refuse' });
      await cluster.relet(['set', 'mistaken', 'maxPods=8', 'port=10269', '--yes']);
      const copy = join(cluster.dir, 'mistaken.yaml');
      await cluster.relet(['edit', 'mistaken', '--yes'], { env: { KUBE_EDITOR: `sh -c 'cp "$0" ${copy}'` } });
      const opened = readFileSync(copy, 'utf8');
      expect(opened).toMatch(/^# relet: What mistaken \(kubelet v1.32.1\) is assigned; it was rejected\.$/m);
      // The cause names the field port.
      expect(opened).toMatch(/^ {2}maxPods: 8\n# relet: error: rejected: .*: port 10250 is taken\n {2}port: 10269$/m);
    });
  });

  test('an empty list of the local config stays empty', async () => {
    await cluster.node('bare', { config: { enforceNodeAllocatable: [], cgroupsPerQOS: false }, does: 'prove' });
    const { status } = await cluster.relet(['set', 'bare', 'maxPods=20', '--yes']);
    expect(status).toBe(0);
    expect((await cluster.relet(['view', 'bare'])).stdout).toMatch(/^enforceNodeAllocatable: \[\]$/m);
  });

  describe('a change that needs more than a restart', () => {
    test.each([
      [
        'is refused without --accept',
        'cpuManagerPolicy=static reservedSystemCPUs=0',
        [],
        /needs more than a kubelet restart.*--accept=state-file/,
      ],
      [
        'is refused with another class',
        'cpuManagerPolicy=static reservedSystemCPUs=0',
        ['--accept=drain'],
        /--accept=state-file/,
      ],
      [
        'of class never is refused whatever is accepted',
        'providerID=x',
        ['--accept=reboot'],
        /providerID cannot be changed/,
      ],
      ['cannot be accepted as never', 'providerID=x', ['--accept=never'], /cannot be changed on a live node/],
      [
        'cannot be accepted by another word',
        'maxPods=5',
        ['--accept=all'],
        /'all' is none of drain, state-file, reboot/,
      ],
      ['is asked about where a word is near', 'maxPods=5', ['--accept=rebot'], /Did you mean reboot\?/],
      [
        'needs a value',
        'maxPods=5',
        ['--accept'],
        /^relet: --accept needs a value: drain, state-file, reboot or daemon-reload$/m,
      ],
    ])('%s', async (_name, setting, flags, message) => {
      const before = await cluster.object('alpha');
      const { status, stderr } = await cluster.relet(['set', 'alpha', ...setting.split(' '), '--yes', ...flags]);
      expect(status).toBe(2);
      expect(stderr).toMatch(message);
      expect((await cluster.object('alpha')).spec).toEqual(before.spec);
    });

    test('is previewed without --accept, which the preview names', async () => {
      const change = ['set', 'alpha', 'cgroupDriver=systemd'];
      const { status, stdout } = await cluster.relet([...change, '--dry-run']);
      expect(status).toBe(0);
      expect(stdout).toMatch(/\(dry run\)\nThis change needs --accept=reboot\.\n$/);
      const previewed = await cluster.relet([...change, '--dry-run', '-o', 'json']);
      expect(JSON.parse(previewed.stdout).nodes).toMatchObject([{ reason: 'DryRun', needs: ['reboot'] }]);
      const refused = await cluster.relet([...change, '--yes', '-o', 'json']);
      expect(refused.status).toBe(2);
      expect(JSON.parse(refused.stdout)).toMatchObject({
        nodes: [{ node: 'alpha', reason: 'NotChanged' }],
        error: expect.stringContaining('use --accept=reboot'),
      });
    });

    test('is made when it is accepted', async () => {
      await cluster.node('drained', { does: 'prove' });
      const words = ['cpuManagerPolicy=static', 'reservedSystemCPUs=0'];
      const { status, stdout } = await cluster.relet([
        'set',
        'drained',
        ...words,
        '--yes',
        '--accept=drain,state-file',
      ]);
      expect(status).toBe(0);
      expect(stdout).toMatch(/^drained: left to do on its host: removal of a state file, then a drain \(for cpuMan/m);
    });

    test('what is left to do stays with another change, is shown, and can be dismissed', async () => {
      await cluster.node('owing', { does: 'prove' });
      const annotation = async () => (await cluster.object('owing')).metadata.annotations?.['relet.dev/owed'];
      await cluster.relet(['set', 'owing', 'cgroupDriver=systemd', '--yes', '--accept=reboot']);
      expect(JSON.parse((await annotation())!)).toMatchObject({ needs: ['reboot'], fields: ['cgroupDriver'] });
      await cluster.relet(['set', 'owing', 'containerLogMaxFiles=7', '--yes']);
      expect(JSON.parse((await annotation())!)).toMatchObject({ needs: ['reboot'], fields: ['cgroupDriver'] });
      expect((await cluster.relet(['get', 'owing'])).stdout).toMatch(
        /left to do on its host: reboot \(for cgroupDriver\)/,
      );
      expect((await cluster.relet(['describe', 'owing'])).stdout).toMatch(/^Owed: +left to do on its host: reboot/m);
      expect((await cluster.relet(['doctor', 'owing'])).stdout).toMatch(/need a reboot after a change: owing/);
      const { stdout } = await cluster.relet(['dismiss', 'owing']);
      expect(stdout).toBe('owing: dismissed: left to do on its host: reboot (for cgroupDriver)\n');
      expect(await annotation()).toBeUndefined();
      expect((await cluster.relet(['dismiss', 'owing'])).stdout).toBe('owing: nothing is left to do\n');
    });
  });

  test.each([
    ['a mistyped field', ['set', 'alpha', 'maxPds=1', '--yes'], /did you mean 'maxPods'/],
    ['a value of the wrong type', ['set', 'alpha', 'maxPods=x', '--yes'], /maxPods: 'x' is not a whole number/],
    [
      'a value that validation refuses',
      ['set', 'alpha', 'maxPods=-1', '--yes'],
      /would not run with that, so nothing was changed:\n {2}maxPods: /,
    ],
    [
      'a node that is not there',
      ['set', 'nobody', 'maxPods=1', '--yes'],
      /there is no node 'nobody'; 'relet get' lists them/,
    ],
    [
      'a selector that matches nothing',
      ['set', '-l', 'pool=green', 'maxPods=1', '--yes'],
      /no node matches 'pool=green'; nothing was changed/,
    ],
    ['a selector that is none', ['set', '-l', 'a b', 'maxPods=1', '--yes'], /--selector 'a b'/],
    ['no field', ['set', 'alpha', '--yes'], /nothing to set: write FIELD=VALUE/],
    ['a value without its sign', ['set', 'alpha', 'maxPods', '100', '--yes'], /did you mean maxPods=100\?/],
    ['no node', ['set', 'maxPods=1', '--yes'], /name the nodes, or use --selector or --all/],
    [
      'nobody to ask',
      ['set', 'alpha', 'maxPods=152'],
      /cannot ask for confirmation without a terminal; nothing was changed, use --yes/,
    ],
    [
      'many at once by mistake',
      ['set', '-l', 'pool=blue', 'maxPods=1', '--yes', '--no-wait'],
      /--no-wait would change 3 nodes at once/,
    ],
    [
      'no permission',
      ['set', 'alpha', 'maxPods=153', '--yes', '--as', 'ann'],
      /ann.*cannot get resource.*ask an administrator/,
    ],
    [
      'a namespace that is not there',
      ['set', 'alpha', 'maxPods=154', '--yes', '-n', 'nowhere'],
      /there is no namespace 'nowhere'; create it with 'kubectl create namespace nowhere', or choose another with -n/,
    ],
    ['an unknown context', ['set', 'alpha', 'maxPods=1', '--context', 'x'], /context "x" does not exist/],
  ])('%s exits with 2 and changes nothing', async (_name, args, message) => {
    const before = [await cluster.configMapNames(), (await cluster.object('alpha')).metadata.resourceVersion];
    const { status, stderr } = await cluster.relet(args);
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
    expect([await cluster.configMapNames(), (await cluster.object('alpha')).metadata.resourceVersion]).toEqual(before);
  });
});

describe('a change that a node does not take', () => {
  test('is reported with its cause, exits with 1, and stops before the next node', async () => {
    const before = await sourceOf('b-3');
    node['b-2']!.does = 'refuse';
    const { status, stdout, stderr } = await cluster.relet(['set', '-l', 'pool=blue', 'maxPods=98', '--yes']);
    node['b-2']!.does = 'prove';
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /^b-2: rejected: the kubelet would accept the assigned config and exit.*\n {4}port 10250 is taken$/m,
    );
    expect(stdout).toMatch(/^Done \(1\): b-1\nFailed \(1\): b-2\nNot changed \(1\): b-3$/m);
    expect(stderr).toContain("'relet undo b-2' takes the change back");
    expect(stderr).toContain('b-3 was not changed. Correct the value first; the same command would now change b-3.');
    expect(await sourceOf('b-3')).toBe(before);
  });

  test('an old rejection is not taken for the result of a new config', async () => {
    const { status, stdout } = await cluster.relet(['undo', 'b-2', '--yes']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^b-2: active: /m);
  });

  test('a rollback is reported', async () => {
    node['b-3']!.does = 'roll back';
    const { status, stdout } = await cluster.relet(['set', 'b-3', 'maxPods=97', '--yes']);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^b-3: rolled back: the kubelet kept crashing with the assigned config/m);
    node['b-3']!.does = 'prove';
    expect((await cluster.relet(['undo', 'b-3', '--yes'])).status).toBe(0);
  });

  test('a node that does nothing ends the wait with 3', async () => {
    await cluster.node('deaf', { does: 'deaf' });
    const { status, stdout } = await cluster.relet(['set', 'deaf', 'maxPods=30', '--yes', '--timeout', '200ms']);
    expect(status).toBe(3);
    expect(stdout).toContain("is 'relet kubelet'");
    expect(stdout).toMatch(/^deaf: not active in time/m);
    await cluster.relet(['reset', 'deaf', '--yes', '--no-wait']);
  });
});

describe('relet push and assign', () => {
  test('push stores the bytes of the file under the name that kubectl gives them', async () => {
    const text = `${header}# a <comment> & more\r\nmaxPods: 77\n`;
    const { status, stdout } = await cluster.relet(['push', file('push.yaml', text), '--name', 'mine']);
    expect(status).toBe(0);
    const name = /^configmap\/(mine-\w{10}) created in namespace relet-system\n$/.exec(stdout)![1]!;
    const stored = await cluster.admin.get<{ data: object; immutable: boolean }>(configMaps, {
      namespace: 'relet-system',
      name,
    });
    expect(stored).toMatchObject({ data: { kubelet: text }, immutable: true });
    expect((await cluster.relet(['push', 'push.yaml', '--name', 'mine'])).stdout).toContain(`${name} unchanged`);
    expect((await cluster.relet(['push', '-', '--name', 'mine', '-o', 'name'], { stdin: text })).stdout).toBe(
      `configmap/${name}\n`,
    );
  });

  test.skipIf(!hasKubectl)(
    `the name is kubectl's, whatever is in the file${hasKubectl ? '' : ' (skipped: kubectl 1.30 or later not found)'}`,
    async () => {
      const payloads = fc.sample(
        fc.oneof(
          fc.string({ unit: 'grapheme' }),
          fc.constantFrom('<a> & <b>', 'a\u2028b\u2029c', '\b\f\n\r\t\\"', '\u0000\u001f\u007f', '\ud83d\ude00'),
          fc.uint8Array({ maxLength: 64 }),
        ),
        12,
      );
      for (const [index, payload] of payloads.entries()) {
        writeFileSync(join(cluster.dir, 'random'), payload);
        const name = `any-${index}`;
        const ours = await cluster.relet([
          'push',
          'random',
          '--name',
          name,
          '--no-validate',
          '--dry-run',
          '-o',
          'name',
        ]);
        const args = [
          'create',
          'configmap',
          name,
          '--from-file=kubelet=random',
          '--append-hash',
          '--dry-run=client',
          '-o',
          'name',
        ];
        const theirs = spawnSync('kubectl', args, { cwd: cluster.dir, env: cluster.environment(), encoding: 'utf8' });
        expect({ payload, name: ours.stdout }).toEqual({ payload, name: theirs.stdout });
      }
    },
  );

  test.each([
    ['a config that is wrong', `${header}maxPods: -1\n`, /would not run with bad.yaml, so nothing was pushed/],
    ['no config at all', 'hello\n', /nothing was pushed/],
  ])('%s is not pushed', async (_name, text, message) => {
    const before = await cluster.configMapNames();
    const { status, stderr } = await cluster.relet(['push', file('bad.yaml', text)]);
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
    expect(await cluster.configMapNames()).toEqual(before);
  });

  describe('a push is validated for the kubelets of the cluster', () => {
    const text = `${header}maxPods: "1"\nmemorySwap: {swapBehavior: NoSwap}\n`;
    const swap = text.replace('"1"', '1');
    const dryRun = (words: string[], stdin = text) =>
      cluster.relet(['push', '-', '--dry-run=client', '-o', 'name', ...words], { stdin });

    test('what none of them takes is rejected, and an error that not all have names its version', async () => {
      const { status, stderr } = await dryRun([]);
      expect(status).toBe(2);
      expect(stderr.trim().split('\n')).toEqual([
        'relet: kubelet 1.17 and 1.32 would not run with -, so nothing was pushed:',
        '  maxPods: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32',
        '    write 1 without quotes',
        '  memorySwap: unknown field "memorySwap": it came with 1.22 (kubelet 1.17)',
        'Use --kubelet-version to check against another version, or --no-validate to push it anyway',
      ]);
    });

    test('what only some of them take is pushed with a warning', async () => {
      const { status, stdout, stderr } = await dryRun([], swap);
      expect(status).toBe(0);
      expect(stdout).toMatch(/^configmap\/kubelet-config-\w{10}\n$/);
      expect(stderr).toBe(
        'relet: kubelet 1.17 would not run with -; do not assign it to nodes of that version:\n  memorySwap: unknown field "memorySwap": it came with 1.22 (kubelet 1.17)\n',
      );
      expect((await dryRun(['--kubelet-version', '1.32'], swap)).stderr).toBe('');
    });

    test('who may not list nodes gets the rules of the newest, and a note', async () => {
      const { status, stderr } = await dryRun(['--as', 'ann'], swap);
      expect(status).toBe(0);
      expect(stderr).toMatch(
        /^relet: you may not list nodes, so it is validated for kubelet 1\.\d+; --kubelet-version/,
      );
    });

    test('an overlay is checked as one', async () => {
      const head = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\n';
      expect((await dryRun([], `${head}config: {maxPods: 50}\n`)).stderr).toBe('');
      expect((await dryRun([], `${head}config: {maxPods: -1}\n`)).stderr).toMatch(/-1 must not be a negative number/);
    });
  });

  test('assign points nodes at it, reset lets them go back, and undo undoes either', async () => {
    const name = (await cluster.relet(['push', 'push.yaml', '-o', 'name'])).stdout.trim();
    const assigned = await cluster.relet(['assign', name, 'b-1', 'b-2', '--yes', '--max-unavailable', '2']);
    expect(assigned.status).toBe(0);
    expect([await sourceOf('b-1'), await sourceOf('b-2')]).toEqual([name.slice(10), name.slice(10)]);
    expect((await cluster.relet(['assign', name, 'b-1', '--yes'])).stdout).toMatch(/^b-1: has that already/m);
    expect((await cluster.relet(['reset', 'b-1', '--yes'])).stdout).toMatch(/^b-1: active: its local config$/m);
    expect(await sourceOf('b-1')).toBeUndefined();
    expect((await cluster.relet(['undo', 'b-1', '--yes'])).status).toBe(0);
    expect(await sourceOf('b-1')).toBe(name.slice(10));
    const { stdout } = await cluster.relet(['history', 'b-1', '-o', 'json']);
    expect((JSON.parse(stdout) as { verb: string }[]).slice(0, 3).map(({ verb }) => verb)).toEqual([
      'undo',
      'reset',
      'assign',
    ]);
  });

  test('assign and undo show the difference first; a reset says where it cannot be shown', async () => {
    await cluster.node('local-dns', { config: { clusterDNS: ['10.96.0.10'], maxPods: 250 }, does: 'prove' });
    const name = (await cluster.relet(['push', 'push.yaml', '-o', 'name'])).stdout.trim();
    const { stdout } = await cluster.relet(['assign', name, 'local-dns', '--yes', '--accept=drain']);
    expect(stdout).toMatch(/^clusterDNS {2}\w+\n {4}- \["10.96.0.10"\]\n {4}\+ not set \(the default/m);
    expect(stdout).toMatch(/^maxPods {2}restart\n {4}- 250\n {4}\+ 77$/m);
    const local =
      /its local config is a file on the host that its agent does not\s+report, so the difference\s+cannot be shown/;
    expect((await cluster.relet(['reset', 'local-dns', '--yes'])).stdout).toMatch(local);
    const undo = await cluster.relet(['undo', 'local-dns', '--yes', '--accept=drain']);
    expect(undo.stdout).toMatch(/^maxPods {2}restart\n {4}- 250\n {4}\+ 77$/m);
    expect((await cluster.relet(['undo', 'local-dns', '--yes'])).stdout).toMatch(local);
  });

  test('-o json gives one object with the result of each node, and nothing else on standard output', async () => {
    await cluster.node('json-1', { does: 'prove' });
    await cluster.node('json-2', { does: 'refuse' });
    await cluster.node('json-3');
    const args = ['set', 'json-1', 'json-2', 'json-3', 'maxPods=66', '--yes', '-o', 'json'];
    const { status, stdout, stderr } = await cluster.relet(args);
    const source = `relet-system/${await sourceOf('json-1')}/kubelet`;
    const change = { from: 'local', to: source };
    expect(JSON.parse(stdout)).toEqual({
      apiVersion: 'cli.relet.dev/v1',
      kind: 'ChangeResult',
      verb: 'set',
      dryRun: false,
      nodes: [
        { node: 'json-1', ...change, state: 'active', reason: 'Active' },
        {
          node: 'json-2',
          ...change,
          state: 'rejected',
          reason: 'Rejected',
          message: expect.stringContaining('port 10250'),
        },
        { node: 'json-3', ...change, state: 'local', reason: 'NotChanged' },
      ],
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^json-1: active: /m);
    const again = await cluster.relet(['assign', source.split('/')[1]!, 'json-1', '--yes', '-o', 'json']);
    expect(JSON.parse(again.stdout).nodes).toEqual([
      { node: 'json-1', from: source, to: source, state: 'active', reason: 'AlreadyAssigned' },
    ]);
    expect((await cluster.relet(['reset', 'json-1', '--yes', '-o', 'name'])).stdout).toBe('node/json-1\n');
  });

  test('what a kubelet of that version would not take is not assigned', async () => {
    const name = (
      await cluster.relet(['push', file('new.yaml', `${header}memorySwap: {swapBehavior: NoSwap}\n`), '-o', 'name'])
    ).stdout.trim();
    const { status, stderr } = await cluster.relet(['assign', name, 'old', '--yes']);
    expect(status).toBe(2);
    expect(stderr).toContain('the kubelet of old (v1.17.17) would not run with that');
  });

  test('a ConfigMap that is gone cannot be gone back to', async () => {
    await cluster.relet(['reset', 'b-2', '--yes']);
    const { items } = await cluster.admin.list(configMaps, {
      namespace: 'relet-system',
      labelSelector: 'relet.dev/kubelet-config=true',
    });
    const [newest] = JSON.parse((await cluster.relet(['history', 'b-2', '-o', 'json'])).stdout) as { from: string }[];
    const name = newest!.from.split('/')[1]!;
    const kept = items.find(({ metadata }) => metadata.name === name)!;
    await cluster.admin.delete(configMaps, { namespace: 'relet-system', name });
    const { status, stderr } = await cluster.relet(['undo', 'b-2', '--yes']);
    expect(status).toBe(2);
    expect(stderr).toContain(`ConfigMap relet-system/${name} is gone from the API`);
    const { resourceVersion: _, uid: __, ...metadata } = kept.metadata;
    await cluster.admin.create(configMaps, { namespace: 'relet-system' }, { ...kept, metadata });
  });
});

describe('relet convert', () => {
  test('a whole config becomes an overlay over the local config, which a file may give', async () => {
    const local = { maxPods: 250, clusterDomain: 'cluster.local' };
    await cluster.node('whole', { config: local, does: 'prove' });
    file('whole.yaml', `${header}maxPods: 40\nclusterDomain: cluster.local\n`);
    const name = (await cluster.relet(['push', 'whole.yaml', '-o', 'name'])).stdout.trim();
    await cluster.relet(['assign', name, 'whole', '--yes']);
    const noted = await cluster.relet(['set', 'whole', 'podsPerCore=3', '--yes']);
    expect(noted.stdout).toMatch(/it is assigned a\s+whole config.*'relet\s+convert\s+whole'/s);
    expect((await payloadOf('whole')).text).toMatch(/^kind: KubeletConfiguration$/m);
    const unknown = await cluster.relet(['convert', 'whole', '--yes']);
    expect(unknown.status).toBe(2);
    expect(unknown.stderr).toMatch(/the local config of whole is not known.*relet convert whole --local FILE/);
    file('local.yaml', `${header}maxPods: 250\nclusterDomain: cluster.local\n`);
    const { status, stdout } = await cluster.relet(['convert', 'whole', '--local', 'local.yaml', '--yes']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('No difference in meaning.') });
    expect((await payloadOf('whole')).text).toBe(`${overlayHeader}config:\n  maxPods: 40\n  podsPerCore: 3\n`);
    expect((await cluster.relet(['convert', 'whole', '--yes'])).stdout).toBe('whole: is assigned an overlay already\n');
    expect((await cluster.relet(['undo', 'whole', '--yes'])).status).toBe(0);
  });

  test('set --overlay does it in the same step, on a node that has rolled back to its local config', async () => {
    await cluster.node('fallen', { config: { maxPods: 250 }, does: 'roll back' });
    await cluster.relet([
      'assign',
      (await cluster.relet(['push', 'whole.yaml', '-o', 'name'])).stdout.trim(),
      'fallen',
      '--yes',
      '--accept=drain',
    ]);
    const { stdout } = await cluster.relet(['set', 'fallen', 'podsPerCore=3', '--overlay', '--dry-run']);
    expect(stdout).toMatch(/^maxPods {2}restart\n {4}- 250\n {4}\+ 40$/m);
    expect(stdout).toMatch(/^podsPerCore {2}/m);
  });
});

describe('relet edit', () => {
  const editor = (script: string) => ({ KUBE_EDITOR: `sh ${join(cluster.dir, file('editor.sh', `${script}\n`))}` });
  const leftovers = () => readdirSync(cluster.dir).filter((name) => name.startsWith('relet-edit-'));

  test('changes what the editor changed', async () => {
    const { status, stdout } = await cluster.relet(['edit', 'b-1', '--yes'], {
      env: editor('sed -i "s/^maxPods: .*/maxPods: 123/" "$1"'),
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ {4}\+ 123$/m);
    const { text } = await payloadOf('b-1');
    expect(text).toMatch(/^maxPods: 123$/m);
    expect(text).not.toContain('# relet:');
  });

  test('comments of the person stay', async () => {
    await cluster.relet(['edit', 'b-1', '--yes'], {
      env: editor('printf "# agreed with ann\\n" >> "$1"; sed -i "s/^maxPods: .*/maxPods: 124/" "$1"'),
    });
    expect((await payloadOf('b-1')).text).toContain('# agreed with ann');
  });

  test('errors come back as comments above their line, and can be corrected', async () => {
    const script = [
      'if grep -q "^# relet: error: maxPods" "$1"; then',
      `  cp "$1" ${join(cluster.dir, 'second.yaml')}`,
      '  sed -i "s/^maxPods: .*/maxPods: 125/" "$1"',
      'else sed -i "s/^maxPods: .*/maxPods: -1/" "$1"; fi',
    ].join('\n');
    const { status } = await cluster.relet(['edit', 'b-1', '--yes'], { env: editor(script) });
    expect(status).toBe(0);
    expect(readFileSync(join(cluster.dir, 'second.yaml'), 'utf8')).toMatch(
      /^# relet: error: maxPods: .*\nmaxPods: -1$/m,
    );
    expect((await payloadOf('b-1')).text).toMatch(/^maxPods: 125$/m);
  });

  test('errors saved unchanged end it, and the text is kept', async () => {
    const { status, stderr } = await cluster.relet(['edit', 'b-1', '--yes'], {
      env: editor('sed -i "s/^maxPods: .*/maxPods: -1/" "$1"'),
    });
    expect(status).toBe(2);
    expect(stderr).toMatch(/the text still has the same errors; nothing was changed/);
    const kept = /your text is kept in (\S+)/.exec(stderr)![1]!;
    expect(readFileSync(kept, 'utf8')).toMatch(/^maxPods: -1$/m);
    expect((await payloadOf('b-1')).text).toMatch(/^maxPods: 125$/m);
  });

  test.each([
    ['unchanged', 'true', 0, 'The text is unchanged'],
    ['emptied', ': > "$1"', 0, "The file is empty, so nothing was changed. 'relet reset b-1' returns"],
    ['only reordered in meaning', 'printf "# a thought\\n" >> "$1"', 0, 'has that already'],
    ['abandoned by a failing editor', 'exit 3', 2, ''],
  ])('a text %s changes nothing and leaves no file', async (_name, script, code, words) => {
    const files = leftovers();
    const before = (await cluster.object('b-1')).metadata.resourceVersion;
    const { status, stdout } = await cluster.relet(['edit', 'b-1', '--yes'], { env: editor(script) });
    expect(status).toBe(code);
    expect(stdout).toContain(words);
    expect((await cluster.object('b-1')).metadata.resourceVersion).toBe(before);
    expect(leftovers()).toEqual(files);
  });
});

describe('relet gc', () => {
  const gc = (...args: string[]) => cluster.relet(['gc', '--min-age', '0', '--history', ...args]);

  test('asks first, leaves what is used, removes the rest', async () => {
    const before = await cluster.configMapNames();
    expect((await gc()).stderr).toContain('use --yes');
    expect((await gc('--dry-run')).stdout).toMatch(/would be removed \(dry run\)/);
    expect(await cluster.configMapNames()).toEqual(before);
    expect((await gc('--yes')).status).toBe(0);
    const after = await cluster.configMapNames();
    expect(after.length).toBeLessThan(before.length);
    const used = await Promise.all(['alpha', 'b-1', 'old', 'pinned', 'bare'].map(sourceOf));
    expect(used.filter((name) => name !== undefined && !after.includes(name))).toEqual([]);
  });

  test('covers kube-system too, where configs were stored before', async () => {
    const labels = { 'relet.dev/kubelet-config': 'true' };
    const old = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'former', labels },
      data: { kubelet: header },
    };
    await cluster.admin.create(configMaps, { namespace: 'kube-system' }, old);
    expect((await gc('-n', 'relet-system', '--dry-run')).stdout).not.toContain('former');
    expect((await gc('--yes')).stdout).toContain('kube-system/former');
    const { items } = await cluster.admin.list<KubeObject>(configMaps, { namespace: 'kube-system' });
    expect(items.map(({ metadata }) => metadata.name)).not.toContain('former');
  });

  test('leaves young ones, and what undo could want', async () => {
    await cluster.relet(['push', file('young.yaml', `${header}maxPods: 78\n`), '--name', 'young']);
    const { stdout } = await cluster.relet(['gc', '--yes']);
    expect(stdout).toMatch(/^relet-system\/young-\w+ {3}kept: younger than --min-age$/m);
    expect(stdout).toMatch(/^relet-system\/kubelet-config-\w+ {3}kept: in use by /m);
    expect(stdout).toMatch(/^Kept: .*1 younger than 60m \(--min-age\)\.$/m);
  });

  test('-o json says why each is kept or removed', async () => {
    const { stdout } = await cluster.relet(['gc', '--min-age', '0s', '--dry-run', '-o', 'json']);
    const { kind, configMaps: found } = JSON.parse(stdout);
    expect(kind).toBe('GcResult');
    expect(found).toContainEqual({
      configMap: `relet-system/${await sourceOf('alpha')}`,
      reason: 'InUse',
      nodes: expect.arrayContaining(['alpha']),
      removed: false,
    });
    expect(found).toContainEqual(
      expect.objectContaining({ configMap: expect.stringContaining('/young-'), reason: 'Unused' }),
    );
  });
});

describe('a server that drops the reference', () => {
  test('is noticed before anything is made, and explained', async () => {
    const modern = await OperatorCluster.start('--feature-gates', 'DynamicKubeletConfig=false');
    try {
      await modern.node('n', { does: 'deaf' });
      const { status, stderr } = await modern.relet(['set', 'n', 'maxPods=5', '--yes']);
      expect(status).toBe(2);
      expect(stderr).toMatch(/does not keep spec.configSource.*Nothing was changed.*NodeConfig/);
      expect(await modern.configMapNames()).toEqual([]);
      const doctor = await modern.relet(['doctor']);
      expect(doctor.status).toBe(1);
      expect(doctor.stdout).toMatch(/error +the server drops spec.configSource of Nodes silently/);
    } finally {
      await modern.close();
    }
  });
});

/** The operator's verbs on a terminal of 80 columns: questions, live lines, Ctrl-C, and how the output looks. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodes } from '../src/kube/resource-type.js';
import { header, OperatorCluster } from './operator-rig.js';
import { needs } from './programs.js';

const terminal = needs('script');

let cluster: OperatorCluster;

beforeAll(async () => {
  if (terminal.isMissing) return;
  cluster = await OperatorCluster.start();
  await cluster.node('alpha', { labels: { pool: 'red' } });
  await cluster.node('b-1', { does: 'prove' });
  await cluster.node('b-3', { does: 'refuse' });
  cluster.file('push.yaml', `${header}maxPods: 77\n`);
  await cluster.relet('set b-1 maxPods=141 --yes');
  await cluster.relet('set b-3 maxPods=125 --yes');
});
afterAll(() => cluster?.close());

describe.skipIf(terminal.isMissing)(`on a terminal${terminal.note}`, () => {
  test.each([
    ['n and Enter', 'n\r', 1, ['Change b-1? [y/N]', 'Nothing was changed.']],
    ['Ctrl-D', '\x04', 1, ['This counts as no.', 'Nothing was changed.']],
    ['Ctrl-C', '\x03', 130, ['relet: interrupted; nothing was changed']],
  ])('%s at the question changes nothing', async (_keys, typed, exits, shown) => {
    const before = (await cluster.object('b-1')).metadata.resourceVersion;
    const { status, screen } = await cluster.terminal(['set', 'b-1', 'maxPods=142'], { keys: [['[y/N]', typed]] });
    expect(status).toBe(exits);
    for (const text of shown) expect(screen).toContain(text);
    expect((await cluster.object('b-1')).metadata.resourceVersion).toBe(before);
  });

  test('a yes shows a live line until it is active', async () => {
    await cluster.node('live', { does: 'prove' });
    const { status, screen } = await cluster.terminal(['set', 'live', 'maxPods=141'], { keys: [['[y/N]', 'y\r']] });
    expect(status).toBe(0);
    expect(screen).toMatch(/\x1b\[1A\x1b\[J/);
    expect(screen).toMatch(/live: .*active: relet-system\/kubelet-config/);
  });

  describe('an error about the reference before, reported while a person thinks about the question', () => {
    const download = 'failed to sync: failed to download config, see Kubelet log for details';
    const missing = { configMap: { namespace: 'kube-system', name: 'missing', kubeletConfigKey: 'kubelet' } };

    test('does not make a good undo a failure', async () => {
      const late = await cluster.node('late', { does: 'prove' });
      await cluster.relet('set late maxPods=125 --yes');
      const { config: ran } = (await cluster.object('late')).status;
      late.does = 'deaf';
      await cluster.admin.patch(nodes, { name: 'late' }, { spec: { configSource: missing } }, { as: 'merge' });
      const { status, screen } = await cluster.terminal(['undo', 'late'], {
        keys: [
          ['[y/N]', () => late.report({ ...ran, error: download }).then(() => 'y\r')],
          ['it reports: failed to sync', () => late.report(ran!).then(() => '')],
        ],
      });
      expect(screen).toMatch(/late: .*active: relet-system\/kubelet-config/);
      expect(status).toBe(0);
    });

    test('does not stop a rollout', async () => {
      const fleet = [await cluster.node('fleet-1', { does: 'deaf' }), await cluster.node('fleet-2', { does: 'prove' })];
      const { stdout } = await cluster.relet('push push.yaml -o name');
      const { status, screen } = await cluster.terminal(['assign', stdout.trim(), 'fleet-1', 'fleet-2'], {
        keys: [
          ['[y/N]', () => fleet[0]!.report({ error: download }).then(() => 'y\r')],
          [
            'it reports: failed to sync',
            () => {
              fleet[0]!.does = 'prove';
              return fleet[0]!.report({}).then(() => '');
            },
          ],
        ],
      });
      expect(screen).toContain('Done (2): fleet-1, fleet-2');
      expect(status).toBe(0);
    });
  });

  test('Ctrl-C while it waits ends with 130, and says what was done and what was not', async () => {
    await cluster.node('slow-1', { does: 'deaf', labels: { pool: 'slow' } });
    await cluster.node('slow-2', { does: 'deaf', labels: { pool: 'slow' } });
    const { status, screen } = await cluster.terminal(['set', '-l', 'pool=slow', 'maxPods=31', '--yes'], {
      keys: [['waiting for the node', '\x03']],
    });
    expect(status).toBe(130);
    expect(screen).toContain('it will finish on its own');
    expect(screen).toMatch(/Not changed \(1\): slow-2/);
    expect(await cluster.sourceOf('slow-1')).toMatch(/^kubelet-config-/);
    expect(await cluster.sourceOf('slow-2')).toBeUndefined();
  });

  test('get fits 80 columns', async () => {
    await cluster.node('silent', { does: 'deaf' });
    const nodes = ['b-1', 'b-3', 'alpha', 'silent'];
    const { screen } = await cluster.terminal(['get', ...nodes], { env: { NO_COLOR: '1' } });
    expect(screen).not.toContain('\x1b');
    expect((await cluster.terminal(['get', ...nodes])).screen).toContain('\x1b[31mrejected\x1b[39m');
    for (const line of screen.trimEnd().split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('ages and all, describe and history fit 80 columns', async () => {
    for (const args of [
      ['history', 'b-1'],
      ['describe', 'b-1'],
      ['get', '--help'],
      ['set', '--help'],
    ]) {
      const { screen } = await cluster.terminal(args, { env: { NO_COLOR: '1' } });
      for (const line of screen.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    }
  });

  test('doctor, a difference and a change look like this', async () => {
    const look = async (args: string[]) => masked((await cluster.terminal(args)).screen);
    expect(await look(['doctor', 'b-1'])).toMatchInlineSnapshot(`
      "ok       API server https://127.0.0.1:PORT is version v1.32.1+relet.0.1.0
      ok       the server keeps spec.configSource of Nodes
      ok       guards: the server itself keeps nodes from changing their own reference
               (NodeRestriction)
      ok       the clocks of this machine and of the server agree
      ok       you may do all that relet does (ConfigMaps in relet-system)
      ok       1 of 1 nodes report their config
      ok       no node is on trial, waiting, rejected or rolled back
      ok       the assigned ConfigMap is there
      ok       every assigned node may read its ConfigMap

      All is well.
      "
    `);
    expect(await look(['diff', 'b-1', 'push.yaml'])).toMatchInlineSnapshot(`
      "--- b-1, as it runs
      +++ push.yaml
      maxPods  restart
          - 141
          + 77
          Risk: The youngest pods beyond the new limit fail with OutOfpods, and a
          rollback does not bring them back.

      Impact: kubelet restart. The effect on running pods is not known.
      Watch: rejectedPods, podStartSeconds, memoryPressure, kubeletCpu (at once)
      "
    `);
    expect(
      await look(['set', 'b-1', 'clusterDNS=10.0.0.10', 'cpuManagerPolicy=static', '--dry-run']),
    ).toMatchInlineSnapshot(`
      "relet: the kubelet of b-1 (v1.32.1) would not run with that, so nothing was
      changed:
        cpuManagerPolicy: the static CPU manager needs CPU that is kept for the
        system: validation accepts it, but the kubelet exits at startup with
        '[cpumanager] unable to determine reserved CPU resources for static policy';
        set kubeReserved.cpu, systemReserved.cpu or reservedSystemCPUs
      "
    `);
    const previewed = ['set', 'b-1', 'alpha', 'maxPods=5', 'containerLogMaxFiles=9', '--dry-run'];
    expect(await look(previewed)).toMatchInlineSnapshot(`
      "b-1: relet-system/kubelet-config-##########/kubelet ->
          relet-system/kubelet-config-##########/kubelet
      maxPods  restart
          - 141
          + 5
          Risk: Lowered below what runs, the youngest pods fail with OutOfpods. Raised
          beyond the pod CIDR, new pods get no address.
      containerLogMaxFiles  restart
          - 5
          + 9
          Risk: Lowered, older files are deleted at the next rotation and cannot be
          read back.

      Impact: kubelet restart. The effect on running pods is not known.
      Watch: rejectedPods, podStartSeconds, memoryPressure, kubeletCpu, evictions,
      ioPressure (at once)

      alpha: local -> relet-system/kubelet-config-##########/kubelet
      maxPods  restart
          - 110
          + 5
          Risk: The youngest pods beyond the new limit fail with OutOfpods, and a
          rollback does not bring them back.
      containerLogMaxFiles  restart
          - 5
          + 9
          Risk: Lowered, older files are deleted at the next rotation and cannot be
          read back.

      Impact: kubelet restart. The effect on running pods is not known.
      Watch: rejectedPods, podStartSeconds, memoryPressure, kubeletCpu, evictions,
      ioPressure (at once)
      configmap/kubelet-config-########## created (dry run) in namespace relet-system
      b-1: assigned relet-system/kubelet-config-##########/kubelet (dry run)
      alpha: assigned relet-system/kubelet-config-##########/kubelet (dry run)
      "
    `);
    expect(await look(['set', 'b-1', 'cgroupDriver=systemd', '--yes'])).toMatchInlineSnapshot(`
      "b-1: relet-system/kubelet-config-##########/kubelet ->
          relet-system/kubelet-config-##########/kubelet
      cgroupDriver  reboot
          - cgroupfs
          + systemd
          Kubelet and runtime must change together, and running pods stay in cgroups
          named the old way. Only a reboot clears both.
          Risk: Different drivers fail every new pod. Kubelets from 1.28 can take the
          driver from the runtime and then ignore this field.

      Impact: reboot. A drain and a reboot: what the old value left in the kernel or
      the runtime is not undone by a restart.
      Watch: lostReady, restarts, podStartSeconds, oomKills (at once)
      relet: nothing was changed: changing cgroupDriver needs more than a kubelet
      restart (reboot): Kubelet and runtime must change together, and running pods
      stay in cgroups named the old way. Only a reboot clears both. To go ahead, use
      --accept=reboot
      "
    `);
    expect(await look(['set', 'b-1', 'maxPods=-1', '--yes'])).toMatchInlineSnapshot(`
      "relet: the kubelet of b-1 (v1.32.1) would not run with that, so nothing was
      changed:
        maxPods: invalid configuration: maxPods (--max-pods) -1 must not be a negative
        number
      "
    `);
    expect(await look(['wait', 'b-3', '--for=ok'])).toMatchInlineSnapshot(`
      "relet: b-3 will not reach 'ok': rejected: the kubelet would accept the assigned
      config and then exit at startup (port 10250 is taken); see 'relet describe b-3'
      "
    `);
  });

  test('get -w prints changes and ends at Ctrl-C', async () => {
    const change = async () => {
      await cluster.relet('set watched maxPods=170 --yes');
      return '';
    };
    await cluster.node('watched');
    const { status, screen } = await cluster.terminal(['get', 'watched', '-w'], {
      env: { NO_COLOR: '1' },
      keys: [
        ['watched', change],
        ['trial', '\x03'],
      ],
    });
    expect(status).toBe(130);
    expect(screen).toMatch(/^watched +local/m);
    expect(screen).toMatch(/^watched +trial/m);
  });

  describe('a node that is deleted meanwhile', () => {
    const remove = (name: string) => cluster.admin.delete(nodes, { name }).then(() => '');
    const env = { NO_COLOR: '1' };
    const unknown = { configMap: { namespace: 'kube-system', name: 'unknown', kubeletConfigKey: 'kubelet' } };

    test.each([
      ['is shown in a table', [], 'leaving   deleted'],
      ['prints nothing into JSON', ['-o', 'json'], undefined],
      ['is not in a table of other nodes', ['staying', 'b-1'], undefined],
    ])('get -w: %s', async (_name, args, line) => {
      for (const name of ['leaving', 'staying']) await cluster.node(name, { does: 'deaf' });
      const change = async () => {
        await remove('leaving');
        const error = { status: { config: { error: 'second' } } };
        await cluster.admin.patch(nodes, { name: 'staying', subresource: 'status' }, error, { as: 'merge' });
        return '';
      };
      const { status, screen } = await cluster.terminal(['get', '-w', ...args], {
        env,
        keys: [
          ['staying', change],
          ['second', '\x03'],
        ],
      });
      await remove('staying');
      expect(status).toBe(130);
      if (line === undefined) expect(screen).not.toContain('deleted');
      else expect(screen).toContain(line);
    });

    test('wait: of several by label is no longer waited for', async () => {
      await cluster.node('pool-1', { labels: { pool: 'x' } });
      await cluster.node('pool-2', { labels: { pool: 'x' }, does: 'deaf' });
      await cluster.admin.patch(nodes, { name: 'pool-2' }, { spec: { configSource: unknown } }, { as: 'merge' });
      const { status, screen } = await cluster.terminal(['wait', '-l', 'pool=x', '--for=ok', '--timeout=60s'], {
        env,
        keys: [['pool-2: no agent', () => remove('pool-2')]],
      });
      expect({ status, screen }).toEqual({ status: 0, screen: expect.stringContaining('pool-2: gone, no longer') });
      expect(screen).toContain('node/pool-1 condition met');
    });

    test('wait: one that was named ends it with 1, and the last one by label with 2', async () => {
      for (const [args, code, message] of [
        [['named'], 1, "named will not reach 'lastKnownGood': the Node was deleted meanwhile"],
        [['-l', 'pool=y'], 2, 'there is no node that matches'],
      ] as const) {
        await cluster.node('named', { labels: { pool: 'y' }, does: 'deaf' });
        await cluster.admin.patch(nodes, { name: 'named' }, { spec: { configSource: unknown } }, { as: 'merge' });
        const { status, screen } = await cluster.terminal(['wait', ...args, '--for=lastKnownGood', '--timeout=60s'], {
          env,
          keys: [['named: no agent', () => remove('named')]],
        });
        expect({ status, screen }).toEqual({ status: code, screen: expect.stringContaining(message) });
      }
    });
  });

  test('wait shows which nodes it waits for', async () => {
    await cluster.node('tried');
    await cluster.relet('set tried maxPods=171 --yes');
    const { status, screen } = await cluster.terminal(['wait', 'tried', '--for=lastKnownGood'], {
      env: { NO_COLOR: '1' },
      keys: [['waiting for lastKnownGood', '\x03']],
    });
    expect(status).toBe(130);
    expect(screen).toMatch(/tried: trial.*, waiting for lastKnownGood/);
  });

  test('edit opens the editor of the person in the terminal', async () => {
    const script = cluster.file('tty-editor.sh', 'test -t 0 && sed -i "s/^  maxPods: .*/  maxPods: 143/" "$1"\n');
    await cluster.node('edited', { does: 'prove' });
    await cluster.relet('set edited maxPods=125 --yes');
    const { status, screen } = await cluster.terminal(['edit', 'edited'], {
      env: { EDITOR: `sh ${join(cluster.dir, script)}` },
      keys: [['[y/N]', 'y\r']],
    });
    expect(status).toBe(0);
    expect(screen).toContain('+ 143');
  });
});

/** Colours are not the point here; ports and hashes differ from run to run. */
const masked = (text: string): string =>
  text
    .replace(/\x1b\[\d+m/g, '')
    .replace(/127\.0\.0\.1:\d{4,5}/g, '127.0.0.1:PORT')
    .replace(/kubelet-config-\w{10}\b/g, 'kubelet-config-##########');

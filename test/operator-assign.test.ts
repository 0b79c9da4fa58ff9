/** relet assign, reset, undo and convert, in a pipe. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configMaps } from '../src/kube/resource-type.js';
import { header, OperatorCluster, overlayHeader } from './operator-rig.js';

let cluster: OperatorCluster;

beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster?.close());

describe('relet assign, reset and undo', () => {
  test('assign points nodes at it, reset lets them go back, and undo undoes either', async () => {
    for (const node of ['b-1', 'b-2']) await cluster.node(node, { does: 'prove' });
    const name = await cluster.push(`${header}maxPods: 77\n`);
    const assigned = await cluster.relet(`assign ${name} b-1 b-2 --yes --max-unavailable 2`);
    expect(assigned.status).toBe(0);
    expect([await cluster.sourceOf('b-1'), await cluster.sourceOf('b-2')]).toEqual([name, name]);
    expect((await cluster.relet(`assign ${name} b-1 --yes`)).stdout).toMatch(/^b-1: has that already/m);
    expect((await cluster.relet('reset b-1 --yes')).stdout).toMatch(/^b-1: active: its local config$/m);
    expect(await cluster.sourceOf('b-1')).toBeUndefined();
    expect((await cluster.relet('undo b-1 --yes')).status).toBe(0);
    expect(await cluster.sourceOf('b-1')).toBe(name);
    const { stdout } = await cluster.relet('history b-1 -o json');
    expect((JSON.parse(stdout) as { verb: string }[]).map(({ verb }) => verb)).toEqual(['undo', 'reset', 'assign']);
  });

  test('assign and undo show the difference first; a reset says where it cannot be shown', async () => {
    await cluster.node('local-dns', { config: { clusterDNS: ['10.96.0.10'], maxPods: 250 }, does: 'prove' });
    const name = await cluster.push(`${header}maxPods: 77\n`);
    const { stdout } = await cluster.relet(`assign ${name} local-dns --yes --accept=drain`);
    expect(stdout).toMatch(/^clusterDNS {2}\w+\n {4}- \["10.96.0.10"\]\n {4}\+ not set \(the default/m);
    expect(stdout).toMatch(/^maxPods {2}restart\n {4}- 250\n {4}\+ 77$/m);
    const local =
      /its local config is a file on the host that its agent does not\s+report, so the difference\s+cannot be shown/;
    expect((await cluster.relet('reset local-dns --yes')).stdout).toMatch(local);
    const undo = await cluster.relet('undo local-dns --yes --accept=drain');
    expect(undo.stdout).toMatch(/^maxPods {2}restart\n {4}- 250\n {4}\+ 77$/m);
    expect((await cluster.relet('undo local-dns --yes')).stdout).toMatch(local);
  });

  test('-o json gives one object with the result of each node, and nothing else on standard output', async () => {
    await cluster.node('json-1', { does: 'prove' });
    await cluster.node('json-2', { does: 'refuse' });
    await cluster.node('json-3');
    const { status, stdout, stderr } = await cluster.relet('set json-1 json-2 json-3 maxPods=66 --yes -o json');
    const source = `relet-system/${await cluster.sourceOf('json-1')}/kubelet`;
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
    const again = await cluster.relet(`assign ${source.split('/')[1]} json-1 --yes -o json`);
    expect(JSON.parse(again.stdout).nodes).toEqual([
      { node: 'json-1', from: source, to: source, state: 'active', reason: 'AlreadyAssigned' },
    ]);
    expect((await cluster.relet('reset json-1 --yes -o name')).stdout).toBe('node/json-1\n');
  });

  test('what a kubelet of that version would not take is not assigned', async () => {
    await cluster.node('old', { version: 'v1.17.17' });
    const name = await cluster.push(`${header}memorySwap: {swapBehavior: NoSwap}\n`);
    const { status, stderr } = await cluster.relet(`assign ${name} old --yes`);
    expect(status).toBe(2);
    expect(stderr).toContain('the kubelet of old (v1.17.17) would not run with that');
  });

  test('a ConfigMap that is gone cannot be gone back to', async () => {
    await cluster.node('bereft', { does: 'prove' });
    await cluster.relet('set bereft maxPods=65 --yes');
    const name = (await cluster.sourceOf('bereft'))!;
    await cluster.relet('reset bereft --yes');
    await cluster.admin.delete(configMaps, { namespace: 'relet-system', name });
    const { status, stderr } = await cluster.relet('undo bereft --yes');
    expect(status).toBe(2);
    expect(stderr).toContain(`ConfigMap relet-system/${name} is gone from the API`);
  });
});

describe('relet convert', () => {
  const whole = `${header}maxPods: 40\nclusterDomain: cluster.local\n`;

  test('a whole config becomes an overlay over the local config, which a file may give', async () => {
    const local = { maxPods: 250, clusterDomain: 'cluster.local' };
    await cluster.node('whole', { config: local, does: 'prove' });
    await cluster.relet(`assign ${await cluster.push(whole)} whole --yes`);
    const noted = await cluster.relet('set whole podsPerCore=3 --yes');
    expect(noted.stdout).toMatch(/it is assigned a\s+whole config.*'relet\s+convert\s+whole'/s);
    expect((await cluster.payloadOf('whole')).text).toMatch(/^kind: KubeletConfiguration$/m);
    const unknown = await cluster.relet('convert whole --yes');
    expect(unknown.status).toBe(2);
    expect(unknown.stderr).toMatch(/the local config of whole is not known.*relet convert whole --local FILE/);
    cluster.file('local.yaml', `${header}maxPods: 250\nclusterDomain: cluster.local\n`);
    const { status, stdout } = await cluster.relet('convert whole --local local.yaml --yes');
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('No difference in meaning.') });
    expect((await cluster.payloadOf('whole')).text).toBe(`${overlayHeader}config:\n  maxPods: 40\n  podsPerCore: 3\n`);
    expect((await cluster.relet('convert whole --yes')).stdout).toBe('whole: is assigned an overlay already\n');
    expect((await cluster.relet('undo whole --yes')).status).toBe(0);
  });

  test('set --overlay does it in the same step, on a node that has rolled back to its local config', async () => {
    await cluster.node('fallen', { config: { maxPods: 250 }, does: 'roll back' });
    await cluster.relet(`assign ${await cluster.push(whole)} fallen --yes --accept=drain`);
    const { stdout } = await cluster.relet('set fallen podsPerCore=3 --overlay --dry-run');
    expect(stdout).toMatch(/^maxPods {2}restart\n {4}- 250\n {4}\+ 40$/m);
    expect(stdout).toMatch(/^podsPerCore {2}/m);
  });
});

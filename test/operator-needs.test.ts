/** relet set with a change that needs more than a restart, in a pipe. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OperatorCluster } from './operator-rig.js';

let cluster: OperatorCluster;

beforeAll(async () => {
  cluster = await OperatorCluster.start();
  // No test changes it.
  await cluster.node('alpha');
});
afterAll(() => cluster?.close());

const policy = 'cpuManagerPolicy=static reservedSystemCPUs=0';

describe('a change that needs more than a restart', () => {
  test.each([
    ['is refused without --accept', policy, /needs more than a kubelet restart.*--accept=state-file/],
    ['is refused with another class', `${policy} --accept=drain`, /--accept=state-file/],
    ['of class never is refused with any --accept', 'providerID=x --accept=reboot', /providerID cannot be changed/],
    ['cannot be accepted as never', 'providerID=x --accept=never', /cannot be changed on a live node/],
    ['cannot be accepted by another word', 'maxPods=5 --accept=all', /'all' is none of drain, state-file, reboot/],
    ['suggests the word that is near', 'maxPods=5 --accept=rebot', /Did you mean reboot\?/],
    [
      'needs a value',
      'maxPods=5 --accept',
      /^relet: --accept needs a value: drain, state-file, reboot or daemon-reload$/m,
    ],
  ])('%s', async (_name, words, message) => {
    const before = await cluster.object('alpha');
    const { status, stderr } = await cluster.relet(`set alpha --yes ${words}`);
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
    expect((await cluster.object('alpha')).spec).toEqual(before.spec);
  });

  test('is previewed without --accept, which the preview names', async () => {
    const change = 'set alpha cgroupDriver=systemd';
    const { status, stdout } = await cluster.relet(`${change} --dry-run`);
    expect(status).toBe(0);
    expect(stdout).toMatch(/\(dry run\)\nThis change needs --accept=reboot\.\n$/);
    const previewed = await cluster.relet(`${change} --dry-run -o json`);
    expect(JSON.parse(previewed.stdout).nodes).toMatchObject([{ reason: 'DryRun', needs: ['reboot'] }]);
    const refused = await cluster.relet(`${change} --yes -o json`);
    expect(refused.status).toBe(2);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      nodes: [{ node: 'alpha', reason: 'NotChanged' }],
      error: expect.stringContaining('use --accept=reboot'),
    });
  });

  test('is made when it is accepted', async () => {
    await cluster.node('drained', { does: 'prove' });
    const { status, stdout } = await cluster.relet(`set drained ${policy} --yes --accept=drain,state-file`);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^drained: left to do on its host: removal of a state file, then a drain \(for cpuMan/m);
  });

  test('what is left to do stays with another change, is shown, and can be dismissed', async () => {
    await cluster.node('owing', { does: 'prove' });
    const annotation = async () => (await cluster.object('owing')).metadata.annotations?.['relet.dev/owed'];
    await cluster.relet('set owing cgroupDriver=systemd --yes --accept=reboot');
    expect(JSON.parse((await annotation())!)).toMatchObject({ needs: ['reboot'], fields: ['cgroupDriver'] });
    await cluster.relet('set owing containerLogMaxFiles=7 --yes');
    expect(JSON.parse((await annotation())!)).toMatchObject({ needs: ['reboot'], fields: ['cgroupDriver'] });
    expect((await cluster.relet('get owing')).stdout).toMatch(/left to do on its host: reboot \(for cgroupDriver\)/);
    expect((await cluster.relet('describe owing')).stdout).toMatch(/^Owed: +left to do on its host: reboot/m);
    expect((await cluster.relet('doctor owing')).stdout).toMatch(/need a reboot after a change: owing/);
    const { stdout } = await cluster.relet('dismiss owing');
    expect(stdout).toBe('owing: dismissed: left to do on its host: reboot (for cgroupDriver)\n');
    expect(await annotation()).toBeUndefined();
    expect((await cluster.relet('dismiss owing')).stdout).toBe('owing: nothing is left to do\n');
  });
});

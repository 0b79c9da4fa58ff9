/** A node that is held on its host shows it in the API, and verbs that would wait for it say so at once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { heldAnnotation, readHeld } from '../src/api/node-annotations.js';
import type { NodeConfigObjectStatus } from '../src/api/node-config.js';
import { nodes } from '../src/kube/resource-type.js';
import { createClusterRig } from './cluster-rig.js';
import { OperatorCluster } from './operator-rig.js';

describe.each(['Node', 'NodeConfig'] as const)('a held node, through a %s', (through) => {
  test('reports since when, by whom and why, until it is released', async () => {
    const rig = await createClusterRig({ through });
    const held = () =>
      through === 'NodeConfig'
        ? (rig.seen?.status as NodeConfigObjectStatus | undefined)?.held
        : readHeld(rig.seen?.metadata.annotations?.[heldAnnotation]);
    await rig.node.request({ verb: 'hold', why: 'a disk is replaced', who: 'ann' });
    await rig.until('held', () => held() !== undefined);
    const since = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(held()).toEqual({ since, why: 'a disk is replaced', who: 'ann' });
    await rig.node.request({ verb: 'release' });
    await rig.until('released', () => held() === undefined);
  });
});

describe('for people', () => {
  let cluster: OperatorCluster;
  beforeAll(async () => {
    cluster = await OperatorCluster.start();
    const held = JSON.stringify({ since: '2026-03-01T12:00:00Z', why: 'a disk is replaced', who: 'ann' });
    const patch = { metadata: { annotations: { [heldAnnotation]: held } } };
    for (const name of ['alpha', 'beta']) {
      (await cluster.node(name)).does = 'deaf';
      await cluster.admin.patch(nodes, { name }, patch, { as: 'merge' });
    }
  });
  afterAll(() => cluster?.close());

  test('get shows held as its state', async () => {
    expect((await cluster.relet('get alpha')).stdout).toMatch(/^alpha +held /m);
    expect((await cluster.relet(['get', 'alpha', '-o', 'jsonpath={.status.state} {.status.held.who}'])).stdout).toBe(
      'held ann',
    );
  });

  test('describe says since when, by whom and why, and how to release it', async () => {
    const { stdout } = await cluster.relet('describe alpha');
    expect(stdout).toMatch(/^Held: +since 2026-03-01T12:00:00Z by ann \(unverified\): a disk is\s+replaced$/m);
    expect(stdout.replace(/\s+/g, ' ')).toContain("run 'relet node release' on its host to release it");
  });

  test('set changes nothing and says at once that the node is held', async () => {
    const { status, stderr } = await cluster.relet('set alpha maxPods=150 --yes');
    expect(status).toBe(2);
    expect(stderr).toContain('alpha is held since 2026-03-01T12:00:00Z by ann (unverified): a disk is replaced');
    expect(stderr).toContain("run 'relet node release' on its host");
    expect(await cluster.sourceOf('alpha')).toBeUndefined();
  });

  test('wait for a config that the node does not take says at once that it is held', async () => {
    expect((await cluster.relet('set beta maxPods=150 --yes --no-wait')).status).toBe(0);
    const { status, stderr } = await cluster.relet('wait beta --for=active --timeout=60s');
    expect(status).toBe(1);
    expect(stderr).toContain('held since 2026-03-01T12:00:00Z by ann');
  });
});

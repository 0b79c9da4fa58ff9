/** The advice of the command line: it names what helps in this case, and nothing that would make it worse. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Claim, claimAnnotation, claimText } from '../src/api/node-annotations.js';
import { OperatorCluster } from './operator-rig.js';

let cluster: OperatorCluster;

beforeAll(async () => {
  cluster = await OperatorCluster.startWithDeploy();
  const claim: Claim = { set: 'gpu', revision: 'a', source: undefined, wave: 1, at: '', previous: undefined };
  for (const [name, annotations] of [
    ['node-1', { [claimAnnotation]: claimText(claim) }],
    ['node-2', { 'relet.dev/hold': 'broken fan' }],
  ] as const)
    await cluster.nodeWithConfig(name, {}, annotations);
});
afterAll(() => cluster?.close());

describe('relet edit', () => {
  test.each([
    ['of a node that a set owns', 'node-1', "Change the set instead ('relet set --as-set gpu …', or in Git)"],
    [
      'of a node that is held',
      'node-2',
      'node-2 is held through the API: broken fan (unverified); nothing was changed',
    ],
  ])('%s is refused before the editor opens', async (_name, node, message) => {
    const opened = join(cluster.dir, `opened-${node}`);
    const { status, stderr } = await cluster.relet(['edit', node], { env: { KUBE_EDITOR: `touch '${opened}'; :` } });
    expect({ status, opened: existsSync(opened) }).toEqual({ status: 2, opened: false });
    expect(stderr).toContain(message);
  });
});

describe('relet push', () => {
  test.each([
    [
      'NodeConfigSet',
      'relet.dev/v1alpha1',
      "'relet rollout plan other.yaml' previews it, 'kubectl apply -f other.yaml' applies it",
    ],
    ['ConfigMap', 'v1', "'kubectl apply -f other.yaml' stores it as it is"],
    ['Deployment', 'apps/v1', "'kubectl apply -f other.yaml' applies it"],
  ])('of a %s names what it is and what to do with it, in no words of Go', async (kind, apiVersion, way) => {
    cluster.file('other.yaml', `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata:\n  name: gpu\n`);
    const { status, stderr } = await cluster.relet(['push', 'other.yaml']);
    expect(status).toBe(2);
    expect(stderr).toContain(`other.yaml is a ${kind} (${apiVersion}), so nothing was pushed`);
    expect(stderr).toContain(way);
    expect(stderr).not.toMatch(/scheme|--kubelet-version/);
  });
});

test.each([
  [['describe', 'nod-1'], "relet: there is no node 'nod-1'; did you mean 'node-1'? 'relet get' lists them\n"],
  [['describe', 'worker-77'], "relet: there is no node 'worker-77'; 'relet get' lists them\n"],
  [['gt'], "relet: there is no verb 'gt'; did you mean 'relet get'?\n"],
])('%j: a name that is near to a known one is suggested', async (args, stderr) => {
  expect(await cluster.relet(args)).toEqual({ status: 2, stdout: '', stderr });
});

/** A node at rest costs the API server two watches, each of one object by its name, and nothing else: no polling. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createClusterRig, nodeName } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { newPlace } from './process-rig.js';

/** A line of the server's audit log. */
interface Audited {
  auditID: string;
  stage: 'ResponseStarted' | 'ResponseComplete';
  verb: string;
  requestURI: string;
  user: { username?: string };
}

test.each([
  ['NodeConfig', `watch /apis/relet.dev/v1alpha1/nodeconfigs?metadata.name=${nodeName}`],
  ['Node', `watch /api/v1/nodes?metadata.name=${nodeName}`],
] as const)('through a %s', async (through, reference) => {
  const auditLogPath = join((await newPlace()).dir, '..', 'audit.log');
  const rig = await createClusterRig({ through, server: { auditLogPath } });
  await rig.createConfigMap('at-rest', { kubelet: rig.node.config('maxPods: 77') });
  await rig.point('at-rest');
  await rig.until('active', () => rig.config?.active !== undefined);
  await rig.node.passTrial();
  await rig.until('last known good', () => rig.config?.lastKnownGood !== undefined);
  // The last it has to say.
  const reasons = async () => (await rig.events()).map(({ reason }) => reason);
  await eventually('the event of the passed trial', async () =>
    expect(await reasons()).toContain('KubeletConfigTrialPassed'),
  );

  const audited = () =>
    readFileSync(auditLogPath, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Audited);
  const isOurs = ({ user }: Audited) => user.username === `system:node:${nodeName}`;
  const openWatches = () => {
    const ended = new Set(audited().flatMap(({ stage, auditID }) => (stage === 'ResponseComplete' ? [auditID] : [])));
    return audited()
      .filter(isOurs)
      .filter(({ stage, auditID }) => stage === 'ResponseStarted' && !ended.has(auditID))
      .map(whatIsAsked)
      .sort();
  };
  const watches = ['watch /api/v1/namespaces/kube-system/configmaps?metadata.name=at-rest', reference].sort();
  await rig.until('two watches', () => JSON.stringify(openWatches()) === JSON.stringify(watches));

  // Its last status comes back to it as a change of its own object, which a Node is read for once more.
  const ours = () => audited().filter(isOurs);
  const lastWrite = () => ours().findLastIndex(({ requestURI }) => requestURI.includes('/status'));
  const read = `get ${reference.replace('watch ', '').replace('?metadata.name=', '/')}`;
  if (through === 'Node')
    await rig.until('its own status read', () => ours().slice(lastWrite()).map(whatIsAsked).includes(read));

  // It may have had more than one thing left to report: at rest is a node that has asked nothing for fifty looks at the log.
  let [seen, unchanged] = [0, 0];
  await eventually('a node at rest', () => {
    const asked = ours().length;
    unchanged = asked === seen ? unchanged + 1 : 0;
    seen = asked;
    return unchanged >= 50;
  });

  // As long as a watch lives at least, on the node's own clock: whatever it might have planned for then comes to pass.
  const before = audited().length;
  rig.node.clock.advance(290_000);
  // Then it receives a change through its watch; until then it asked for nothing.
  const { metadata } = await rig.patchConfigMap('at-rest', { metadata: { labels: { seen: 'true' } } });
  const version = () => rig.config?.active?.configMap?.resourceVersion;
  await rig.until('received', () => version() === metadata.resourceVersion);
  const since = audited().slice(before);
  const change = since.findIndex((line) => line.verb === 'patch' && !isOurs(line));
  expect(since.slice(0, change).filter(isOurs).map(whatIsAsked)).toEqual([]);
  expect(change).toBeGreaterThanOrEqual(0);
  expect(openWatches()).toEqual(watches);
});

const whatIsAsked = ({ verb, requestURI }: Audited) => {
  const { pathname, searchParams } = new URL(requestURI, 'https://server');
  const selector = searchParams.get('fieldSelector');
  return `${verb} ${pathname}${selector === null ? '' : `?${selector}`}`;
};

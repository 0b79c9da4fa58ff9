/**
 * A node at rest costs the API server two watches, each of one object by its name, and in five minutes one renewal of its lease. It does
 * not poll.
 */
import { expect, test } from 'vitest';
import { defaultTrialLimits } from '../src/agent/trial/trial.js';
import { leaseAnnotation, readLease, readLeaseText, renewMs } from '../src/api/agent-lease.js';
import type { ApiServerOptions } from '../src/lab/apiserver/apiserver.js';
import { createClusterRig, nodeName } from './cluster-rig.js';
import { eventually } from './eventually.js';

type OnRequest = NonNullable<ApiServerOptions['onRequest']>;
interface Answered {
  exchange: Parameters<OnRequest>[0];
  info: Parameters<OnRequest>[1];
}

test.each([
  [
    'NodeConfig',
    '/apis/relet.dev/v1alpha1/nodeconfigs',
    [`update /apis/relet.dev/v1alpha1/nodeconfigs/${nodeName}/status`],
  ],
  // A Node is read, written, and read once more when the watch delivers the new version, which is also when discovery is asked.
  [
    'Node',
    '/api/v1/nodes',
    [
      `get /api/v1/nodes/${nodeName}`,
      `patch /api/v1/nodes/${nodeName}/status`,
      `get /api/v1/nodes/${nodeName}`,
      'get /apis/relet.dev/v1alpha1',
    ],
  ],
] as const)('through a %s', async (through, path, renewal) => {
  const answered: Answered[] = [];
  const onRequest: OnRequest = (exchange, info) => answered.push({ exchange, info });
  // Short: the clock is moved by less than the shortest watch lasts, 15 minutes, from here to the end.
  const node = { options: { trial: { ...defaultTrialLimits, durationMs: 60_000 } } };
  const rig = await createClusterRig({ through, node, server: { onRequest } });
  await rig.activate('at-rest', 'maxPods: 77');
  await rig.node.passTrial();
  await rig.until('last known good', () => rig.config?.lastKnownGood !== undefined);
  // The last it has to say.
  const reasons = async () => (await rig.events()).map(({ reason }) => reason);
  await eventually('the event of the passed trial', async () =>
    expect(await reasons()).toContain('KubeletConfigTrialPassed'),
  );

  const isOurs = ({ info }: Answered) => info.user.name === `system:node:${nodeName}`;
  const openWatches = () =>
    answered
      .filter((one) => isOurs(one) && one.info.verb === 'watch' && !one.exchange.closed)
      .map(requestText)
      .sort();
  const watches = [
    `watch /api/v1/namespaces/${rig.namespace}/configmaps?metadata.name=at-rest`,
    `watch ${path}?metadata.name=${nodeName}`,
  ].sort();
  await rig.until('two watches', () => JSON.stringify(openWatches()) === JSON.stringify(watches));

  const ours = () => answered.filter(isOurs);
  /** It may have more than one thing left to report: at rest is a node that has sent nothing for fifty looks. */
  const atRest = () => {
    let [seen, unchanged] = [0, 0];
    return eventually('a node at rest', () => {
      const sent = ours().length;
      unchanged = sent === seen ? unchanged + 1 : 0;
      seen = sent;
      return unchanged >= 50;
    });
  };
  const lease = () =>
    readLeaseText(rig.seen?.metadata.annotations?.[leaseAnnotation]) ?? readLease(rig.seen?.status?.lease);
  await atRest();
  // On the node's own clock: everything that it has planned for then comes to pass.
  const untilRenewed = async () => {
    const renewed = lease()?.renewTime;
    rig.node.clock.advance(renewMs);
    await rig.until('the lease renewed', () => lease()?.renewTime !== renewed);
    await atRest();
  };
  // Once for what is left of the trial, such as the last look at the pods.
  await untilRenewed();
  const before = answered.length;
  await untilRenewed();
  expect(openWatches()).toEqual(watches);
  // Then it receives a change through its watch; until then it only renewed its lease.
  const { metadata } = await rig.patchConfigMap('at-rest', { metadata: { labels: { seen: 'true' } } });
  const version = () => rig.config?.active?.configMap?.resourceVersion;
  await rig.until('received', () => version() === metadata.resourceVersion);
  const since = answered.slice(before);
  const change = since.findIndex((one) => one.info.verb === 'patch' && !isOurs(one));
  expect(change).toBeGreaterThanOrEqual(0);
  expect(since.slice(0, change).filter(isOurs).map(requestText).sort()).toEqual([...renewal].sort());
});

const requestText = ({ exchange, info }: Answered) => {
  const selector = exchange.query.get('fieldSelector');
  return `${info.verb} ${exchange.path}${selector === null ? '' : `?${selector}`}`;
};

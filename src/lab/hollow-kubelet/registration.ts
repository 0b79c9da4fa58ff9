/** The hollow kubelet as an API client: registers its Node, updates its status, renews its Lease and deletes pods. */
import type { KubeObject } from '../../api/object.js';
import { isConflict, isNotFound } from '../../api/status.js';
import { type Clock, rfc3339, rfc3339Micro } from '../../clock.js';
import { parseDuration } from '../../go/duration.js';
import { backoffMs } from '../../kube/backoff.js';
import { createIfAbsent, type KubeClient, serverVersion } from '../../kube/client.js';
import { leases, nodes } from '../../kube/resource-type.js';
import type { Log } from '../../log.js';
import { type Condition, conditions, type HollowNodeFacts, nodeObject, nodeStatus } from './node-object.js';
import { finishPods } from './pods.js';

export interface RegistrationOptions {
  client: KubeClient;
  facts: HollowNodeFacts;
  isReady(): boolean;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  /** Allow any API server. */
  force: boolean;
}

/** The API server is not a relet apiserver. */
export class ForeignServerError extends Error {
  override name = 'ForeignServerError';
}

/** Runs until the signal fires. Rejects only with ForeignServerError. */
export async function keepRegistered(options: RegistrationOptions): Promise<void> {
  const { facts, signal } = options;
  await patiently(options, 'ask the API server what it is', () => checkServer(options));
  if (facts.config.registerNode !== false) await patiently(options, 'register the node', () => register(options));
  if (signal.aborted) return;
  options.log.info('Successfully registered node', { node: facts.name });
  const { client, log } = options;
  await Promise.all([keepStatus(options), keepLease(options), finishPods({ client, node: facts.name, log, signal })]);
}

async function checkServer({ client, force, signal }: RegistrationOptions): Promise<void> {
  const { gitVersion } = await serverVersion(client, { signal });
  if (force || gitVersion.includes('+relet')) return;
  throw new ForeignServerError(
    `the API server ${client.connection.server} is a ${gitVersion}, not relet's own: a hollow kubelet runs no pods and ` +
      'must not stand in a real cluster; pass --hollow-force if you know that it may',
  );
}

/** Retries until it succeeds, or the signal fires. */
async function patiently({ client, clock, log, signal }: RegistrationOptions, what: string, work: () => Promise<void>) {
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ForeignServerError) throw error;
      if (signal.aborted) return;
      log.error('Unable to reach the API server, will retry', { what, error });
      await clock.sleep(backoffMs(failures, { initialMs: 200, maxMs: 7000 }, client.random), signal).catch(() => {});
    }
  }
}

async function register({ client, facts, isReady, clock, log, signal }: RegistrationOptions): Promise<void> {
  const node = nodeObject(facts);
  const nowIso = rfc3339(clock.now());
  (node.status as Record<string, unknown>).conditions = conditions(isReady(), nowIso, []);
  log.info('Attempting to register node', { node: facts.name });
  if (await createIfAbsent(client, nodes, {}, node, { signal })) return;
  // Labels and annotations follow the command line; taints are only set when the Node is created.
  const { labels, annotations } = node.metadata;
  await client.patch(nodes, { name: facts.name }, { metadata: { labels, annotations } }, { as: 'merge', signal });
}

/**
 * As the kubelet: checks every nodeStatusUpdateFrequency, writes when something changed or nodeStatusReportFrequency
 * has passed.
 */
async function keepStatus(options: RegistrationOptions): Promise<void> {
  const { facts, clock, log, signal } = options;
  const updateMs = durationMs(facts.config.nodeStatusUpdateFrequency, 10_000);
  const reportMs = durationMs(facts.config.nodeStatusReportFrequency, 300_000);
  let reported: { atMs: number; ready: boolean } | undefined;
  while (!signal.aborted) {
    const ready = options.isReady();
    const due = reported === undefined || reported.ready !== ready || clock.monotonic() - reported.atMs >= reportMs;
    if (due) {
      try {
        await writeStatus(options, ready);
        reported = { atMs: clock.monotonic(), ready };
      } catch (error) {
        if (!signal.aborted) log.error('Error updating node status, will retry', { error });
      }
    }
    await clock.sleep(updateMs, signal).catch(() => {});
  }
}

async function writeStatus({ client, facts, clock, signal }: RegistrationOptions, ready: boolean): Promise<void> {
  const node = await client.get<KubeObject & { status?: { conditions?: Condition[] } }>(
    nodes,
    { name: facts.name },
    { signal },
  );
  const before = node.status?.conditions ?? [];
  const status = { ...nodeStatus(facts), conditions: conditions(ready, rfc3339(clock.now()), before) };
  // Strategic: conditions of others, such as relet's own, stay.
  await client.patch(nodes, { name: facts.name, subresource: 'status' }, { status }, { as: 'strategic', signal });
}

/** Renews four times in the Lease's duration. */
async function keepLease(options: RegistrationOptions): Promise<void> {
  const { facts, clock, log, signal } = options;
  const seconds = Number(facts.config.nodeLeaseDurationSeconds ?? 40);
  let held: KubeObject | undefined;
  while (!signal.aborted) {
    try {
      held = await renew(options, seconds, held);
    } catch (error) {
      held = undefined;
      if (!signal.aborted) log.error('Failed to ensure lease exists, will retry', { error });
    }
    await clock.sleep((seconds * 1000) / 4, signal).catch(() => {});
  }
}

async function renew(
  { client, facts, clock, signal }: RegistrationOptions,
  seconds: number,
  held: KubeObject | undefined,
): Promise<KubeObject> {
  const place = { namespace: 'kube-node-lease', name: facts.name };
  // A Lease has microseconds.
  const renewTime = rfc3339Micro(clock.now());
  const spec = { holderIdentity: facts.name, leaseDurationSeconds: seconds, renewTime };
  if (held !== undefined) {
    try {
      return await client.update(leases, place, { ...held, spec: { ...(held.spec as object), ...spec } }, { signal });
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
  try {
    return await client.patch(leases, place, { spec }, { as: 'merge', signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  const node = await client.get<KubeObject>(nodes, { name: facts.name }, { signal });
  const owner = { apiVersion: 'v1', kind: 'Node', name: facts.name, uid: node.metadata.uid };
  const metadata = { ...place, ownerReferences: [owner] };
  return client.create(
    leases,
    { namespace: place.namespace },
    { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec },
    { signal },
  );
}

/** A validated config has valid durations; zero or less means the kubelet's default. */
function durationMs(text: unknown, fallbackMs: number): number {
  const ms = typeof text === 'string' ? Number(parseDuration(text) / 1_000_000n) : 0;
  return ms > 0 ? ms : fallbackMs;
}

/**
 * Facts of a node from the API beside its config: its pods and capacity for a preview, and its Events. A part that the user may not
 * read is left out and counts as unknown, so that a preview is possible without permission to list pods.
 */
import type { KubeObject } from '../api/object.js';
import { ApiError } from '../api/status.js';
import type { Amounts, NodeFacts, PodFacts } from '../config/node-facts.js';
import { parseQuantity } from '../go/quantity.js';
import { events, nodes, pods } from '../kube/resource-type.js';
import { oneLine } from '../visible-text.js';
import type { Cluster } from './config-maps.js';

type Resources = Record<string, string>;

interface Container {
  name: string;
  restartPolicy?: string;
  resources?: { requests?: Resources };
}

interface Pod extends KubeObject {
  spec?: {
    containers?: Container[];
    initContainers?: Container[];
    overhead?: Resources;
    resources?: { requests?: Resources };
    priority?: number;
    hostUsers?: boolean;
    securityContext?: { sysctls?: { name: string }[] };
  };
  status?: {
    phase?: string;
    qosClass?: PodFacts['qosClass'];
    containerStatuses?: { name: string; allocatedResources?: Resources }[];
  };
}

interface Node extends KubeObject {
  spec?: { providerID?: string };
  status?: { capacity?: Resources; allocatable?: Resources };
}

/** Never throws for an answer of the API server: a 403 leaves that part unknown. */
export async function readNodeFacts({ client, signal }: Cluster, name: string): Promise<NodeFacts> {
  const [node, list] = await Promise.all([
    client.get<Node>(nodes, { name }, { signal }).catch(unknown),
    client.list<Pod>(pods, { fieldSelector: `spec.nodeName=${name}`, signal }).catch(unknown),
  ]);
  return nodeFacts(node, list?.items);
}

/** Pure. */
export function nodeFacts(node: KubeObject | undefined, pods: readonly KubeObject[] | undefined): NodeFacts {
  const { spec, status } = (node ?? {}) as Partial<Node>;
  return {
    ...(status?.capacity && { capacity: amounts(status.capacity) }),
    ...(status?.allocatable && { allocatable: amounts(status.allocatable) }),
    ...(node && { providerID: spec?.providerID ?? '' }),
    ...(pods && { pods: (pods as readonly Pod[]).filter(isActive).map(podFacts) }),
  };
}

function unknown(error: unknown): undefined {
  if (!(error instanceof ApiError)) throw error;
  return undefined;
}

const isActive = ({ status }: Pod): boolean => status?.phase !== 'Succeeded' && status?.phase !== 'Failed';

const mirrorAnnotation = 'kubernetes.io/config.mirror';

export function podFacts({ metadata, spec = {}, status = {} }: Pod): PodFacts {
  return {
    name: `${metadata.namespace}/${metadata.name}`,
    createdAt: metadata.creationTimestamp ?? '',
    requests: podRequests(spec, status),
    qosClass: status.qosClass ?? 'BestEffort',
    ...(spec.priority !== undefined && { priority: spec.priority }),
    isStatic: metadata.annotations?.[mirrorAnnotation] !== undefined,
    ofDaemonSet: (metadata.ownerReferences ?? []).some(({ kind }) => kind === 'DaemonSet'),
    sysctls: (spec.securityContext?.sysctls ?? []).map(({ name }) => name),
    hasUserNamespace: spec.hostUsers === false,
  };
}

type Sums = Record<string, bigint>;

/**
 * As scheduler and kubelet count them: the containers together with the sidecars, or the largest init container with the sidecars
 * that were started before it, whichever is more; and the overhead. Requests of the pod as a whole take the place of the sum. After a
 * resize the kubelet counts what it has allocated.
 */
function podRequests(spec: NonNullable<Pod['spec']>, status: NonNullable<Pod['status']>): Amounts {
  const allocated = new Map((status.containerStatuses ?? []).map((one) => [one.name, one.allocatedResources]));
  const requested = ({ name, resources }: Container): Sums => amounts(allocated.get(name) ?? resources?.requests ?? {});
  let sidecars: Sums = {};
  let start: Sums = {};
  for (const container of spec.initContainers ?? []) {
    const needed = added(sidecars, requested(container));
    start = larger(start, needed);
    if (container.restartPolicy === 'Always') sidecars = needed;
  }
  const running = (spec.containers ?? []).map(requested).reduce(added, sidecars);
  const whole = { ...larger(start, running), ...amounts(spec.resources?.requests ?? {}) };
  return added(whole, amounts(spec.overhead ?? {}));
}

const combine = (a: Sums, b: Sums, one: (x: bigint, y: bigint) => bigint): Sums =>
  Object.fromEntries([...Object.keys(a), ...Object.keys(b)].map((name) => [name, one(a[name] ?? 0n, b[name] ?? 0n)]));

const added = (a: Sums, b: Sums): Sums => combine(a, b, (x, y) => x + y);
const larger = (a: Sums, b: Sums): Sums => combine(a, b, (x, y) => (x > y ? x : y));

const amounts = (resources: Resources): Sums =>
  Object.fromEntries(
    Object.entries(resources).flatMap(([name, text]) => {
      const quantity = parseQuantity(text);
      return quantity === undefined ? [] : [[name, quantity.nano]];
    }),
  );

interface Event extends KubeObject {
  reason?: string | null;
  message?: string | null;
  /** Null in an Event that was written through events.k8s.io/v1. */
  lastTimestamp?: string | null;
  eventTime?: string | null;
}

export interface ConfigEvent {
  at: string;
  reason: string;
  message: string;
}

/** The Events of a node about its config, oldest first. None if they may not be read. */
export async function configEvents({ client, signal }: Cluster, node: string): Promise<ConfigEvent[]> {
  try {
    const fieldSelector = `involvedObject.kind=Node,involvedObject.name=${node}`;
    const { items } = await client.list<Event>(events, { namespace: 'default', fieldSelector, signal });
    return items
      .filter(({ reason }) => reason?.startsWith('KubeletConfig'))
      .map(({ reason, message, lastTimestamp, eventTime, metadata }) => ({
        at: oneLine(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? ''),
        reason: oneLine(reason ?? ''),
        message: oneLine(message ?? ''),
      }))
      .sort((a, b) => timeOf(a) - timeOf(b));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** An Event without a time that can be read is taken as old. */
const timeOf = ({ at }: ConfigEvent): number => Date.parse(at) || 0;

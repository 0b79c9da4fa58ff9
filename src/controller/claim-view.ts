/**
 * Claims of other systems on nodes, in objects beside the Node: watched for the controller, read once for a command. Most clusters have
 * none of these systems. A resource that is not served costs one request a minute, and is watched as soon as it is installed.
 */
import type { KubeObject } from '../api/object.js';
import { isForbidden, isNotFound } from '../api/status.js';
import type { CallOptions, KubeClient } from '../kube/client.js';
import { createInformer } from '../kube/informer.js';
import { leases, type ResourceType } from '../kube/resource-type.js';
import type { Log } from '../log.js';
import {
  leaseClaim,
  maintenanceClaim,
  medik8sLease,
  medik8sNamespace,
  type NodeLease,
  type NodeMaintenance,
  nodeMaintenances,
  type OtherClaims,
} from '../rollout/drain/maintenance.js';

export interface ClaimView extends OtherClaims {
  /** Each resource is listed, or known not to be served, or not to be ours to read. */
  readonly synced: Promise<unknown>;
}

export interface ClaimViewOptions {
  client: KubeClient;
  log: Log;
  signal: AbortSignal;
  onClaim(): void;
}

const backoff = { initialMs: 1000, maxMs: 60_000 };

export function watchClaims(options: ClaimViewOptions): ClaimView {
  const { client } = options;
  /** By node; undefined after a change, and computed on the next read. */
  let claimants: Map<string, string> | undefined;
  const onClaim = () => {
    claimants = undefined;
    options.onClaim();
  };
  const maintenances = nodeMaintenances.map((type) => ({
    type,
    view: watchOthers<NodeMaintenance>({ ...options, onClaim }, type),
  }));
  const nodeLeases = watchOthers<NodeLease>(options, leases, medik8sNamespace);
  const readMaintenances = () => {
    const claims = maintenances.flatMap(({ type, view }) =>
      [...view.values()].flatMap((object) => maintenanceClaim(type, object) ?? []),
    );
    return new Map(claims.map(({ node, claimant }) => [node, claimant]));
  };
  return {
    of(node) {
      claimants ??= readMaintenances();
      const claimant = claimants.get(node);
      if (claimant !== undefined || nodeLeases.size === 0) return claimant;
      return leaseClaim(nodeLeases.get(`${medik8sNamespace}/${medik8sLease(node)}`), client.clock.now());
    },
    synced: Promise.all([...maintenances.map(({ view }) => view.synced), nodeLeases.synced]),
  };
}

interface Others<T> {
  get(key: string): T | undefined;
  values(): Iterable<T>;
  readonly size: number;
  synced: Promise<unknown>;
}

/** Never keeps the controller from starting: a resource that cannot be read counts as without claims, and is logged once. */
function watchOthers<T extends KubeObject>(
  options: ClaimViewOptions,
  type: ResourceType,
  namespace?: string,
): Others<T> {
  const { client, log, signal, onClaim } = options;
  let isServed = true;
  let logged = '';
  let answered = () => {};
  const known = new Promise<void>((resolve) => {
    answered = resolve;
  });
  const informer = createInformer<T>(client, {
    type,
    signal,
    backoff,
    ...(namespace !== undefined && { namespace }),
    onKey: () => {
      isServed = true;
      onClaim();
    },
    onWatching: () => {
      isServed = true;
      logged = '';
    },
    onFailure: (error) => {
      if (isNotFound(error)) {
        const wasServed = isServed;
        isServed = false;
        answered();
        return wasServed ? onClaim() : undefined;
      }
      if (isForbidden(error)) answered();
      const text = (error as Error).message;
      if (text === logged) return;
      logged = text;
      log.warn('cannot read claims of other systems, will retry', {
        resource: type.resource,
        group: type.group,
        error,
      });
    },
  });
  return {
    get: (key) => (isServed ? informer.get(key) : undefined),
    values: () => (isServed ? informer.values() : []),
    get size() {
      return isServed ? informer.size : 0;
    },
    synced: Promise.race([informer.synced, known]),
  };
}

/** Once, for a command. `forbidden`: resources that this person may not list; a resource that is not served has no claims. */
export async function readClaims(
  client: KubeClient,
  { signal }: CallOptions = {},
): Promise<OtherClaims & { forbidden: string[] }> {
  const found = new Map<string, string>();
  const forbidden: string[] = [];
  const list = async <T extends KubeObject>(type: ResourceType, namespace?: string): Promise<T[]> => {
    try {
      const scope = { ...(namespace && { namespace }), ...(signal && { signal }) };
      return (await client.list<T>(type, scope)).items;
    } catch (error) {
      if (isForbidden(error)) forbidden.push(`${type.resource}.${type.group}`);
      else if (!isNotFound(error)) throw error;
      return [];
    }
  };
  const nowMs = client.clock.now();
  for (const lease of await list<NodeLease>(leases, medik8sNamespace)) {
    const claim = leaseClaim(lease, nowMs);
    if (claim !== undefined) found.set(lease.metadata.name, claim);
  }
  const claims = new Map<string, string>();
  for (const type of nodeMaintenances)
    for (const object of await list<NodeMaintenance>(type)) {
      const claim = maintenanceClaim(type, object);
      if (claim !== undefined) claims.set(claim.node, claim.claimant);
    }
  return { of: (node) => claims.get(node) ?? found.get(medik8sLease(node)), forbidden };
}

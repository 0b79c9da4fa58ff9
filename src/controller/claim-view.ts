/**
 * Claims of other systems in objects beside the Node, kept up to date. Most clusters have none of these systems: a resource that is
 * not served costs a request a minute, and is watched as soon as somebody installs it.
 */
import type { KubeObject } from '../api/object.js';
import { isForbidden, isNotFound } from '../api/status.js';
import {
  leaseClaim,
  maintenanceClaim,
  medik8sLease,
  medik8sNamespace,
  type NodeLease,
  type NodeMaintenance,
  nodeMaintenances,
  type OtherClaims,
} from '../fleet/node-claims.js';
import type { KubeClient } from '../kube/client.js';
import { createInformer } from '../kube/informer.js';
import { leases, type ResourceType } from '../kube/resource-type.js';
import type { Log } from '../log.js';

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
  /** By node; undefined after a change, until somebody asks. */
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

/** Nothing here keeps the controller from starting: what cannot be read claims nothing, and the log says so once. */
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

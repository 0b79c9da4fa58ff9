/**
 * Writes the marks of a drain to a Node: cordon, taint and annotation in one request, and the condition MaintenanceInProgress. Each
 * write is based on the Node as the API has it now. If somebody changes the Node meanwhile, the write fails and the next pass decides
 * again.
 */
import { type DrainMark, drainFieldManager, drainMarkOf, isCordoned, maintenanceCondition } from '../../api/drain.js';
import type { KubeObject } from '../../api/object.js';
import { isConflict, isNotFound } from '../../api/status.js';
import { rfc3339 } from '../../clock.js';
import type { KubeClient } from '../../kube/client.js';
import { nodes } from '../../kube/resource-type.js';
import type { ClusterNode } from '../../rollout/cluster-node.js';
import { ownMaintenanceReason } from '../../rollout/drain/maintenance.js';
import { cordonPatch, isDrainedFor, liftPatch, waitingPatch } from '../../rollout/drain/plan.js';
import type { Intent } from '../../rollout/state.js';

export interface NodeMarksOptions {
  client: KubeClient;
  signal: AbortSignal;
  /** Called after a write of a Node. */
  onWrite(written: KubeObject): void;
}

export class NodeMarks {
  readonly #options: NodeMarksOptions;

  constructor(options: NodeMarksOptions) {
    this.#options = options;
  }

  /** As the API has it now; undefined if it is gone. */
  async read(name: string): Promise<ClusterNode | undefined> {
    const { client, signal } = this.#options;
    return client.get<ClusterNode>(nodes, { name }, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  }

  /** A drain of another set is not taken over: the next pass about that set ends it. */
  async cordon(name: string, mark: DrainMark, intent: Pick<Intent, 'revision' | 'at'>): Promise<void> {
    const node = await this.read(name);
    const present = node && drainMarkOf(node);
    if (node === undefined || (present !== undefined && present.set !== mark.set && present.state === 'Draining'))
      return;
    const isAgain = isDrainedFor(present, intent);
    if (isAgain && isCordoned(node)) return;
    // Somebody lifted the cordon: the time limit is still counted from the first one.
    await this.#patch(name, cordonPatch(node, isAgain ? { ...mark, at: present!.at } : mark));
  }

  async taint(name: string, mark: DrainMark): Promise<void> {
    const node = await this.read(name);
    if (node !== undefined && drainMarkOf(node) === undefined) await this.#patch(name, waitingPatch(node, mark));
  }

  /** `expected`: the mark on which it was decided; a newer one is another's. The condition goes first: the mark is what is left to do. */
  async lift(name: string, expected: DrainMark, next?: DrainMark): Promise<void> {
    let node = await this.read(name);
    if (node === undefined || !isSameMark(drainMarkOf(node), expected)) return;
    if (isInMaintenance(node)) {
      const gone = { $patch: 'delete', type: maintenanceCondition };
      const written = await this.#patchStatus(node, gone);
      if (written === undefined) return;
      node = written;
    }
    await this.#patch(name, liftPatch(node, next));
  }

  async showMaintenance(node: ClusterNode, message: string): Promise<void> {
    if (node.status?.conditions?.some(({ type, status }) => type === maintenanceCondition && status === 'True')) return;
    const now = rfc3339(this.#options.client.clock.now());
    await this.#patchStatus(node, {
      type: maintenanceCondition,
      status: 'True',
      reason: ownMaintenanceReason,
      message,
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    });
  }

  #patch(name: string, patch: object): Promise<ClusterNode | undefined> {
    return this.#write((options) => this.#options.client.patch(nodes, { name }, patch, { as: 'merge', ...options }));
  }

  #patchStatus({ metadata }: ClusterNode, condition: object): Promise<ClusterNode | undefined> {
    const { name, resourceVersion } = metadata;
    const place = { name, subresource: 'status' };
    const patch = { metadata: { resourceVersion }, status: { conditions: [condition] } };
    return this.#write((options) => this.#options.client.patch(nodes, place, patch, { as: 'strategic', ...options }));
  }

  /** Undefined: changed or gone since it was read. */
  async #write(
    write: (options: { fieldManager: string; signal: AbortSignal }) => Promise<ClusterNode>,
  ): Promise<ClusterNode | undefined> {
    const { signal, onWrite } = this.#options;
    try {
      const written = await write({ fieldManager: drainFieldManager, signal });
      onWrite(written);
      return written;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return undefined;
      throw error;
    }
  }
}

const isSameMark = (a: DrainMark | undefined, b: DrainMark): boolean => JSON.stringify(a) === JSON.stringify(b);

const isInMaintenance = ({ status }: ClusterNode): boolean =>
  status?.conditions?.some(({ type, reason }) => type === maintenanceCondition && reason === ownMaintenanceReason) ??
  false;

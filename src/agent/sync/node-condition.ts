/**
 * Writes the condition ConfigOK of the Node if the reference is a NodeConfig, for alerts that read Nodes. It is written only when it
 * changes: if somebody else rewrites or removes it, it stays like that until then. The kubelet patches the same list, so this is a
 * strategic merge patch of one condition, which keeps the others.
 */
import { okReasons } from '../../api/condition-reasons.js';
import type { NodeCondition } from '../../api/node-condition.js';
import type { KubeObject } from '../../api/object.js';
import { isForbidden, isInvalid, isNotFound } from '../../api/status.js';
import { type Clock, rfc3339 } from '../../clock.js';
import type { KubeClient } from '../../kube/client.js';
import { nodes } from '../../kube/resource-type.js';
import type { Log } from '../../log.js';
import { type ConditionText, configCondition, type Report } from '../report/report.js';

interface Node extends KubeObject {
  status?: { conditions?: NodeCondition[] };
}

export interface NodeConditionOptions {
  client: KubeClient;
  name: string;
  clock: Clock;
  log: Log;
}

const type = 'ConfigOK';

export class NodeConditionWriter {
  readonly #options: NodeConditionOptions;
  /** The condition as last written or read, and the uid of its Node. Undefined if it may not be written. */
  #known: { condition: NodeCondition; uid: string | undefined } | undefined;

  constructor(options: NodeConditionOptions) {
    this.#options = options;
  }

  /** A Node as it was just read. True when it is another one, such as after a new registration: it lacks the condition. */
  isReplaced({ metadata }: KubeObject): boolean {
    if (this.#known?.uid === undefined || this.#known.uid === metadata.uid) return false;
    this.#known = undefined;
    return true;
  }

  /** Throws when the API server did not answer. */
  async write(report: Report, signal: AbortSignal): Promise<void> {
    const { client, name, clock, log } = this.#options;
    const text = configCondition(report);
    const isPending = text.reason === okReasons.pending.reason;
    if (isSame(this.#known?.condition, text) || (isPending && this.#known)) return;
    try {
      const known = this.#known?.uid === undefined ? await this.#read(signal) : this.#known;
      const present = known.condition;
      // A change is one write, when it has succeeded or failed.
      if (present !== undefined && isPending) return;
      const condition = isSame(present, text) ? present! : conditionAfter(present, text, rfc3339(clock.now()));
      const status = { conditions: [condition] };
      if (condition !== present)
        await client.patch(nodes, { name, subresource: 'status' }, { status }, { as: 'strategic', signal });
      this.#known = { condition, uid: known.uid };
    } catch (error) {
      // Not registered yet: the next report is written to it.
      if (isNotFound(error)) return;
      if (!isForbidden(error) && !isInvalid(error)) throw error;
      log.warn('condition of the Node cannot be written', { node: name, type, error });
      this.#known = { condition: { type, ...text }, uid: undefined };
    }
  }

  async #read(signal: AbortSignal): Promise<{ condition: NodeCondition | undefined; uid: string | undefined }> {
    const { client, name } = this.#options;
    const { metadata, status } = await client.get<Node>(nodes, { name }, { signal });
    return { condition: status?.conditions?.find((condition) => condition.type === type), uid: metadata.uid };
  }
}

/** The time of the transition moves only with the status, as Kubernetes has it. */
function conditionAfter(present: NodeCondition | undefined, text: ConditionText, now: string): NodeCondition {
  const lastTransitionTime = (present?.status === text.status && present.lastTransitionTime) || now;
  return { type, ...text, lastHeartbeatTime: now, lastTransitionTime };
}

function isSame(present: Partial<ConditionText> | NodeCondition | undefined, text: ConditionText): boolean {
  return present?.status === text.status && present.reason === text.reason && present.message === text.message;
}

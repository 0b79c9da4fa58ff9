/** The reference in the Node, as in Dynamic Kubelet Configuration: reads Node.spec.configSource and reports in Node.status. */
import { isDeepStrictEqual } from 'node:util';
import { isRenewalDue, leaseAnnotation, newLease, readLeaseText } from '../../api/agent-lease.js';
import { ConfigError } from '../../api/config-error.js';
import type { NodeConfigSource, NodeConfigStatus } from '../../api/config-ref.js';
import {
  agentVersionAnnotation,
  causeAnnotation,
  causeText,
  heldAnnotation,
  owedAnnotation,
  pinnedByFlagsAnnotation,
  readOwed,
  restartDelayedAnnotation,
  trialEndsAnnotation,
} from '../../api/node-annotations.js';
import type { NodeCondition } from '../../api/node-condition.js';
import type { KubeObject } from '../../api/object.js';
import { ApiError, isNotFound } from '../../api/status.js';
import { type Clock, rfc3339 } from '../../clock.js';
import type { KubeClient } from '../../kube/client.js';
import { nodes } from '../../kube/resource-type.js';
import { watchLoop } from '../../kube/watch.js';
import type { Log } from '../../log.js';
import { boundedHeld, configOk, type Report, statusCause, statusConfig } from '../report/report.js';
import { specRef } from './config-map.js';
import type { Instruction, Reference, ReferenceListener } from './reference.js';

interface Node extends KubeObject {
  spec?: { configSource?: NodeConfigSource };
  status?: { config?: NodeConfigStatus; conditions?: NodeCondition[] };
}

export interface NodeReferenceOptions {
  client: KubeClient;
  name: string;
  clock: Clock;
  log: Log;
  /** relet's own version, shown in an annotation. */
  version: string;
  /** Called with each Node that is read, for other facts. */
  onNode?(node: KubeObject): void;
}

export class NodeReference implements Reference {
  readonly #options: NodeReferenceOptions;
  #listener: ReferenceListener | undefined;

  constructor(options: NodeReferenceOptions) {
    this.#options = options;
  }

  async follow(listener: ReferenceListener, signal: AbortSignal): Promise<void> {
    const { client, name, log } = this.#options;
    this.#listener = listener;
    let last: Node | undefined;
    const see = (node: Node | undefined) => {
      const first = last === undefined || last.metadata.uid !== node?.metadata.uid;
      if (first || !isDeepStrictEqual(instructionParts(last), instructionParts(node))) listener.onInstruction();
      if (first || !isDeepStrictEqual(ours(last), ours(node))) listener.onStatus();
      last = node;
    };
    await watchLoop<Node>(client, {
      type: nodes,
      name,
      signal,
      onList: (items) => see(items.find((item) => item.metadata.name === name)),
      onChange: (type, node) => {
        if (type === 'DELETED') log.warn('Node deleted, keeping the current config', { node: name });
        else see(node);
        listener.onWatchInterrupted?.();
      },
      onWatching: () => listener.onWatchInterrupted?.(),
      onFailure: (error, doing) => log.warn('cannot watch Node', { node: name, doing, error }),
    });
  }

  async read(signal: AbortSignal): Promise<Instruction> {
    const { client, name } = this.#options;
    try {
      const node = await client.get<Node>(nodes, { name }, { signal });
      this.#options.onNode?.(node);
      this.#listener?.onNode?.(node);
      const configSource = node.spec?.configSource;
      const owed = readOwed(node.metadata.annotations?.[owedAnnotation]);
      const about = { isNodes: true as const, ...(owed && { owed }) };
      return configSource ? { kind: 'source', target: specRef(configSource), ...about } : { kind: 'local', ...about };
    } catch (error) {
      if (isNotFound(error)) return { kind: 'none', why: `Node ${JSON.stringify(name)} does not exist` };
      if (error instanceof ApiError) throw new ConfigError('ReferenceUnreadable', error);
      throw error;
    }
  }

  async write(report: Report, signal: AbortSignal): Promise<boolean> {
    const { client, name, clock, version } = this.#options;
    const node = await client.get<Node>(nodes, { name }, { signal }).catch((error) => {
      // Not registered yet, or deleted: when it appears, the watch reports it.
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (node === undefined) return false;
    const patch = statusPatch(node, report, { now: new Date(clock.now()), version });
    if (patch !== undefined)
      await client.patch(nodes, { name, subresource: 'status' }, patch, { as: 'strategic', signal });
    return true;
  }
}

/** Returns undefined if the Node has all of it already. */
export function statusPatch(
  node: Node,
  report: Report,
  { now, version }: { now: Date; version: string },
): object | undefined {
  const wanted = statusConfig(report);
  const text = configOk(report);
  const present = ours(node).condition;
  const sameText =
    present?.status === text.status && present.reason === text.reason && present.message === text.message;
  const beside = toldBeside(node, report, version);
  const isDue = isRenewalDue(readLeaseText(node.metadata.annotations?.[leaseAnnotation]), now.getTime());
  if (sameText && isDeepStrictEqual(node.status?.config, wanted) && beside === undefined && !isDue) return undefined;
  const time = rfc3339(now.getTime());
  const annotations = { ...beside, [leaseAnnotation]: JSON.stringify(newLease(time)) };
  const condition: NodeCondition = {
    type: 'ConfigOK',
    ...text,
    lastHeartbeatTime: time,
    lastTransitionTime: (sameText && present.lastTransitionTime) || time,
  };
  // A merge keeps what it does not name, so what is gone is named as null.
  const { assigned = null, active = null, lastKnownGood = null, error = null } = wanted;
  const status = { config: { assigned, active, lastKnownGood, error }, conditions: [condition] };
  return { metadata: { annotations }, status };
}

/** The end of a trial is an estimate, made at every check; it is written again only when it moved. */
const sameEndMs = 5000;

/** Annotations that must change; undefined when all are as they should be. */
function toldBeside({ metadata }: Node, report: Report, version: string): Record<string, string | null> | undefined {
  const present = metadata.annotations ?? {};
  const cause = statusCause(report);
  const wanted: Record<string, string | undefined> = {
    [agentVersionAnnotation]: version,
    [trialEndsAnnotation]: sameEnd(present[trialEndsAnnotation], report.trial?.endsAt),
    [restartDelayedAnnotation]: report.restartDelayedUntil,
    [causeAnnotation]: cause && causeText(statusConfig(report), cause),
    [heldAnnotation]: report.held && JSON.stringify(boundedHeld(report.held)),
    [pinnedByFlagsAnnotation]: report.pinnedByFlags?.join(',') || undefined,
    [owedAnnotation]: isDone(present[owedAnnotation], report) ? undefined : present[owedAnnotation],
  };
  const changed = Object.entries(wanted).filter(([name, value]) => value !== present[name]);
  if (changed.length === 0) return undefined;
  return Object.fromEntries(changed.map(([name, value]) => [name, value ?? null]));
}

/** A Node has no condition for it, so the annotation itself goes when nothing is left. It may be of a newer change by now. */
function isDone(text: string | undefined, { owed }: Report): boolean {
  return owed?.isDone === true && readOwed(text)?.at === owed.at;
}

/** The present value, if it is near enough. */
function sameEnd(present: string | undefined, ends: string | undefined): string | undefined {
  if (present === undefined || ends === undefined) return ends;
  return Math.abs(Date.parse(ends) - Date.parse(present)) <= sameEndMs ? present : ends;
}

/** Parts of the Node that make up an instruction. */
const instructionParts = (node: Node | undefined) =>
  node && [node.spec?.configSource, node.metadata.annotations?.[owedAnnotation]];

function ours(node: Node | undefined) {
  return {
    config: node?.status?.config,
    condition: node?.status?.conditions?.find(({ type }) => type === 'ConfigOK'),
  };
}

/**
 * The reference in a NodeConfig, for API servers without spec.configSource in Nodes: reads NodeConfig.spec.configSource, and reports in
 * its status and in a condition of the Node.
 */
import { isDeepStrictEqual } from 'node:util';
import { isRenewalDue, newLease } from '../../api/agent-lease.js';
import {
  agentReasons,
  bootReasons,
  owedReasons,
  trialReasons,
  unitReasons,
  upgradeReasons,
} from '../../api/condition-reasons.js';
import { ConfigError } from '../../api/config-error.js';
import { formatRef, type NodeConfigSource, refOf } from '../../api/config-ref.js';
import { isAttached } from '../../api/driver-name.js';
import { owedAnnotation, readOwed } from '../../api/node-annotations.js';
import {
  agentMissingCondition,
  type ConfigChange,
  detachAnnotation,
  isUnset,
  type NodeConfig,
  type NodeConfigCondition,
  type NodeConfigObjectStatus,
  nodeConditions,
  nodeConfigs,
  withConditions,
} from '../../api/node-config.js';
import type { KubeObject } from '../../api/object.js';
import { observeAnnotation, observeRequestOf } from '../../api/observe.js';
import { ApiError, isConflict, isNotFound } from '../../api/status.js';
import { type Clock, rfc3339 } from '../../clock.js';
import type { KubeClient } from '../../kube/client.js';
import { nodes } from '../../kube/resource-type.js';
import { watchLoop } from '../../kube/watch.js';
import type { Log } from '../../log.js';
import { shorten } from '../../shorten.js';
import { boundedHeld, configCondition, type Report, statusCause, statusConfig, upgradeText } from '../report/report.js';
import { signingConditions } from '../report/signing-conditions.js';
import { specRef } from './config-map.js';
import { NodeConditionWriter } from './node-condition.js';
import type { Instruction, Reference, ReferenceListener } from './reference.js';

export interface NodeConfigReferenceOptions {
  client: KubeClient;
  name: string;
  /** relet's own version, shown in the status. */
  version: string;
  clock: Clock;
  log: Log;
  /** Default true. */
  renewsLease?: boolean | undefined;
  /** Called with each Node that is read, for other facts. */
  onNode?(node: KubeObject): void;
}

const readNodeAgainMs = 10_000;

export class NodeConfigReference implements Reference {
  readonly #options: NodeConfigReferenceOptions;
  /** The status as it was last sent, and as the server kept it. */
  #written: { sent?: NodeConfigObjectStatus; kept?: NodeConfigObjectStatus | undefined } = {};

  readonly #nodeCondition: NodeConditionWriter;
  #listener: ReferenceListener | undefined;
  /** The newest version that the watch, or a write, has brought; undefined while nothing is watched. */
  #newest: NodeConfig | undefined;
  #nodeReadMs = Number.NEGATIVE_INFINITY;

  constructor(options: NodeConfigReferenceOptions) {
    this.#options = options;
    this.#nodeCondition = new NodeConditionWriter(options);
  }

  async follow(listener: ReferenceListener, signal: AbortSignal): Promise<void> {
    const { client, name, log } = this.#options;
    this.#listener = listener;
    let last: NodeConfig | undefined;
    const see = (next: NodeConfig | undefined) => {
      const first = last === undefined || last.metadata.uid !== next?.metadata.uid;
      // Before the listeners are called: they may write at once, based on this version.
      this.#newest = next;
      if (first || !isDeepStrictEqual(instructionParts(last), instructionParts(next))) listener.onInstruction();
      else if (!isDeepStrictEqual(grantOf(last), grantOf(next))) listener.onGrant?.(grantOf(next)?.status === 'True');
      if (first || observeText(last) !== observeText(next)) listener.onObserve?.(next && observeRequestOf(next));
      if (first || !isDeepStrictEqual(ours(last?.status), ours(next?.status))) listener.onStatus();
      last = next;
    };
    await watchLoop<NodeConfig>(client, {
      type: nodeConfigs,
      name,
      signal,
      onList: (items) => see(items.find(({ metadata }) => metadata.name === name)),
      onChange: (type, object) => {
        if (type !== 'DELETED') return see(object);
        last = this.#newest = undefined;
        log.warn('NodeConfig deleted, keeping the current config', { node: name });
      },
      onFailure: (error, doing) => {
        this.#newest = undefined;
        log.warn('cannot watch NodeConfig', { node: name, doing, error });
        listener.onWatchInterrupted?.();
      },
    });
  }

  async read(signal: AbortSignal): Promise<Instruction> {
    const { client, name } = this.#options;
    await this.#readNode(signal).catch(() => {});
    // The object that the watch delivered last is used; a newer version arrives without a read.
    const newest = this.newest();
    if (newest !== undefined) return newest;
    try {
      return instructionIn(await client.get<NodeConfig>(nodeConfigs, { name }, { signal }));
    } catch (error) {
      if (isNotFound(error)) return { kind: 'none', why: `NodeConfig ${JSON.stringify(name)} does not exist` };
      if (error instanceof ApiError) throw new ConfigError('ReferenceUnreadable', error);
      throw error;
    }
  }

  newest(): Instruction | undefined {
    return this.#newest && instructionIn(this.#newest);
  }

  /** For other facts of the Node. Its failure is not one of the reference. */
  async #readNode(signal: AbortSignal): Promise<void> {
    const { client, name, clock, onNode } = this.#options;
    // While a permission is waited for, the reference is read several times a second.
    if (clock.monotonic() - this.#nodeReadMs < readNodeAgainMs) return;
    const node = await client.get(nodes, { name }, { signal });
    this.#nodeReadMs = clock.monotonic();
    onNode?.(node);
    this.#listener?.onNode?.(node);
    if (this.#nodeCondition.isReplaced(node)) this.#listener?.onStatus();
  }

  async write(report: Report, signal: AbortSignal): Promise<boolean> {
    // If the NodeConfig may not be written, the condition of the Node shows why.
    const [written] = await Promise.all([this.#writeStatus(report, signal), this.#nodeCondition.write(report, signal)]);
    return written;
  }

  /** Base of a write: the object from the watch, or a fresh read if that is not the newest. */
  async #writeStatus(report: Report, signal: AbortSignal): Promise<boolean> {
    const newest = this.#newest;
    try {
      return await this.#writeOnto(newest ?? (await this.#read(signal)), report, signal);
    } catch (error) {
      if (newest === undefined || !(isConflict(error) || isNotFound(error))) throw error;
      return this.#writeOnto(await this.#read(signal), report, signal);
    }
  }

  #read(signal: AbortSignal): Promise<NodeConfig | undefined> {
    const { client, name } = this.#options;
    return client.get<NodeConfig>(nodeConfigs, { name }, { signal }).catch((error) => {
      // Not created yet, or deleted: when it appears, the watch reports it.
      if (isNotFound(error)) return undefined;
      throw error;
    });
  }

  async #writeOnto(object: NodeConfig | undefined, report: Report, signal: AbortSignal): Promise<boolean> {
    const { client, name, clock, version, renewsLease = true } = this.#options;
    if (object === undefined) return false;
    const now = new Date(clock.now());
    const status = nextStatus(object.status, report, { now, version });
    // A definition of an earlier relet drops fields that it does not know: what it kept is not written again.
    const { sent, kept } = this.#written;
    const isKept = isDeepStrictEqual(status, sent) && isDeepStrictEqual(withoutLease(object.status), kept);
    const isRefused = isKept && object.status?.lease === undefined;
    const isDue = renewsLease && !isRefused && isRenewalDue(object.status?.lease, now.getTime());
    if (!isDue && (isKept || isDeepStrictEqual(status, withoutLease(object.status)))) return true;
    // With the resourceVersion: the controller's conditions are in the same status and must not be lost.
    const place = { name, subresource: 'status' };
    const leased = renewsLease ? { ...status, lease: newLease(rfc3339(now.getTime())) } : status;
    const written = await client.update<NodeConfig>(nodeConfigs, place, { ...object, status: leased }, { signal });
    this.#written = { sent: status, kept: withoutLease(written.status) };
    // Unless the watch has delivered a newer one meanwhile.
    if (this.#newest === object) this.#newest = written;
    return true;
  }
}

function instructionIn(object: NodeConfig): Instruction {
  const { name, generation = 1, annotations } = object.metadata;
  if (isUnset(object)) {
    const why = `NodeConfig ${JSON.stringify(name)} is unset: nobody has written its spec yet`;
    return { kind: 'none', why, generation };
  }
  const configSource = object.spec?.configSource;
  const owed = readOwed(annotations?.[owedAnnotation]);
  const about = { generation, ...(owed && { owed }) };
  const { observedGeneration } = object.status?.conditions?.find(({ type }) => type === 'Granted') ?? {};
  const isGrantPending = observedGeneration !== undefined && observedGeneration < generation;
  if (configSource)
    return { kind: 'source', target: targetIn(configSource), ...about, ...(isGrantPending && { awaitsGrant: true }) };
  const isLeaving = annotations?.[detachAnnotation] !== undefined;
  return { kind: 'local', ...about, ...(isLeaving && { detach: true }) };
}

/** A kubelet config gives root on the node: the ConfigMap must be labelled as one. */
function targetIn(configSource: NodeConfigSource) {
  return { ...specRef(configSource), labelled: true as const };
}

const mostChanges = 5;

function withoutLease(status: NodeConfigObjectStatus | undefined): NodeConfigObjectStatus | undefined {
  if (status?.lease === undefined) return status;
  const { lease: _, ...rest } = status;
  return rest;
}

/** Without the lease, which every write renews. */
export function nextStatus(
  present: NodeConfigObjectStatus = {},
  report: Report,
  { now, version }: { now: Date; version: string },
): NodeConfigObjectStatus {
  const time = rfc3339(now.getTime());
  const config = statusConfig(report);
  const changes = withChange(present, config, time);
  const cause = statusCause(report);
  // The node replaces all fields of its own; the others are the controller's.
  const {
    trial: _trial,
    pinnedByFlags: _pinned,
    warnings: _warnings,
    changes: _changes,
    restartDelayedUntil: _delayed,
    cause: _cause,
    held: _held,
    driver: _driver,
    nextStart: _next,
    kubeletLog: _log,
    localConfig: _local,
    kubeletFlags: _flags,
    lease: _lease,
    signing: _signing,
    trialSeconds: _trialSeconds,
    observed: _observed,
    rejectedPods: _rejected,
    ...others
  } = present;
  return {
    ...others,
    agentVersion: version,
    ...(report.observedGeneration !== undefined && { observedGeneration: report.observedGeneration }),
    config,
    conditions: withConditions(present.conditions, conditions(report, present.conditions), time),
    ...(report.trial && { trial: report.trial }),
    ...(report.pinnedByFlags?.length && { pinnedByFlags: report.pinnedByFlags }),
    ...(report.warnings.length > 0 && { warnings: report.warnings }),
    ...(changes.length > 0 && { changes }),
    ...(cause && { cause }),
    ...(report.held && { held: boundedHeld(report.held) }),
    ...(report.driver && { driver: report.driver }),
    ...(report.trialSeconds !== undefined && { trialSeconds: report.trialSeconds }),
    ...(report.nextStart && { nextStart: report.nextStart }),
    ...(report.kubeletLog && !report.syncError && { kubeletLog: report.kubeletLog }),
    ...(report.localConfig && { localConfig: report.localConfig }),
    ...(report.kubeletFlags && { kubeletFlags: report.kubeletFlags }),
    ...(report.signing && { signing: report.signing.status }),
    ...(report.observed && { observed: report.observed }),
    ...(report.rejectedPods && { rejectedPods: report.rejectedPods }),
    ...(report.restartDelayedUntil && { restartDelayedUntil: report.restartDelayedUntil }),
  };
}

type NewCondition = Omit<NodeConfigCondition, 'lastTransitionTime'>;

function conditions(report: Report, present: readonly NodeConfigCondition[] = []): NewCondition[] {
  const { observedGeneration, trial } = report;
  const about = observedGeneration === undefined ? {} : { observedGeneration };
  return [
    { type: nodeConditions[0], ...configCondition(report), ...about },
    {
      type: nodeConditions[1],
      status: trial === undefined ? 'False' : 'True',
      ...(trial === undefined ? trialReasons.none : trialReasons.running),
      ...about,
    },
    ...[
      ...presenceConditions(present),
      ...owedConditions(report, present),
      ...upgradeConditions(report, present),
      ...unitConditions(report, present),
      ...bootConditions(report, present),
      ...signingConditions(report.signing, present),
    ].map((condition) => ({ ...condition, ...about })),
  ];
}

/** Only where the controller has missed this agent. */
function presenceConditions(present: readonly NodeConfigCondition[]): NewCondition[] {
  const isMissed = present.some(({ type }) => type === agentMissingCondition);
  return isMissed ? [{ type: agentMissingCondition, status: 'False', ...agentReasons.present }] : [];
}

/** None on a node of which nothing was ever owed. */
function owedConditions({ owed }: Report, present: readonly NodeConfigCondition[]): NewCondition[] {
  const type = nodeConditions[2];
  if (owed === undefined && !present.some((condition) => condition.type === type)) return [];
  return [{ type, status: owed?.left === undefined ? 'False' : 'True', ...owedReasons[owed?.left ?? 'none'] }];
}

/** None on a node whose kubelet was never replaced. */
function upgradeConditions({ upgrade }: Report, present: readonly NodeConfigCondition[]): NewCondition[] {
  const type = nodeConditions[3];
  if (upgrade === undefined && !present.some((condition) => condition.type === type)) return [];
  const { reason, message } = upgradeReasons[upgrade?.risk ?? 'none'];
  if (upgrade === undefined || upgrade.risk === 'none') return [{ type, status: 'False', reason, message }];
  return [{ type, status: 'True', reason, message: `${message} ${upgradeText(upgrade)}` }];
}

const longestNotice = 1000;

/** None if relet is the parent of the kubelet. */
function unitConditions({ driver, notices = [] }: Report, present: readonly NodeConfigCondition[]): NewCondition[] {
  const type = nodeConditions[4];
  if (!isAttached(driver) && !present.some((condition) => condition.type === type)) return [];
  const [first] = notices;
  if (first === undefined) return [{ type, status: 'True', ...unitReasons.none }];
  const { reason, message } = unitReasons[first.reason];
  const seen = notices.map((notice) => (notice === first ? '' : `${notice.reason}: `) + notice.message).join('; ');
  return [{ type, status: 'False', reason, message: `${message} ${shorten(seen, longestNotice)}` }];
}

/** None on a node whose last known good config never crashed at a boot. */
function bootConditions({ bootCrash }: Report, present: readonly NodeConfigCondition[]): NewCondition[] {
  const type = nodeConditions[5];
  if (bootCrash === undefined && !present.some((condition) => condition.type === type)) return [];
  if (bootCrash === undefined) return [{ type, status: 'False', ...bootReasons.none }];
  const { reason, message } = bootReasons.crashed;
  const seen = shorten(bootCrash.cause, longestNotice);
  return [{ type, status: 'True', reason, message: `${message} At ${bootCrash.at}: ${seen}` }];
}

function withChange(
  { config: before, changes = [] }: NodeConfigObjectStatus,
  after: NodeConfigObjectStatus['config'] & object,
  at: string,
): ConfigChange[] {
  const [from, to] = [versionOf(before?.active), versionOf(after.active)];
  if (before === undefined || from === to) return changes;
  return [{ at, from, to, ...(after.error && { error: after.error }) }, ...changes].slice(0, mostChanges);
}

function versionOf(source: NodeConfigSource | undefined): string {
  const ref = refOf(source);
  return ref === undefined ? 'local' : `${formatRef(ref, 'short')}@${ref.resourceVersion}`;
}

/** Parts of the object that make up an instruction. */
function instructionParts(object: NodeConfig | undefined) {
  const { generation, annotations } = object?.metadata ?? {};
  const asked = [owedAnnotation, detachAnnotation].map((name) => annotations?.[name]);
  return object && [generation, ...asked, isUnset(object)];
}

const observeText = (object: NodeConfig | undefined) => object?.metadata.annotations?.[observeAnnotation];

/** Whether the controller has granted the node its assigned ConfigMap. */
function grantOf(object: NodeConfig | undefined) {
  const granted = object?.status?.conditions?.find(({ type }) => type === 'Granted');
  if (granted === undefined) return undefined;
  const { status, reason, message, observedGeneration } = granted;
  return { status, reason, message, observedGeneration };
}

/** The controller's conditions count too: they come with the permission to write. */
const ours = (status: NodeConfigObjectStatus | undefined) => ({
  config: status?.config,
  conditions: status?.conditions,
});

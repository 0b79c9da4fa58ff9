/** Writes a batch to the NodeConfigs of its nodes: assigns them the config, or ends the batch on nodes that do not have it yet. */
import { type ConfigRef, refOf, sameConfig } from '../api/config-ref.js';
import type { DrainMark } from '../api/drain.js';
import { type Claim, claimOf } from '../api/node-annotations.js';
import { type NodeConfig, nodeConfigs } from '../api/node-config.js';
import { givenUpAnnotation, type NodeConfigSet } from '../api/node-config-set.js';
import { isConflict, isNotFound } from '../api/status.js';
import { rfc3339 } from '../clock.js';
import type { KubeClient } from '../kube/client.js';
import type { Log } from '../log.js';
import type { SetCases } from '../rollout/cases.js';
import { claimPatch } from '../rollout/claim-patch.js';
import { mayGet, type SetMember } from '../rollout/members.js';
import { givenUp, isWritten } from '../rollout/plan.js';
import { type Intent, stateIn } from '../rollout/state.js';
import type { DrainPass } from './drain/assessment.js';
import type { SetDrains } from './drain/drains.js';
import type { ControllerCounters } from './metrics.js';
import type { SetMemory } from './set-memory.js';

export interface SetBatchesOptions {
  client: KubeClient;
  cases: SetCases;
  drains: SetDrains;
  memory: SetMemory;
  counters: ControllerCounters;
  log: Log;
  signal: AbortSignal;
}

export class SetBatches {
  readonly #options: SetBatchesOptions;

  constructor(options: SetBatchesOptions) {
    this.#options = options;
  }

  /** Before another batch, or none, takes its place in the status. Returns the number of nodes that were written. */
  async end(set: NodeConfigSet, next: Intent | undefined, members: readonly SetMember[]): Promise<number> {
    const { client, signal } = this.#options;
    const { name } = set.metadata;
    const before = stateIn(set.status).intent;
    const nodes = members.map(({ node }) => node);
    const left = new Set(givenUp(before, next, nodes));
    const open = members.filter(({ node, object }) => left.has(node) && object !== undefined);
    for (const { object } of open) {
      const { name: node, resourceVersion } = object!.metadata;
      const patch = { metadata: { resourceVersion, annotations: { [givenUpAnnotation]: before!.at } } };
      const options = { as: 'merge', fieldManager: 'relet-controller', signal } as const;
      const written = await client.patch<NodeConfig>(nodeConfigs, { name: node }, patch, options);
      this.#options.memory.of(name).writes.add('nodeConfigs', written);
    }
    return open.length;
  }

  async assign(pass: DrainPass, intent: Intent, members: readonly SetMember[]): Promise<void> {
    const { counters, log } = this.#options;
    const { name } = pass.set.metadata;
    const names = new Set(intent.names);
    const open = members.filter(
      ({ node, object }) =>
        names.has(node.name) && object !== undefined && mayGet(node, intent) && !isWritten(node, intent),
    );
    let assigned = 0;
    await this.#options.drains.drain(pass, intent, open, async (member, drained) => {
      await this.#assignOne(pass, intent, member, drained);
      assigned++;
    });
    counters.nodesAssigned += assigned;
    if (assigned > 0)
      log.info('config assigned to nodes of a set', { set: name, revision: intent.revision, nodes: assigned });
  }

  async #assignOne(pass: DrainPass, intent: Intent, member: SetMember, drained: DrainMark | undefined): Promise<void> {
    const { client, signal } = this.#options;
    const { node, object } = member;
    const set = pass.set.metadata.name;
    const source = intent.source === 'previous' ? node.previous : intent.source;
    const { revision, wave } = intent;
    // For a node that was drained the deadline counts from now.
    const at = drained === undefined ? intent.at : latest([rfc3339(client.clock.now()), intent.at, drained.at]);
    const isExempt = intent.exempt?.includes(node.name) ?? false;
    const claim: Claim = {
      set,
      revision,
      source,
      wave,
      at,
      previous: previousOf(pass.set, member),
      ...(isExempt && { exempt: true }),
      ...(drained && { drained: true }),
    };
    const when = { at, isDrained: drained !== undefined };
    const isUpdate = revision === pass.update?.revision && node.claim?.revision !== revision;
    const owed = isUpdate
      ? this.#options.cases.owed(set, member, when)
      : await this.#options.cases.owedFor(member, source, when);
    const patch = claimPatch(object!, claim, owed);
    try {
      const place = { name: node.name };
      const options = { as: 'merge', fieldManager: 'relet-controller', signal } as const;
      this.#options.memory
        .of(set)
        .writes.add('nodeConfigs', await client.patch<NodeConfig>(nodeConfigs, place, patch, options));
    } catch (error) {
      // Changed or gone since it was read: the next pass decides again.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
}

/** Source of the node before this set had it; an undo of the first revision returns to it. A node that left the set may come back. */
function previousOf({ metadata: set }: NodeConfigSet, { node, object }: SetMember): ConfigRef | undefined {
  const claim = claimOf(object);
  const isBack =
    claim?.released && claim.set === set.name && sameConfig(claim.source, refOf(object?.spec?.configSource), 'name');
  // A set of the same name that was there before is another one.
  const isOwn = isBack && Date.parse(claim.at) >= Date.parse(set.creationTimestamp ?? '');
  return isOwn ? claim.previous : node.previous;
}

const latest = (times: readonly string[]): string => times.reduce((a, b) => (Date.parse(a) >= Date.parse(b) ? a : b));

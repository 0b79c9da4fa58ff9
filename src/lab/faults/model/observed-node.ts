/** State of one node, as the history shows it so far. Promises about nodes are checked against it, entry by entry. */
import { classOf, configIn, domainOf, isRejected } from '../configs.js';
import type { Entry, ReportedStatus } from '../history.js';

/** No object has this version: run-schedule.ts writes it into the status of a node that lies. */
export const isLie = ({ assigned }: ReportedStatus) => assigned.endsWith('@1');

export const isFailing = (behaviour: string | undefined) =>
  ['crashing', 'taken', 'brief', 'flapping', 'unhealthy'].includes(behaviour ?? '');

/** No kubelet is ever active with it. */
export const neverAnswers = (domain = '') =>
  isRejected(classOf(domain)) || ['crashing', 'unhealthy', 'taken', 'brief'].includes(classOf(domain) ?? '');

/** When a host that has not accepted the config before stops doing so; undefined if that is never, or it was signed once more. */
export function statementEnd(domain: string, entries: readonly Entry[]): number | undefined {
  const ends = entries.flatMap((entry) => {
    if (entry.kind !== 'action' || entry.action.kind !== 'roll-out') return [];
    const { config } = entry.action;
    return domainOf(config) === domain ? [config.endsAtMs] : [];
  });
  return ends.includes(undefined) ? undefined : ends[0];
}

export class ObservedNode {
  readonly node: string;
  /** The name of the config; undefined: local, null: nobody has decided. */
  assigned: string | null | undefined = null;
  readonly everAssigned = new Set<string>();
  /** Configs with which the kubelet crashes here. */
  readonly spoilt = new Set<string>();
  isUp = false;
  /** When the agent was started last. */
  upSinceMs = 0;
  /** The agent has not started a kubelet yet. */
  isBooting = false;
  /** The domain with which the kubelet was started last. */
  running: string | undefined;
  /** Once, at least. */
  wasDiskFull = false;
  /** The last status that the API server has stored, without lies. */
  acknowledged: ReportedStatus | undefined;
  /** Configs that may run although that status does not name them. */
  sinceAcknowledged = new Set<string>();
  /** The ConfigMap of a set has a name of its own. */
  readonly #ids = new Map<string, string>();
  /** By reference, `c1@123`. */
  readonly domains = new Map<string, string>();

  constructor(node: string) {
    this.node = node;
  }

  /** The config of a ConfigMap, as in domains. */
  idOf(configMap: string): string {
    return this.#ids.get(configMap) ?? configMap;
  }

  behaviourAt(domain: string): string | undefined {
    return this.spoilt.has(configIn(domain)) ? 'crashing' : classOf(domain);
  }

  see(entry: Entry): void {
    if (entry.kind === 'config') {
      this.#ids.set(entry.config, configIn(entry.domain));
      this.domains.set(`${entry.config}@${entry.resourceVersion}`, entry.domain);
    }
    if (entry.kind === 'action') {
      const { action } = entry;
      if (action.kind === 'edit' && this.assigned === action.config.name) this.sinceAcknowledged.add(this.assigned);
      if (!('node' in action) || action.node !== this.node) return;
      if (action.kind === 'disk-full') this.wasDiskFull = true;
      if (action.kind !== 'spoil') return;
      this.spoilt.add(action.config);
      if (this.acknowledged) this.sinceAcknowledged.add('local');
    }
    // A process that was stopped needs as long as one that has been started.
    if (entry.kind === 'pause' && entry.process === this.node) this.upSinceMs = entry.atMs + entry.forMs;
    if ('node' in entry && entry.node === this.node) this.#seeOwn(entry);
  }

  #seeOwn(entry: Entry & { node: string }): void {
    switch (entry.kind) {
      case 'spec':
        this.assigned = entry.config && this.idOf(entry.config);
        if (typeof this.assigned === 'string') this.everAssigned.add(this.assigned);
        this.sinceAcknowledged.add(this.assigned ?? 'local');
        break;
      case 'agent-up':
        this.isUp = true;
        this.upSinceMs = entry.atMs;
        this.isBooting = true;
        break;
      case 'agent-down':
        this.isUp = false;
        break;
      case 'start':
        this.isBooting = false;
        this.running = entry.domain;
        break;
      case 'status':
        if (isLie(entry.status)) break;
        this.acknowledged = entry.status;
        // After a status about an earlier spec, the node may follow any later one next, also a replaced one: watches may be late.
        if (entry.isCurrent) this.sinceAcknowledged = new Set([this.assigned ?? 'local']);
        break;
      default:
    }
  }
}

/** Events of a simulation, in order. Only the outside of the product is recorded: the model reads nothing else. */
import { createHash } from 'node:crypto';
import type { Action } from './schedule.js';

export type Entry = { atMs: number } & (
  | { kind: 'action'; action: Action }
  /** The API server has stored it. */
  | { kind: 'config'; config: string; resourceVersion: string; domain: string }
  /** Config that the NodeConfig assigns to a node; undefined: local, null: unset. */
  | { kind: 'spec'; node: string; config: string | null | undefined }
  /** Current: the node has followed what it is assigned now, or has tried to. */
  | { kind: 'status'; node: string; status: ReportedStatus; isCurrent: boolean }
  /** The condition Ready of its Node. */
  | { kind: 'ready'; node: string; isReady: boolean }
  | { kind: 'cordon'; node: string; isCordoned: boolean }
  | { kind: 'event'; node: string; reason: string; message: string }
  | { kind: 'log'; name: string; message: string }
  | { kind: 'start'; node: string; domain: string; isWhole: boolean }
  | { kind: 'exit'; node: string; isRequested: boolean; how: string }
  | { kind: 'agent-up'; node: string }
  | { kind: 'agent-down'; node: string }
  /** The agent of a node, or a controller, is stopped for so long. */
  | { kind: 'pause'; process: string; forMs: number }
  | { kind: 'lead'; controller: string }
  | { kind: 'controller-down'; controller: string }
  /** A request of a node for a ConfigMap. */
  | { kind: 'read'; node: string; config: string; status: number }
  /** How far a NodeConfigSet is: the type and the reason of the condition that is True. */
  | { kind: 'set'; set: string; state: string; isObserving?: true }
  | { kind: 'heal' }
);

export type NewEntry = Entry extends infer E ? (E extends { atMs: number } ? Omit<E, 'atMs'> : never) : never;

/** Names with their version, `c1@123`; `local`; '' where nothing is reported. */
export interface ReportedStatus {
  assigned: string;
  active: string;
  lastKnownGood: string;
  error: string;
  /** Status of the condition ConfigOK. */
  ok: string;
}

export class History {
  readonly entries: Entry[] = [];
  readonly #now: () => number;
  /** The simulation is over: what its processes notice of that is not a part of it. */
  isOver = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(entry: NewEntry): void {
    if (this.isOver) return;
    this.entries.push({ atMs: Math.round(this.#now()), ...entry } as Entry);
  }

  /** Equal for equal histories. */
  get hash(): string {
    const hash = createHash('sha256');
    for (const entry of this.entries) hash.update(`${JSON.stringify(entry)}\n`);
    return hash.digest('hex');
  }
}

/** `  123.456 s  node-1  start c1-1.good.test` */
export function formatEntry({ atMs, ...entry }: Entry): string {
  const { kind, ...rest } = entry;
  const who =
    'node' in rest
      ? rest.node
      : 'controller' in rest
        ? rest.controller
        : 'name' in rest
          ? rest.name
          : 'process' in rest
            ? rest.process
            : '';
  const fields = Object.entries(rest).filter(([key]) => !['node', 'controller', 'name', 'process'].includes(key));
  const shown = fields.map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return `${(atMs / 1000).toFixed(3).padStart(10)} s  ${who.padEnd(12)} ${kind.padEnd(10)} ${shown.join(' ')}`;
}

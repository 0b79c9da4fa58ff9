/** A rollout in memory: plan() and nodes that follow it at once, on a clock that jumps. For tests and bench/analysis. */
import { parseRef } from '../src/api/config-ref.js';
import type { SetStrategy } from '../src/api/node-config-set.js';
import type { Observed, ObserveRequest } from '../src/api/observe.js';
import { requestOf } from '../src/rollout/analysis/analysis.js';
import type { SetNode } from '../src/rollout/members.js';
import { isWritten, type Plan, type PlanInput, plan } from '../src/rollout/plan.js';
import { readRules } from '../src/rollout/spec.js';
import { type SetState, stateIn, storedState } from '../src/rollout/state.js';
import { anySetNode } from './rig/planned-set.js';

export interface WorldOptions {
  nodes: number;
  strategy: SetStrategy;
  /** Answer of a node; undefined: it does not answer. `isChanged`: it has the change. */
  answer?: (node: SetNode, isChanged: boolean, request: ObserveRequest) => Observed['signals'] | undefined;
  labels?: (index: number) => Record<string, string>;
  trialMs?: number;
}

const startMs = Date.parse('2026-06-05T12:00:00Z');

export class RolloutWorld {
  nowMs = startMs;
  state: SetState = {};
  nodes: SetNode[];
  /** Request by node, as an annotation keeps it. */
  readonly requests = new Map<string, ObserveRequest>();
  measured: PlanInput['measured'];
  /** It rejects the config. */
  #failing: string | undefined;
  readonly #options: WorldOptions;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.nodes = Array.from({ length: options.nodes }, (_, index) =>
      anySetNode(`node-${index + 1}`, { labels: options.labels?.(index) ?? {}, kubeletMinor: '1.34' }),
    );
  }

  change(name: string, more: Partial<SetNode>): void {
    this.nodes = this.nodes.map((node) => (node.name === name ? { ...node, ...more } : node));
  }

  /** One pass, as the controller makes it. The state goes through the status, as after a restart of the controller. */
  pass(revision = 'new'): Plan {
    const { strategy, trialMs = 600_000 } = this.#options;
    const rules = readRules({ selector: {}, config: { overlay: { maxPods: 60 } }, strategy });
    const desired = { revision, summary: '', source: (attempt: number) => parseRef(`n/${revision}-${attempt}/k`)! };
    const planned = plan({
      set: 'gpu',
      rules,
      state: stateIn(JSON.parse(JSON.stringify(storedState(this.state)))),
      desired,
      nodes: this.nodes,
      nowMs: this.nowMs,
      measured: this.measured,
    });
    this.state = planned.state;
    const { intent } = planned.state;
    const names = new Set(intent?.names);
    this.nodes = this.nodes.map((node) => {
      if (intent === undefined || !names.has(node.name) || isWritten(node, intent)) return node;
      const source = intent.source === 'previous' ? undefined : intent.source;
      const exempt = intent.exempt?.includes(node.name) && { exempt: true as const };
      const claim = {
        set: 'gpu',
        revision: intent.revision,
        source,
        wave: intent.wave,
        at: intent.at,
        previous: undefined,
        ...exempt,
      };
      if (node.name === this.#failing) return { ...node, claim, state: 'rejected' };
      return { ...node, claim, state: 'trial', trialEndsAtMs: this.nowMs + trialMs };
    });
    const request = requestOf('gpu', planned.state, this.nowMs);
    for (const name of request?.names ?? []) this.requests.set(name, request!);
    return planned;
  }

  /** Until nothing changes any more but by people. */
  run({
    passes = 400,
    revision = 'new',
    failing,
  }: {
    passes?: number;
    revision?: string;
    failing?: string | undefined;
  } = {}): Plan {
    this.#failing = failing;
    let planned = this.pass(revision);
    for (let count = 0; count < passes; count++) {
      const before = this.state;
      planned = this.pass(revision);
      if (JSON.stringify(storedState(before)) !== JSON.stringify(storedState(this.state)) || planned.state.intent)
        continue;
      if (!this.#jump(planned)) return planned;
    }
    return planned;
  }

  /** To the next time at which something happens. */
  #jump({ nextAtMs }: Plan): boolean {
    const trials = this.nodes.flatMap(({ state, trialEndsAtMs }) => (state === 'trial' ? [trialEndsAtMs!] : []));
    const answers = [...this.requests.values()].map(({ after }) => Date.parse(after[1]));
    const times = [...trials, ...answers, nextAtMs].filter((at) => at !== undefined && at > this.nowMs) as number[];
    if (times.length === 0) return false;
    this.nowMs = Math.min(...times);
    this.nodes = this.nodes.map((node) => this.#followed(node));
    return true;
  }

  #followed(node: SetNode): SetNode {
    const { trialEndsAtMs = 0, ...rest } = node;
    const next: SetNode = node.state === 'trial' && trialEndsAtMs <= this.nowMs ? { ...rest, state: 'active' } : node;
    const request = this.requests.get(node.name);
    if (request === undefined || request.id === node.observed?.id || Date.parse(request.after[1]) > this.nowMs)
      return next;
    const signals = this.#options.answer?.(node, node.claim?.revision === 'new', request);
    return signals === undefined ? next : { ...next, observed: { id: request.id, signals } };
  }
}

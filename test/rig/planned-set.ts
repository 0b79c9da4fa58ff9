/** A node and a plan of a set for tests: nothing special, with the given changes. */
import { parseRef } from '../../src/api/config-ref.js';
import type { Claim } from '../../src/api/node-annotations.js';
import type { SetStrategy } from '../../src/api/node-config-set.js';
import type { SetPlan } from '../../src/cli/rollout/plan-set.js';
import { rfc3339 } from '../../src/clock.js';
import type { SetNode } from '../../src/rollout/members.js';
import { type Plan, type PlanInput, plan } from '../../src/rollout/plan.js';
import { readRules } from '../../src/rollout/spec.js';
import type { SetState } from '../../src/rollout/state.js';

/** A node that is Ready, with its local config and in no set. */
export const anySetNode = (name: string, changes: Partial<SetNode> = {}): SetNode => ({
  name,
  labels: {},
  createdAtMs: 0,
  isReady: true,
  isCordoned: false,
  isControlPlane: false,
  isPicked: false,
  previous: undefined,
  state: 'local',
  ...changes,
});

type Decided = Pick<SetPlan, 'set' | 'revision' | 'summary' | 'decided' | 'waves'>;

/** A plan in whose way is nothing. */
export const anySetPlan = (decided: Decided, changes: Partial<SetPlan> = {}): SetPlan => ({
  ...decided,
  stalled: undefined,
  rejections: [],
  undone: [],
  signed: undefined,
  changes: [],
  drains: { drains: [] },
  notShown: 0,
  withoutPolicies: false,
  withoutClaims: [],
  trial: { ms: 600_000, from: 'assumed' },
  expectedMs: 0,
  ...changes,
});

export const nowMs = Date.parse('2026-06-05T12:00:00Z');
export const minute = 60_000;
export const desired = { revision: 'new', summary: '', source: (attempt: number) => parseRef(`n/new-${attempt}/k`)! };

export const claim = (more: Partial<Claim> = {}): Claim => ({
  set: 'gpu',
  revision: 'new',
  source: parseRef('n/new-1/k'),
  wave: 1,
  at: rfc3339(nowMs - minute),
  previous: undefined,
  ...more,
});

export const started: SetState = {
  updateRevision: 'new',
  revisions: [{ revision: 'new', source: parseRef('n/new-1/k'), startedAt: rfc3339(nowMs - 10 * minute) }],
};
export const withOld: SetState = {
  ...started,
  currentRevision: 'old',
  revisions: [
    ...started.revisions!,
    { revision: 'old', source: parseRef('n/old/k'), startedAt: rfc3339(0), outcome: 'Complete' },
  ],
};

/** The plan of a set of these nodes, ten minutes after the revision `new` was started, with the defaults of the spec. */
export function planned(
  nodes: SetNode[],
  strategy: SetStrategy = {},
  more: Partial<PlanInput> & { spec?: object } = {},
): Plan {
  const { spec, ...input } = more;
  const rules = readRules({ selector: {}, config: { overlay: {} }, strategy, ...spec });
  return plan({ set: 'gpu', rules, state: started, desired, nodes, nowMs, ...input });
}

export const batchOf = ({ state }: Plan) => state.intent?.names;

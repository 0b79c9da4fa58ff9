/** A node and a plan of a set for tests: nothing special, with the given changes. */
import type { SetPlan } from '../../src/cli/rollout/plan-set.js';
import type { SetNode } from '../../src/rollout/members.js';

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

/**
 * Safety lines of the product that the simulation must miss when they are taken out, as small replacements of source text. They are
 * applied while the simulation is bundled; no file is changed. docs/reliability.md has the seeds that find them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const edit = (file, search, replace) => ({ file, search, replace });

export const mutations = [
  {
    name: 'D1-proven-config-without-fallback',
    edits: [
      edit(
        'src/agent/trial/trial-count.ts',
        'const isCounted = this.#needsTrial || choice.source !== undefined;',
        'const isCounted = this.#needsTrial;',
      ),
    ],
  },
  {
    name: 'D3-active-without-kubelet',
    edits: [
      edit(
        'src/agent/trial/health.ts',
        'if (owners === undefined) return { isAlive: false };',
        'if (owners === undefined) return { isAlive: true };',
      ),
    ],
  },
  {
    name: 'D5-backoff-after-outage',
    edits: [
      edit(
        'src/kube/watch.ts',
        'if (isExpired(error) && ++state.expired === 1) continue;',
        'if (isExpired(error) && state.failures === 1) continue;',
      ),
      edit('src/kube/requester.ts', 'if (!this.#isUnreachable) return;', 'return;'),
    ],
  },
  {
    name: 'reset-keeps-no-previous-config',
    edits: [
      edit(
        'src/agent/transitions.ts',
        'if (previous !== undefined && previous === replaces) state.write(previousConfigRecord, previous);',
        '',
      ),
    ],
  },
  {
    name: 'unhealthy-previous-config',
    edits: [
      edit(
        'src/agent/agent.ts',
        'const replaces = () => (run?.wasActive ? run.choice.source : undefined);',
        'const replaces = () => run?.choice.source;',
      ),
    ],
  },
  {
    name: 'prune-what-arrives',
    edits: [
      edit(
        'src/agent/last-known-good.ts',
        'garbageCollect(state, log, this.arriving);',
        'garbageCollect(state, log, undefined);',
      ),
    ],
  },
  {
    name: 'prune-while-validating',
    edits: [
      edit(
        'src/agent/transitions.ts',
        'documents: [child?.converted, ...recentDocuments(state)],',
        'documents: [child?.converted],',
      ),
    ],
  },
  {
    name: 'rejected-config-is-started',
    edits: [
      edit(
        'src/agent/choose.ts',
        "if (validation.kind === 'rejected') {",
        "if (validation.kind !== 'rejected' && false) {",
      ),
    ],
  },
  {
    name: 'no-health-deadline',
    edits: [
      edit(
        'src/agent/trial/trial.ts',
        'if (missed && unhealthyMs >= limits.healthDeadlineMs) {',
        'if (missed && unhealthyMs >= 1e9) {',
      ),
    ],
  },
  {
    name: 'crash-loop-without-end',
    edits: [edit('src/agent/trial/trial.ts', '>= limits.failedStarts', '>= 1000')],
  },
  {
    name: 'failed-config-is-started-again',
    edits: [
      edit(
        'src/agent/choose.ts',
        'if (failed && !isOutdated(choosing, failed)) throw new FailedBefore(key, failed);',
        '',
      ),
    ],
  },
  {
    name: 'status-grants',
    edits: [edit('src/controller/grant-plan.ts', '(mayKeep && facts.isGranted(key, name))', 'mayKeep')],
  },
  {
    name: 'rejection-without-event',
    edits: [
      edit(
        'src/agent/sync/event-sender.ts',
        'if (rejection && rejection.message !== this.#reportedRejection) this.send(rejection);',
        '',
      ),
    ],
  },
  {
    name: 'budget-of-unavailable-nodes',
    edits: [edit('src/rollout/batch.ts', 'left.unavailable >= costs.unavailable &&', '')],
  },
  {
    name: 'budget-of-trials',
    edits: [edit('src/rollout/batch.ts', '(allowed.inTrial > 0 && left.inTrial >= costs.inTrial)', 'true')],
  },
  {
    name: 'pending-nodes-cost-no-budget',
    edits: [
      edit(
        'src/rollout/survey.ts',
        "return node.state === 'waiting' && node.claim?.exempt !== true ? 'not yet active' : undefined;",
        'return undefined;',
      ),
    ],
  },
  {
    name: 'failures-do-not-halt',
    edits: [
      edit(
        'src/rollout/plan.ts',
        "function rollOut({ set, state, rules, nowMs }: PlanInput, seen: Survey, waves: WavePlan): Step {\n  if (isHalted(seen)) return stalled('halted', sentences.halted(set, seen));",
        'function rollOut({ set, state, rules, nowMs }: PlanInput, seen: Survey, waves: WavePlan): Step {',
      ),
      edit('src/rollout/waves.ts', 'room > 0 || isRunning || isStopped;', 'room > 0 || isRunning;'),
    ],
  },
  {
    name: 'wave-ends-before-its-trials',
    edits: [edit('src/rollout/waves.ts', 'room > 0 || isRunning || isStopped;', 'room > 0 || isStopped;')],
  },
  {
    name: 'taken-node-is-changed',
    edits: [
      edit(
        'src/rollout/members.ts',
        'if (claim !== undefined && !claim.released && !isSame)',
        'if (assigned === null)',
      ),
      edit('src/rollout/members.ts', 'if (!isSame && assigned !== undefined)', 'if (assigned === null)'),
    ],
  },
  {
    name: 'any-key-may-sign',
    edits: [
      edit(
        'src/config/signing/decide.ts',
        'if (signers.size >= trust.threshold)',
        'if (signers.size + others.length >= trust.threshold)',
      ),
    ],
  },
  {
    name: 'expired-statement-is-accepted',
    edits: [
      edit('src/config/signing/decide.ts', 'if (clock.isAfter(notAfter))', 'if (clock.isAfter(notAfter) && false)'),
    ],
  },
  {
    name: 'accepted-statement-expires',
    edits: [
      edit(
        'src/config/signing/decide.ts',
        'accepted.find((one) => one.statement === statement)?.at;',
        'accepted.find(() => false)?.at;',
      ),
    ],
  },
  {
    name: 'retry-counts-the-failures-before-it',
    edits: [
      edit(
        'src/rollout/state.ts',
        'const { outcome: _outcome, endedAt: _endedAt, failedNodes: _failedNodes, ...rest } = one;',
        'const rest = one;',
      ),
    ],
  },
  {
    name: 'new-node-gets-nothing',
    edits: [
      edit(
        'src/rollout/plan.ts',
        'filter(({ node }) => isOpen || node.claim === undefined);',
        'filter(({ node }) => isOpen && node.claim !== undefined);',
      ),
    ],
  },
  {
    name: 'old-intent-is-written',
    edits: [
      edit(
        'src/rollout/claim-patch.ts',
        'return nodeConfigPatch(object.metadata.resourceVersion, {',
        'return nodeConfigPatch(undefined, {',
      ),
    ],
  },
  {
    name: 'next-wave-does-not-wait-for-analysis',
    edits: [
      edit(
        'src/rollout/analysis/analysis.ts',
        "if (record.state === 'Observing') return 'Observing';",
        "if (record.state === 'Observing') return 'None';",
      ),
    ],
  },
  {
    name: 'get-from-cache',
    edits: [
      edit(
        'src/kube/client.ts',
        "get: (type, place, get = {}) => call({ method: 'GET', path: resourcePath(type, place), ...within(get) }),",
        "get: (type, place, get = {}) => call({ method: 'GET', path: resourcePath(type, place), query: { resourceVersion: '0' }, ...within(get) }),",
      ),
    ],
  },
];

/** A plugin for esbuild that makes the edits of one mutation. Throws when a text is not there any more. */
export function mutated(name, root) {
  const mutation = mutations.find((one) => one.name === name);
  if (mutation === undefined)
    throw new Error(`no mutation ${name}; known: ${mutations.map((one) => one.name).join(', ')}`);
  return {
    name: 'mutation',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const edits = mutation.edits.filter(({ file }) => path === join(root, file));
        if (edits.length === 0) return undefined;
        return { contents: edits.reduce(applyEdit, readFileSync(path, 'utf8')), loader: 'ts' };
      });
    },
  };
}

export function applyEdit(text, { file, search, replace }) {
  if (text.split(search).length !== 2) throw new Error(`${file} must have this text exactly once: ${search}`);
  return text.replace(search, () => replace);
}

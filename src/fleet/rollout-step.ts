/** The next step of a person in a rollout, by its reason. Pure. */
import { setProgressReasons, setStalledReasons } from '../api/condition-reasons.js';
import type { NodeConfigSet } from '../api/node-config-set.js';
import { oneLine } from '../visible-text.js';
import { type Assessment, mayRetry } from './rollout-assessment.js';

/** docs/drain.md has the whole of it. */
export const letItDrain =
  "'kubectl apply -k deploy/drain/', or the chart's controller.drain.enabled, gives the controller the role relet:controller-drain";

/** What a person can do; undefined where nothing is needed. */
export function nextStep(
  { metadata: { name }, status = {} }: NodeConfigSet,
  assessment: Assessment,
): string | undefined {
  if (assessment.kind === 'unseen') return "if this stays so, 'relet doctor' shows whether the controller runs";
  const { reason } = assessment;
  const [first] = status.failedSamples ?? [];
  const why = first === undefined ? '' : `'relet describe ${oneLine(first.name)}' shows why; `;
  switch (reason) {
    case setProgressReasons.approval.reason: {
      const wave = status.waves?.find(({ state }) => state === 'AwaitingApproval')?.wave ?? status.wave ?? 1;
      return `'relet rollout approve ${name} --wave ${wave}' starts the next wave, 'relet rollout abort ${name}' stops`;
    }
    case setProgressReasons.paused.reason:
      return `'relet rollout resume ${name}' continues`;
    case setStalledReasons.halted.reason:
      return `${why}apply a corrected config, 'relet rollout retry ${name}' tries the same again, 'relet rollout undo ${name}' takes it back`;
    case setStalledReasons.aborted.reason:
      return `change the config, 'relet rollout retry ${name}' continues, 'relet rollout undo ${name}' takes it back`;
    case setStalledReasons.mayNotDrain.reason:
      return letItDrain;
    case setStalledReasons.undrainable.reason:
      return `let the pods go that are named above, then 'relet rollout retry ${name}'; or set strategy.drain.onUndrainable: Skip`;
    case setProgressReasons.draining.reason:
      return `if a PodDisruptionBudget blocks, make room in it: more replicas, or a lower minAvailable; 'relet rollout abort ${name}' lifts the cordons`;
    case setStalledReasons.impact.reason:
      return `'relet rollout plan ${name}' shows what the fields need; add that to spec.accept, or change the config`;
  }
  if (mayRetry(reason)) return `${why}change the config, or 'relet rollout retry ${name}' rolls it out again`;
  return assessment.kind === 'stopped' ? "correct the set; 'relet rollout plan FILE' checks it first" : undefined;
}

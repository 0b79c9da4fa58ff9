/** The report of an agent on its NodeConfig, for models of clusters on a clock that the test moves: no kubelet, no validation. Pure. */
import type { NodeConfigSource } from '../../src/api/config-ref.js';
import type { NodeConfig } from '../../src/api/node-config.js';
import { rfc3339 } from '../../src/clock.js';

/** works: active after 2 s, trial of 1 min. rejects, rolls back: after 2 s. silent: never answers. */
export type Behaviour = 'works' | 'rejects' | 'rolls back' | 'silent';

const startMs = 2000;
const trialMs = 60_000;

interface Assigned {
  /** Undefined: local. */
  source: NodeConfigSource | undefined;
  behaviour: Behaviour;
  atMs: number;
  nowMs: number;
}

/** The next status of the NodeConfig; undefined while there is no answer. */
export function reportOf({ metadata, status = {} }: NodeConfig, { source, behaviour, atMs, nowMs }: Assigned) {
  if (behaviour === 'silent' || nowMs - atMs < startMs) return undefined;
  const { lastKnownGood } = status.config ?? {};
  const good = lastKnownGood && { lastKnownGood };
  const report = (reason: string, more: Pick<NonNullable<NodeConfig['status']>, 'config' | 'trial'>) => {
    const [others, [known]] = [
      (status.conditions ?? []).filter(({ type }) => type !== 'ConfigOK'),
      (status.conditions ?? []).filter(({ type }) => type === 'ConfigOK'),
    ];
    const condition = {
      type: 'ConfigOK',
      status: reason === 'ConfigActive' ? 'True' : 'False',
      reason,
      message: 'modelled',
      lastTransitionTime: known?.lastTransitionTime ?? rfc3339(nowMs),
    };
    const observed = status.observed && { observed: status.observed };
    return { observedGeneration: metadata.generation ?? 1, ...more, ...observed, conditions: [...others, condition] };
  };
  if (source === undefined) return report('ConfigActive', { config: {} });
  if (behaviour !== 'works') {
    const error = behaviour === 'rejects' ? 'ValidationFailed' : 'CrashLoop';
    const running = lastKnownGood && { active: lastKnownGood };
    return report(error, { config: { assigned: source, ...running, ...good, error } });
  }
  const config = { assigned: source, active: source };
  const endsAtMs = atMs + startMs + trialMs;
  if (nowMs >= endsAtMs) return report('ConfigActive', { config: { ...config, lastKnownGood: source } });
  const trial = { deaths: 0, healthySeconds: 0, endsAt: rfc3339(endsAtMs) };
  return report('ConfigActive', { config: { ...config, ...good }, trial });
}

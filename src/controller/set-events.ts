/**
 * Events of a set: one for each new step of its rollout, each change of its condition and each finished analysis, for `kubectl
 * describe` and alerts.
 */
import { isDeepStrictEqual } from 'node:util';
import type { NodeConfigSet, NodeConfigSetStatus, SetStep, SetStepKind, WaveAnalysis } from '../api/node-config-set.js';
import { stepText } from '../rollout/steps.js';
import { type EventOptions, type NewEvent, recordEvent } from './record-event.js';

/** The condition of the set names the others. */
const ownEvents: readonly SetStepKind[] = ['Approved', 'Resumed', 'Retried', 'Failed'];

export async function recordEvents(
  options: EventOptions,
  { metadata: { name, uid }, status }: NodeConfigSet,
  now: NodeConfigSetStatus,
): Promise<void> {
  const about = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet', name, ...(uid && { uid }) };
  for (const event of eventsOf(status, now)) await recordEvent(options, about, event);
}

/** The new steps, oldest first, and the condition where its reason, or the revision, is another one. */
export function eventsOf(before: NodeConfigSetStatus | undefined, now: NodeConfigSetStatus): NewEvent[] {
  const steps = newSteps(before?.steps, now.steps)
    .filter(({ step }) => ownEvents.includes(step))
    .map((step): NewEvent => {
      const reason = step.step === 'Failed' ? 'NodeFailed' : step.step;
      return { type: step.step === 'Failed' ? 'Warning' : 'Normal', reason, message: stepText(step) };
    });
  const events = [...steps, ...analyzed(before, now)];
  const [old, ready] = [before, now].map((one) => one?.conditions?.find(({ type }) => type === 'Ready'));
  const isSame = old?.reason === ready?.reason && before?.updateRevision === now.updateRevision;
  if (ready === undefined || isSame) return events;
  const isStalled = now.conditions?.some((one) => one.type === 'Stalled' && one.status === 'True');
  return [...events, { type: isStalled ? 'Warning' : 'Normal', reason: ready.reason, message: ready.message }];
}

/** Waves whose analysis has ended since. */
function analyzed(before: NodeConfigSetStatus | undefined, now: NodeConfigSetStatus): NewEvent[] {
  const isSame = (a: WaveAnalysis, b: WaveAnalysis) =>
    a.revision === b.revision && a.attempt === b.attempt && a.wave === b.wave && a.state === b.state;
  return (now.analyses ?? [])
    .filter((one) => one.state === 'Done' && !before?.analyses?.some((other) => isSame(one, other)))
    .map(({ outcome, wave, message = '' }) => ({
      type: outcome === 'Worse' ? 'Warning' : 'Normal',
      reason: 'WaveAnalyzed',
      message: `wave ${wave}: ${message}`,
    }));
}

function newSteps(before: readonly SetStep[] = [], now: readonly SetStep[] = []): SetStep[] {
  const known = now.findIndex((step) => isDeepStrictEqual(step, before[0]));
  return now.slice(0, known === -1 ? undefined : known).reverse();
}

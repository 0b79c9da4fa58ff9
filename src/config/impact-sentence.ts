/**
 * The sentence about the impact of a change, for terminal and dashboard: what it requires on a live node, and its effect on running
 * pods. Made only here and only from both values, so that no text shows a label without its value. Pure.
 */
import type { PodFailure } from './admission.js';
import { type Needs, needsMeaning, type PodsEffect } from './catalogue/entry.js';

declare const made: unique symbol;
/** `Impact: kubelet restart. Running pods are not affected.` Only impactSentence makes one. */
export type ImpactSentence = string & { readonly [made]: true };

export function impactSentence({ needs, pods }: { needs: Needs; pods: PodsEffect }): ImpactSentence {
  const about = podsText(pods) ?? (needs === 'restart' ? 'The effect on running pods is not known.' : undefined);
  const sentences = [`Impact: ${needsText(needs)}`, ...(about === undefined ? [] : [about])];
  return sentences.join(' ') as ImpactSentence;
}

function needsText(needs: Needs): string {
  switch (needs) {
    case 'restart':
      return 'kubelet restart.';
    case 'never':
      return needsMeaning.never.replace(/^Not /, 'cannot be changed ');
    default:
      return `${needs}. ${needsMeaning[needs]}`;
  }
}

/** Undefined if no effect was established. */
export function podsText(effect: PodsEffect): string | undefined {
  switch (effect.kind) {
    case 'unaffected':
      return 'Running pods are not affected.';
    case 'new containers only':
      return 'Running pods keep the old value until they are created again.';
    case 'may be evicted':
      return 'Running pods may be evicted.';
    case 'fail admission':
      return failuresText(effect.pods);
    case 'unknown':
      return undefined;
  }
}

const mostNames = 5;

function failuresText(pods: readonly PodFailure[]): string | undefined {
  if (pods.length === 0) return undefined;
  const names = pods.slice(0, mostNames).map(({ pod, reason }) => `${pod} (${reason})`);
  const rest = pods.length - names.length;
  const shown = names.join(', ') + (rest > 0 ? ` and ${rest} more` : '');
  return pods.length === 1
    ? `One running pod will fail, because the kubelet rejects it at the restart: ${shown}.`
    : `${pods.length} running pods will fail, because the kubelet rejects them at the restart: ${shown}.`;
}

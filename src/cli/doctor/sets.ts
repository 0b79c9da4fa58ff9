/** Checks of `relet doctor` about sets: whether the controller reconciles them, stalled rollouts, selectors, nodes that two sets select. */
import { exclusionReasons, setNoteReasons, setStalledReasons } from '../../api/condition-reasons.js';
import { type NodeConfigSet, nodeConfigSets } from '../../api/node-config-set.js';
import { isNotFound } from '../../api/status.js';
import { assess, nextStep } from '../../rollout/assessment.js';
import type { Session } from '../session.js';
import { type Diagnosis, someOf } from './diagnosis.js';
import { checkStatement } from './signing.js';

/** Returns no findings on a cluster without NodeConfigSets. */
export async function checkSets({ client, signal }: Session): Promise<Diagnosis[]> {
  try {
    const { items } = await client.list<NodeConfigSet>(nodeConfigSets, { signal });
    return diagnoseSets(items);
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

export function diagnoseSets(sets: readonly NodeConfigSet[]): Diagnosis[] {
  const nowMs = Date.now();
  const found = sets.flatMap((set) => [
    ...checkRollout(set),
    ...checkSelector(set),
    ...checkExcluded(set),
    ...checkStatement(set, nowMs),
  ]);
  if (sets.length === 0 || found.length > 0) return found;
  return [
    {
      level: 'ok',
      what:
        sets.length === 1
          ? 'the set is complete or progressing'
          : `the ${sets.length} sets are complete or progressing`,
    },
  ];
}

function checkRollout(set: NodeConfigSet): Diagnosis[] {
  const { name } = set.metadata;
  const assessment = assess(set);
  if (assessment.kind === 'unseen')
    return [
      {
        level: 'warning',
        what: `set ${name}: the controller has not seen its newest spec or request`,
        remedy:
          "fine for a moment; else check that the controller runs: 'kubectl -n relet-system get pods', or 'relet controller' by hand",
      },
    ];
  if (assessment.kind !== 'stopped') return [];
  const remedy = nextStep(set, assessment);
  return [
    {
      level: byPerson.includes(assessment.reason) ? 'warning' : 'error',
      what: `set ${name} has stopped (${assessment.reason}): ${assessment.message}`,
      ...(remedy !== undefined && { remedy }),
    },
  ];
}

/** A person stopped the rollout on purpose. */
const byPerson: readonly string[] = [setStalledReasons.aborted.reason, setStalledReasons.undone.reason];

function checkSelector({ metadata: { name }, status }: NodeConfigSet): Diagnosis[] {
  const warning = status?.conditions?.find(
    ({ reason, status: isSo }) => reason === setNoteReasons.selfLabelled.reason && isSo === 'True',
  );
  if (warning === undefined) return [];
  return [
    {
      level: 'warning',
      what: `set ${name}: ${warning.message}`,
      remedy: 'select by a label under node-restriction.kubernetes.io, which only an administrator may set',
    },
  ];
}

function checkExcluded({ metadata: { name }, status }: NodeConfigSet): Diagnosis[] {
  const [other, taken, byHand] = [exclusionReasons.otherSet, exclusionReasons.repointed, exclusionReasons.byHand].map(
    ({ reason }) => (status?.excluded ?? []).filter((one) => one.reason === reason).map((one) => one.name),
  ) as [string[], string[], string[]];
  const found: Diagnosis[] = [];
  if (other.length > 0)
    found.push({
      level: 'warning',
      what: `set ${name} selects nodes that another set has, and leaves them alone: ${someOf(other)}`,
      remedy: `make the selectors of the two sets disjoint, or 'relet rollout adopt ${name} ${other[0]}'`,
    });
  if (taken.length > 0)
    found.push({
      level: 'warning',
      what: `taken from the set ${name} by hand: ${someOf(taken)}`,
      remedy: `'relet release ${taken[0]}' gives a node back`,
    });
  if (byHand.length > 0)
    found.push({
      level: 'warning',
      what: `set ${name} selects nodes whose config was assigned by hand, and leaves them alone: ${someOf(byHand)}`,
      remedy: `'relet rollout adopt ${name}' gives them to the set`,
    });
  return found;
}

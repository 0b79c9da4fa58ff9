/** Data of a set's page: its rollout, the verbs that are useful now, its revisions with their configs, and its manifest. */
import { parseRef } from '../../api/config-ref.js';
import { byAnnotation } from '../../api/node-annotations.js';
import {
  type NodeConfigSet,
  nodeConfigSets,
  type RolloutAction,
  type SetStep,
  strategyDefaults,
  type Wave,
} from '../../api/node-config-set.js';
import { ApiError } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { readPayload } from '../../fleet/config-maps.js';
import { asYaml } from '../../go/yaml/write.js';
import { assess, nextStep } from '../../rollout/assessment.js';
import { nextStopText, untilNextStop } from '../../rollout/next-stop.js';
import { approvalFor, gitOwner, requestedRevision } from '../../rollout/requests.js';
import { newestStep, stepText } from '../../rollout/steps.js';
import type { May, SetCommand, SetDetails, SetVerb } from '../wire.js';
import { commandText } from './commands.js';
import type { Reader } from './reader.js';
import { summaryOf, timeOf } from './row.js';

export async function setDetails(
  { client, may, nowMs, signal }: Omit<Reader, 'references'>,
  name: string,
): Promise<SetDetails> {
  const set = await client.get<NodeConfigSet>(nodeConfigSets, { name }, { signal });
  const { status = {}, spec } = set;
  const wanted: Wave[] = spec.strategy?.waves ?? strategyDefaults.waves;
  const summary = summaryOf(set, nowMs);
  const { intent: _, steps = [], ...shown } = status;
  return {
    ...summary,
    uid: set.metadata.uid ?? '',
    generation: set.metadata.generation ?? 0,
    yaml: manifestOf(set),
    status: shown,
    waves: (status.waves ?? []).map((wave) => {
      const { soak = '', approve = false } = wanted[wave.wave - 1] ?? { nodes: 0 };
      return { ...wave, soak, approve };
    }),
    revisions: await Promise.all(
      (status.revisions ?? []).map((one) =>
        withDocument({ client, signal }, { ...one, decided: decidedBy(steps, one.revision) }),
      ),
    ),
    steps: steps.map((step) => ({ at: timeOf(step.at), text: stepText(step) })),
    nodesPerMinute: paceOf(summary, nowMs),
    next: nextStep(set, assess(set)) ?? '',
    fromGit: gitOwner(set) ?? '',
    actions: setActions(set, may),
  };
}

/** Its newest step that a person took. */
function decidedBy(steps: readonly SetStep[], revision: string): string {
  const step = newestStep(steps, ['Approved', 'Aborted', 'Undone', 'Retried'], revision);
  return step === undefined ? '' : stepText(step);
}

async function withDocument(
  cluster: { client: Reader['client']; signal: AbortSignal },
  revision: SetDetails['revisions'][number],
): Promise<SetDetails['revisions'][number]> {
  const ref = parseRef(revision.source);
  if (ref === undefined) return revision;
  try {
    return { ...revision, document: (await readPayload(cluster, ref)).text };
  } catch (error) {
    // Pruned since, or not for this person.
    if (error instanceof ApiError || error instanceof CannotRun) return revision;
    throw error;
  }
}

function paceOf({ nodes, startedAt }: { nodes: { updated: number }; startedAt: number }, nowMs: number): number {
  const minutes = (nowMs - startedAt) / 60_000;
  return startedAt === 0 || minutes < 1 ? 0 : Math.round((10 * nodes.updated) / minutes) / 10;
}

export function manifestOf({ apiVersion, kind, metadata, spec }: NodeConfigSet): string {
  const { name, labels, annotations = {} } = metadata;
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, [byAnnotation]: __, ...kept } = annotations;
  return asYaml({
    apiVersion: apiVersion || 'relet.dev/v1alpha1',
    kind: kind || 'NodeConfigSet',
    metadata: { name, ...(labels && { labels }), ...(Object.keys(kept).length > 0 && { annotations: kept }) },
    spec,
  });
}

/** Actions that would have an effect now and that the user may request. */
export function setActions(set: NodeConfigSet, may: Pick<May, 'steerSets' | 'changeSets'>): SetCommand[] {
  const { metadata, spec } = set;
  const { name } = metadata;
  const words = (verb: SetVerb, more: string[] = []) => ['rollout', verb, name, ...more];
  const request = (verb: SetVerb, action: RolloutAction) =>
    unlessNothing(() => words(verb, ['--revision', requestedRevision(set, action)]));
  const offered: [Exclude<SetVerb, 'approve'>, string[] | undefined][] = [
    ['pause', may.changeSets && !spec.paused && assess(set).kind !== 'stopped' ? words('pause') : undefined],
    ['resume', may.changeSets && spec.paused ? words('resume') : undefined],
    ['retry', may.steerSets ? request('retry', 'Retry') : undefined],
    ['undo', may.steerSets ? request('undo', 'Undo') : undefined],
    ['abort', may.steerSets ? request('abort', 'Abort') : undefined],
  ];
  const approve = may.steerSets ? unlessNothing(() => approveCommand(set)) : undefined;
  return [
    ...(approve ? [approve] : []),
    ...offered.flatMap(([verb, found]) => (found === undefined ? [] : [{ verb, command: commandText(found) }])),
  ];
}

/** Only where a wave waits: to approve beforehand is for the command line. */
function approveCommand(set: NodeConfigSet): SetCommand | undefined {
  const { revision, wave, isApproved } = approvalFor(set, {});
  if (isApproved) return undefined;
  const words = ['rollout', 'approve', set.metadata.name, '--revision', revision, '--wave', String(wave)];
  return { verb: 'approve', command: commandText(words), wave, follows: nextStopText(untilNextStop(set, wave)) };
}

function unlessNothing<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof CannotRun) return undefined;
    throw error;
  }
}

/**
 * Previews a change of a node's config: the difference by meaning, the class of each changed field, pods that would fail, risks; and
 * whether the user has accepted that much. Pure.
 *
 *   facts = await readNodeFacts(cluster, node)                 the pods of the node, its capacity
 *   preview = previewChanges({ before, after, minor, facts })
 *   previewText(preview, columns)                              in src/cli/terminal/change-text.ts
 *   acceptError(preview, accepted)                             undefined: continue
 *   owedBy(preview)                                            the actions that are left to do afterwards
 */
import { isDeepStrictEqual } from 'node:util';
import { type Owed, type OwedAction, owedActions } from '../api/node-annotations.js';
import { admissionFailures, type PodFailure } from '../config/admission.js';
import {
  classesOf,
  fieldImpact,
  type Impact,
  type ImpactContext,
  impactsOf,
  mostDemanding,
  type Needs,
  type PodsEffect,
} from '../config/catalogue.js';
import { setDefaults } from '../config/defaults.js';
import { type Change, diff } from '../config/diff.js';
import { formatPath, leavesOf } from '../config/field-path.js';
import { fieldOf, getField, type KubeletConfig, type Minor, type Overlay } from '../config/model.js';
import type { NodeFacts } from '../config/node-facts.js';
import { sameValue } from '../config/same-value.js';
import { shapeOf } from '../config/shape.js';

export type { ImpactSentence } from '../config/impact-sentence.js';

export interface FieldChange extends Change, Impact {
  /** The new config does not set the field, so it gets the default of the kubelet. */
  dropped?: true;
  /** A value of the local config, which is not known; the other one is. */
  unknown?: 'before' | 'after';
}

export interface Preview {
  changes: FieldChange[];
  /** The most demanding class of all changes. */
  needs: Needs;
  /** The most serious effect on the pods that run; `fail admission` names all that fail. */
  pods: PodsEffect;
}

/**
 * `before` is what runs, or what is assigned where that cannot be read; `after` the new config. Both as written, with or without
 * defaults.
 */
export function previewChanges(context: ImpactContext): Preview {
  const { before, after, minor, facts = {} } = context;
  const found = diff(before, after, minor);
  const impacts = impactsOf(found, context);
  const changes = found.map((change, index): FieldChange => {
    const isDropped = getField(after, fieldOf(change.path)) === undefined;
    return { ...change, ...impacts[index]!, ...(isDropped && { dropped: true }) };
  });
  // Any change restarts the kubelet, so pods that fit no longer fail also where it changes something else.
  return summarize(changes, changes.length === 0 ? [] : (admissionFailures({ before, after, minor, facts }) ?? []));
}

/**
 * For a node whose local config is not known: the fields about which two overlays say different things. A field that one of them
 * leaves to the local config has a value there that is not known, unless it runs and `running` has it.
 */
export function previewOverlays(
  { before, after, running }: { before: Overlay; after: Overlay; running?: KubeletConfig | undefined },
  minor: Minor,
): Preview {
  const [old, next] = [statementsOf(before, minor), statementsOf(after, minor)];
  const runs = statementsOf({ config: running === undefined ? {} : setDefaults(running, minor), unset: [] }, minor);
  const changes = [...new Set([...old.keys(), ...next.keys()])]
    .filter((path) => !isDeepStrictEqual(old.get(path), next.get(path)))
    .map((path): FieldChange => {
      const [was, will] = [old.get(path) ?? runs.get(path), next.get(path)];
      const unknown = was === undefined ? 'before' : will === undefined ? 'after' : undefined;
      const { needs, why, risk } = fieldImpact(path, minor)!;
      const values = { before: was?.value, after: will?.value };
      // By which direction, and by what runs, is not known.
      const mayNeed = mostDemanding(classesOf(path, minor));
      return { path, ...values, needs, mayNeed, why, risk, pods: { kind: 'unknown' }, ...(unknown && { unknown }) };
    });
  return summarize(changes.filter((one) => one.unknown !== undefined || !sameValue(one.before, one.after, one.path)));
}

/** By path; without a value: unset. */
function statementsOf({ config, unset }: Overlay, minor: Minor): Map<string, { value?: unknown }> {
  const set = leavesOf(config, shapeOf(minor)).map((parts): [string, { value?: unknown }] => [
    formatPath(parts, minor),
    { value: parts.reduce<unknown>((value, part) => (value as KubeletConfig)[part], config) },
  ]);
  return new Map([...set, ...unset.map((path): [string, { value?: unknown }] => [path, {}])]);
}

/** Some of the changes of a preview as a preview of their own. */
export const summarize = (changes: FieldChange[], failures: readonly PodFailure[] = []): Preview => ({
  changes,
  needs: mostDemanding(changes.map(({ needs }) => needs)),
  pods: mostSerious(
    changes.map(({ pods }) => pods),
    failures,
  ),
});

const effectsInOrder: readonly PodsEffect['kind'][] = [
  'unaffected',
  'new containers only',
  'unknown',
  'may be evicted',
  'fail admission',
];

function mostSerious(effects: readonly PodsEffect[], failures: readonly PodFailure[]): PodsEffect {
  const all = new Map(failures.map((failure) => [failure.pod, failure]));
  for (const effect of effects)
    if (effect.kind === 'fail admission') for (const failure of effect.pods) all.set(failure.pod, failure);
  if (all.size > 0) return { kind: 'fail admission', pods: [...all.values()] };
  const rank = Math.max(0, ...effects.map(({ kind }) => effectsInOrder.indexOf(kind)));
  return { kind: effectsInOrder[rank] as 'unknown' };
}

/**
 * Why the change is refused: a class above restart that was not accepted, or one that no flag lets through. A state file or a reboot
 * includes the drain. `isReturn`: the node goes back to a config that it had (undo, reset), which is the way out of a change of
 * class never, so that alone does not stop it.
 */
export function acceptError(
  { changes }: Pick<Preview, 'changes'>,
  accepted: readonly string[] = [],
  { isReturn = false } = {},
): string | undefined {
  const forbidden = changes.find(({ needs }) => needs === 'never');
  if (forbidden !== undefined && !isReturn)
    return `${forbidden.path} cannot be changed on a live node: ${forbidden.why} Set it in the local config when the node is built, or replace the node; no flag allows this`;
  const open = openChanges(changes, accepted);
  if (open.length === 0) return undefined;
  const worst = mostDemanding(open.map(({ needs }) => needs));
  const first = open.find(({ needs }) => needs === worst)!;
  const others = open.filter((one) => one !== first).map(({ path, needs }) => `${path} (${needs})`);
  const also = others.length === 0 ? '' : ` The same goes for ${others.join(', ')}.`;
  return `changing ${first.path} needs more than a kubelet restart (${first.needs}): ${first.why}${also} To go ahead, ${wayAhead(acceptNeeded({ changes }), { isReturn })}`;
}

/** The flags for these classes. A return (undo, reset) has no --drain. */
export function wayAhead(needed: readonly string[], { isReturn = false } = {}): string {
  const accept = `--accept=${needed.join(',')}`;
  if (isReturn || needed.includes('reboot')) return `use ${accept}`;
  if (needed.join() === 'drain')
    return `use --drain, which drains the node before the change; ${accept} changes it without a drain`;
  return needed.includes('state-file')
    ? `use --drain ${accept}; without --drain, the drain is left to you`
    : `use ${accept}`;
}

/**
 * In attached mode a switch reloads systemd. On hosts with an older NVIDIA container toolkit, containers that run lose their GPUs
 * then, and the API does not show which toolkit a host has.
 */
export function mayLoseGpus({ driver }: { driver?: string | undefined }, { capacity = {} }: NodeFacts): boolean {
  const isGpu = (name: string) => name === 'nvidia.com/gpu' || name.startsWith('nvidia.com/mig-');
  return driver === 'systemd' && Object.entries(capacity).some(([name, amount]) => isGpu(name) && amount > 0n);
}

/** Impacts that --accept must name for these changes; none if enough is accepted. */
export function acceptNeeded({ changes }: Pick<Preview, 'changes'>, accepted: readonly string[] = []): OwedAction[] {
  if (openChanges(changes, accepted).length === 0) return [];
  const classes = owedActions.filter((one) => changes.some(({ needs }) => needs === one));
  return classes.length > 1 ? classes.filter((one) => one !== 'drain') : classes;
}

const openChanges = (changes: readonly FieldChange[], accepted: readonly string[]): FieldChange[] =>
  changes.filter((change) => isOpen(change, accepted));

/** The change needs a drain, or an action that begins with one, and that is not accepted. */
export const isOpen = ({ needs }: FieldChange, accepted: readonly string[]): boolean =>
  owedActions.includes(needs as OwedAction) && !isAccepted(needs, accepted);

const isAccepted = (needs: Needs, accepted: readonly string[]): boolean =>
  accepted.includes(needs) || (needs === 'drain' && accepted.some((one) => one === 'state-file' || one === 'reboot'));

/**
 * Actions left after the change, and for which fields; undefined if there are none. Pods that the kubelet rejects at the restart
 * are gone then: of such a drain nothing is left. Nor is it on a node that was drained before.
 */
export function owedBy({ changes }: Pick<Preview, 'changes'>, { pods }: NodeFacts = {}): Omit<Owed, 'at'> | undefined {
  const isDrained = pods?.every(({ isStatic, ofDaemonSet }) => isStatic || ofDaemonSet) ?? false;
  const owing = changes.filter(
    (change) =>
      owedActions.includes(change.needs as OwedAction) &&
      change.pods.kind !== 'fail admission' &&
      !(change.needs === 'drain' && isDrained),
  );
  if (owing.length === 0) return undefined;
  const needs = owedActions.filter((one) => owing.some((change) => change.needs === one));
  return { needs, fields: owing.map(({ path }) => path) };
}

/**
 * The plan of a change: what each node has now, what it would get, and the preview that is confirmed. Nodes with the same difference
 * are shown once.
 */
import {
  formatRef,
  type NodeConfigSource,
  nodeConfigSource,
  parseRef,
  refOf,
  sameConfig,
} from '../../api/config-ref.js';
import type { ConfigMap } from '../../api/object.js';
import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { diff } from '../../config/diff.js';
import { formatPath, isWithin, leavesOf } from '../../config/field-path.js';
import { bugWarnings } from '../../config/known-bugs.js';
import { getField, type KubeletConfig, type Minor, parsePatch } from '../../config/model.js';
import type { NodeFacts } from '../../config/node-facts.js';
import { isOverlay } from '../../config/overlay.js';
import { withSetting } from '../../config/set-field.js';
import { shapeOf } from '../../config/shape.js';
import { acceptanceErrors, errorLines } from '../../fleet/acceptance.js';
import { failureOf, readHistory } from '../../fleet/config-history.js';
import { defaultKey, defaultName, newConfigMap, sourceOf } from '../../fleet/config-maps.js';
import { type ConfiguredNode, configState, errorText } from '../../fleet/configured-node.js';
import { kubeletOf, type NodeConfigs, nodeConfigReader } from '../../fleet/node-configs.js';
import { readNodeFacts } from '../../fleet/node-facts.js';
import { convertToOverlay, documentOf, readOverlay, sameMeaning } from '../../fleet/payload.js';
import {
  acceptNeeded,
  mayLoseGpus,
  owedBy,
  type Preview,
  previewChanges,
  previewOverlays,
  summarize,
} from '../../fleet/preview.js';
import { returnRejection, signatureRejection } from '../../fleet/signature-forecast.js';
import { readEach, type Session } from '../session.js';
import { shown } from '../terminal/change-text.js';
import type { NodeChange } from './outcome.js';

export interface NodeNow extends NodeConfigs {
  facts: NodeFacts;
}

/** Present configs of the nodes, in their order. */
export function readNow(
  session: Session,
  nodes: readonly ConfiguredNode[],
  options: { local?: string } = {},
): Promise<NodeNow[]> {
  const reader = nodeConfigReader(session, options);
  return readEach(session, nodes, async (node) => {
    const [configs, facts] = await Promise.all([reader.read(node), readNodeFacts(session, node.name)]);
    return { ...configs, facts };
  });
}

/** The payload that a node is assigned; undefined: local. Throws if it cannot be read, so that nothing is built on a guess. */
export function assignedText({ node: { name }, assigned: { ref, text, problem } }: NodeNow): string | undefined {
  if (problem === undefined) return text;
  throw new CannotRun(
    `${formatRef(ref, 'short')}, which ${name} is assigned, cannot be read (${problem}), so there is nothing to build on; 'relet undo ${name}' goes back to the config before it, 'relet reset ${name}' to the local one`,
  );
}

/** A whole config as an overlay; what is none stays as it is. Undefined: nothing is left of it but the local config. */
export function overlayFor({ node, local, minor }: NodeNow, text: string | undefined): string | undefined {
  if (text === undefined || isOverlay(text)) return text;
  if (local === undefined)
    throw new CannotRun(
      `the local config of ${node.name} is not known: no agent reports it, and its kubelet runs something else or cannot be asked. Copy the file of its kubelet's --config from the host, and name it: relet convert ${node.name} --local FILE`,
    );
  try {
    return convertToOverlay(text, local, { minor, pinned: node.pinnedByFlags ?? [] });
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new CannotRun(
      `${node.name} is assigned a config that cannot be read (${error.message}); correct it with 'relet edit ${node.name}'`,
    );
  }
}

/** Notes for a person when a verb builds on the assigned payload. */
export function notesOnStart({ node }: NodeNow, start: string | undefined): string[] {
  if (start === undefined || isOverlay(start)) return [];
  return [
    `it is assigned a whole config, which hides its local file; 'relet convert ${node.name}' makes an overlay of it.`,
  ];
}

/** The assigned payload failed on the node, and the new one keeps what may be the reason. */
export function warningsOnFailed(now: NodeNow, text: string | undefined): string[] {
  const { node, assigned } = now;
  const state = configState(node);
  if ((state !== 'rejected' && state !== 'rolled back') || text === undefined || assigned.text === undefined) return [];
  const reason = errorText(node.status.error ?? '', node.condition);
  const failed = `the kubelet of ${node.name} ${state} the assigned config (${reason})`;
  if (!isOverlay(assigned.text) || !isOverlay(text))
    return [`${failed}, and this change builds on it. To drop it: relet reset ${node.name}`];
  const kept = keptStatements(assigned.text, text, now.minor);
  if (kept.length === 0) return [];
  const [what, it] = [kept.map(({ words }) => words).join(', '), kept.length === 1 ? 'it' : 'them'];
  const drop = kept.map(({ path }) => `${path}-`).join(' ');
  return [`${failed}, and this change keeps what it sets: ${what}. To drop ${it}: relet set ${node.name} ${drop}`];
}

/** Statements that both overlays have. */
function keptStatements(old: string, next: string, minor: Minor): { path: string; words: string }[] {
  try {
    const [before, after] = [readOverlay(old, minor), readOverlay(next, minor)];
    const changed = new Set(previewOverlays({ before, after }, minor).changes.map(({ path }) => path));
    const set = leavesOf(before.config, shapeOf(minor)).map((parts) => {
      const value = parts.reduce<unknown>((inner, part) => (inner as KubeletConfig)[part], before.config);
      const path = formatPath(parts, minor);
      return { path, words: `${path}: ${shown(value)}` };
    });
    const unset = before.unset.map((path) => ({ path, words: `${path} (unset)` }));
    return [...set, ...unset].filter(({ path }) => !changed.has(path));
  } catch (error) {
    if (error instanceof DecodeError) return [];
    throw error;
  }
}

/** Config that a node is to get. */
export type Target =
  | { kind: 'local' }
  /** A ConfigMap is made of it, named by its content. */
  | { kind: 'new'; text: string }
  | { kind: 'stored'; source: NodeConfigSource; text: string; configMap?: ConfigMap };

/** No text: an overlay without fields, which is the local config. */
export const newTarget = (text: string | undefined): Target =>
  text === undefined ? { kind: 'local' } : { kind: 'new', text };

export interface RequestedChange {
  now: NodeNow;
  target: Target;
  /** Notes for a person, one sentence each. */
  notes?: string[];
  /** The same, before the difference: what probably goes wrong. */
  warnings?: string[];
  /** The verb found nothing to change. */
  isNothing?: boolean;
  /** With local: relet is to leave the host as well. */
  detach?: true;
  /** Text that is printed if nothing changes, in place of the usual one. */
  already?: string;
}

export interface PlanOptions {
  /** Before the hash, and the key, of a new ConfigMap. */
  name?: string;
  key?: string;
  /** False leaves validation to the node. */
  validate?: boolean;
  /** The SSH key that signs new ConfigMaps, once the change is confirmed. */
  sign?: string;
}

export interface PlannedChange extends NodeChange {
  now: NodeNow;
  /** Undefined: what runs now, or what the change makes of it, is not known. */
  preview: Preview | undefined;
  notes: string[];
  warnings: string[];
}

const textOf = (target: Target): string | undefined => (target.kind === 'local' ? undefined : target.text);

/** The node is assigned that already: the same ConfigMap, or one of the same meaning. */
export function isUnchanged({
  now: { node, assigned, minor },
  target,
  isNothing = false,
  detach,
}: RequestedChange): boolean {
  if (isNothing) return true;
  if (node.unset || detach) return false;
  if (target.kind === 'stored') return sameConfig(refOf(node.configSource), refOf(target.source), 'name');
  const isKnown = assigned.problem === undefined;
  try {
    return isKnown && sameMeaning(assigned.text, textOf(target), minor);
  } catch (error) {
    if (error instanceof DecodeError) return false;
    throw error;
  }
}

/** Throws if the node's kubelet would not run with it. */
export function planChange({ namespace }: Session, wish: RequestedChange, options: PlanOptions): PlannedChange {
  const { now, target } = wish;
  const text = textOf(target);
  if (options.validate !== false && text !== undefined) rejectErrors(wish, text);
  const { preview, pinned, bugs = [] } = previewOf(now, text);
  const losesGpus = mayLoseGpus(now.node, now.facts);
  const place = destination(target, namespace, options);
  return {
    ...place,
    detach: wish.detach,
    node: now.node,
    owed: preview && owedBy(preview, now.facts),
    needs: [...(preview ? acceptNeeded(preview) : []), ...(losesGpus ? ['daemon-reload' as const] : [])],
    now,
    preview,
    notes: notesOn(wish, preview, pinned),
    warnings: [
      ...(wish.warnings ?? []),
      ...bugs,
      ...failedBefore(now.node, place.to),
      ...(losesGpus ? [gpuWarning] : []),
      ...signatureWarnings(now, target.kind === 'stored' ? target.configMap : place.configMap, options),
    ],
  };
}

const gpuWarning =
  'the node has GPUs, and its agent reloads systemd for the change (daemon-reload): with an older NVIDIA container toolkit, running containers lose their GPUs then, and have to be started again.';

/** The history shows that the node had this config, and that it failed. */
function failedBefore(node: ConfiguredNode, to: NodeConfigSource | undefined): string[] {
  const failed = failureOf(readHistory(node), formatRef(refOf(to), 'short'));
  if (failed === undefined) return [];
  const reason = failed.message ?? failed.reason ?? failed.outcome;
  const did = failed.outcome === 'rejected' ? 'rejected this config' : 'rolled this config back';
  return [`${node.name} ${did} before (${reason}); 'relet reset ${node.name}' returns to its local config.`];
}

/** Undefined: the local config, which needs no signature. With --sign, what is signed is checked before it is written. */
function signatureWarnings({ node, assigned }: NodeNow, next: ConfigMap | undefined, { sign }: PlanOptions): string[] {
  if (next === undefined) return [];
  const nowMs = Date.now();
  const had = readHistory(node).some(({ to }) => parseRef(to)?.name === next.metadata.name);
  const rejection = sign === undefined ? signatureRejection(next, node.signing, { nowMs, had }) : undefined;
  if (rejection !== undefined)
    return [
      `its host would reject this config (${rejection.reason}): ${rejection.message}. --sign KEY signs a new config; 'relet push FILE --sign KEY' adds a signature to one that is stored`,
    ];
  const back = assigned.configMap && returnRejection(assigned.configMap, next, node.signing, { nowMs });
  return back === undefined
    ? []
    : [`'relet undo ${node.name}' would be rejected afterwards (${back.reason}): ${back.message}`];
}

function destination(
  target: Target,
  namespace: string,
  { name = defaultName, key = defaultKey }: PlanOptions,
): { to: NodeConfigSource | undefined; configMap?: ConfigMap } {
  if (target.kind === 'local') return { to: undefined };
  if (target.kind === 'stored') return { to: nodeConfigSource(refOf(target.source)!) };
  const configMap = newConfigMap({ name, namespace, key, bytes: Buffer.from(target.text) });
  return { configMap, to: sourceOf(configMap, key) };
}

interface Previewed {
  preview: Preview | undefined;
  /** Fields that would change, if flags of the kubelet did not set them. */
  pinned: string[];
  /** Known bugs of this kubelet that the change would trigger, where both configs are known. */
  bugs?: string[];
}

function previewOf(now: NodeNow, text: string | undefined): Previewed {
  const { active: before, activeText, local, minor, facts, node } = now;
  const flags = node.pinnedByFlags ?? [];
  let after: KubeletConfig | undefined;
  try {
    after = documentOf(text, local, minor);
  } catch (error) {
    // The node validates it; only with --no-validate does it get this far.
    if (!(error instanceof DecodeError)) throw error;
    return { preview: undefined, pinned: [] };
  }
  const isPinned = ({ path }: { path: string }) => flags.some((flag) => isWithin(path, flag));
  if (before === undefined || after === undefined) {
    const [old, next] = [activeText, text].map((one) => overlayOf(one, now));
    if (old === undefined || next === undefined) return { preview: undefined, pinned: [] };
    const { changes } = previewOverlays({ before: old, after: next, running: before }, minor);
    const preview = summarize(changes.filter((change) => !isPinned(change)));
    return { preview, pinned: changes.filter(isPinned).map(({ path }) => path) };
  }
  // A change that has no effect does nothing to pods either.
  const effective = flags
    .filter((path) => path !== 'featureGates')
    .reduce((document, path) => withSetting(document, { path: path.split('.'), value: getField(before, path) }), after);
  const kubelet = { minor, patch: parsePatch(node.kubeletVersion) };
  const known = bugWarnings(before, kubelet);
  return {
    preview: previewChanges({ before, after: effective, minor, facts }),
    bugs: bugWarnings(effective, kubelet).filter((bug) => !known.includes(bug)),
    pinned: diff(before, after, minor)
      .filter(isPinned)
      .map(({ path }) => path),
  };
}

/** An empty one for local. Undefined for a whole config, and for one that the API no longer has. */
function overlayOf(text: string | undefined, { minor }: NodeNow) {
  if (text === undefined) return { config: {}, unset: [] };
  return isOverlay(text) ? readOverlay(text, minor) : undefined;
}

/** Notes to read before a confirmation, as far as the node shows them. */
function notesOn({ now, notes = [] }: RequestedChange, preview: Preview | undefined, pinned: string[]): string[] {
  const { node, facts } = now;
  const found = [...notes];
  if (preview === undefined) found.push(`${whyNoPreview(now)}, so the difference cannot be shown.`);
  if (pinned.length > 0)
    found.push(`a flag of the kubelet pins ${pinned.join(', ')}; this change will have no effect on it.`);
  if (facts.pods === undefined && preview !== undefined && preview.changes.length > 0)
    found.push('its pods could not be listed, so those that the change affects are not named.');
  if (node.reports && preview !== undefined && configState(node) === 'waiting')
    found.push('it does not run its assigned config yet; the difference is to what it runs.');
  if (!node.reports) found.push("nothing there has reported about its config yet: is 'relet kubelet' running on it?");
  return found;
}

const whyNoPreview = ({ active, local }: NodeNow): string =>
  active === undefined
    ? 'what it runs now is not known here: its agent does not report it, and its kubelet cannot be asked (nodes/proxy)'
    : local === undefined
      ? 'its local config is a file on the host that its agent does not report'
      : 'the new config cannot be read';

function rejectErrors({ now, notes = [], warnings = [] }: RequestedChange, text: string): void {
  const { node } = now;
  const errors = acceptanceErrors(text, kubeletOf(now));
  if (errors.length === 0) return;
  throw new CannotRun(
    `the kubelet of ${node.name} (${node.kubeletVersion || 'version unknown'}) would not run with that, so nothing was changed:\n${[errorLines(errors), ...warnings.map((words) => `Warning: ${words}`), ...notes.map((words) => `Note: ${words}`)].join('\n')}`,
  );
}

/**
 * Decides whether the config of a set may be rolled out: the field policies of the cluster allow it, the kubelets of its nodes accept
 * it, and its impact is within what the spec accepts. Nodes with the same kubelet minor, local config, present config and policies are
 * one case. Pure.
 */

import { type Owed, owedActions } from '../api/node-annotations.js';
import type { LocalConfig } from '../api/node-config.js';
import type { SetImpact } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { DecodeError } from '../config/decode.js';
import { readAhead } from '../config/document.js';
import { encode } from '../config/encode.js';
import { type LocalFile, mergeLocal, mergeOverlay } from '../config/merge.js';
import { type KubeletConfig, type Minor, newestMinor, type Overlay, parseMinor } from '../config/model.js';
import type { NodeFacts } from '../config/node-facts.js';
import { isOverlay } from '../config/overlay.js';
import { acceptanceErrors } from '../fleet/acceptance.js';
import { type PolicedNode, type PolicyRejection, policyRejections, rejectionText } from '../fleet/field-policies.js';
import { documentOf, readOverlay } from '../fleet/payload.js';
import { type FieldChange, isOpen, owedBy, type Preview, previewChanges, previewOverlays } from '../fleet/preview.js';
import { shorten } from '../shorten.js';
import { oneLine } from '../visible-text.js';
import type { Stalled } from './plan.js';
import { list } from './sentences.js';

/** Equal nodes, of which one stands for all. */
export interface NodeCase {
  names: string[];
  /** Labels of one of them: the same policies select the others. */
  labels: Record<string, string>;
  kubeletVersion: string;
  /** Undefined if the agent does not report it. */
  local: LocalConfig | undefined;
  /** The payload it has now; undefined: local. */
  before: string | undefined;
  /** A switch reloads systemd, and containers may lose their GPUs by that. */
  mayLoseGpus: boolean;
}

const accepts: Record<SetImpact, string> = {
  Drain: 'drain',
  StateFile: 'state-file',
  Reboot: 'reboot',
  DaemonReload: 'daemon-reload',
};
/** As the spec spells what --accept names. */
export const impactNames: Record<string, string> = Object.fromEntries(
  Object.entries(accepts).map(([name, needs]) => [needs, name]),
);

/** A field whose change needs more than the spec accepts. */
type OpenChange = Pick<FieldChange, 'path' | 'needs'>;

/** Problem of the config on such nodes, and actions left to do on them afterwards. */
export interface CaseAnswer {
  denied: readonly PolicyRejection[];
  /** The error of their kubelet. */
  invalid: string | undefined;
  open: readonly OpenChange[];
  /** A switch may take their GPUs, and that is not accepted. */
  losesGpus: boolean;
  owed: Omit<Owed, 'at'> | undefined;
}

export interface CaseQuestion {
  text: string;
  policies: readonly KubeObject[];
  accept: readonly SetImpact[];
}

/** `turn` lets others have the event loop between the parts: a node and an author choose how large they are. */
export async function answerFor(
  { text, policies, accept }: CaseQuestion,
  one: NodeCase,
  turn: () => Promise<void>,
): Promise<CaseAnswer> {
  readAhead(text, minorOf(one));
  await turn();
  const merged = isOverlay(text) ? mergedText(text, one) : undefined;
  await turn();
  if (merged !== undefined) readAhead(merged, minorOf(one));
  await turn();
  const denied: PolicyRejection[] = [];
  for (const policy of policies) {
    denied.push(...policyRejections([policy], text, [policed(one)]));
    await turn();
  }
  const invalid = validationError(text, one);
  await turn();
  const compared = invalid === undefined ? comparedOf(text, one) : undefined;
  await turn();
  const preview = compared && previewIn(compared);
  const allowed = accept.map((impact) => accepts[impact]);
  const isOver = (change: FieldChange) => change.needs === 'never' || isOpen(change, allowed);
  const open = (preview?.changes ?? []).filter(isOver).map(({ path, needs }) => ({ path, needs }));
  const losesGpus = one.mayLoseGpus && !accept.includes('DaemonReload');
  await turn();
  return { denied, invalid, open, losesGpus, owed: preview && owedBy(preview) };
}

const policed = (one: NodeCase): PolicedNode => ({
  name: one.names[0]!,
  labels: one.labels,
  minor: minorOf(one),
  localFiles: filesOf(one),
  // Not kept: a config that a flag overrides is the host's to reject.
  flags: undefined,
});

/** Answers, and the nodes that they are about; without names the message is about one node that is named elsewhere. */
export interface Answered {
  names: readonly string[];
  answer: CaseAnswer;
}

export type CaseProblem = Stalled & { kind: 'fieldPolicy' | 'invalidConfig' | 'impact' };

/** Problem of the config on these nodes: not allowed comes before invalid, and invalid before not accepted. */
export function problemOf(answered: readonly Answered[]): CaseProblem | undefined {
  return policyProblem(answered) ?? invalidProblem(answered) ?? impactProblem(answered);
}

/** Every policy, field and bound that stops it, with some of the nodes. */
function policyProblem(answered: readonly Answered[]): CaseProblem | undefined {
  const found = new Map<string, PolicyRejection>();
  for (const { names, answer } of answered)
    for (const one of answer.denied) {
      const key = JSON.stringify([one.policy, one.message]);
      found.set(key, { ...one, nodes: [...(found.get(key)?.nodes ?? []), ...names] });
    }
  if (found.size === 0) return undefined;
  return { kind: 'fieldPolicy', message: shorten([...found.values()].map(rejectionText).join('; '), 1000) };
}

function invalidProblem(answered: readonly Answered[]): CaseProblem | undefined {
  const first = answered.find(({ answer }) => answer.invalid !== undefined);
  if (first === undefined) return undefined;
  const names = first.names.length === 0 ? '' : `${list(first.names)}: `;
  return { kind: 'invalidConfig', message: oneLine(shorten(`${names}${first.answer.invalid}`, 1000)) };
}

function impactProblem(answered: readonly Answered[]): CaseProblem | undefined {
  const gpus = answered.find(({ answer }) => answer.losesGpus);
  if (gpus !== undefined) {
    const names = gpus.names.length === 0 ? '' : `${list(gpus.names)}: `;
    const message = `${names}a switch reloads systemd, and running containers may lose their GPUs; accept: [DaemonReload] allows it`;
    return { kind: 'impact', message };
  }
  const first = answered.find(({ answer }) => answer.open.length > 0);
  if (first === undefined) return undefined;
  const fields = [...new Map(answered.flatMap(({ answer }) => answer.open.map((one) => [one.path, one]))).values()];
  const named = fields.map(({ path, needs }) => `${path} (${impactNames[needs] ?? needs})`);
  const where = `${list(named, 10)}${first.names.length === 0 ? '' : ` on ${list(first.names)}`}`;
  const never = fields.find(({ needs }) => needs === 'never');
  const remedy =
    never === undefined
      ? `accept: [${[...new Set(fields.map(({ needs }) => impactNames[needs]))].join(', ')}] allows it`
      : `${never.path} cannot be changed on a live node`;
  return { kind: 'impact', message: oneLine(`${where}; ${remedy}`) };
}

/** Actions left to do on such a node after the change. `turn` as for answerFor. */
export async function owedOf(
  text: string | undefined,
  one: NodeCase,
  turn: () => Promise<void>,
): Promise<Omit<Owed, 'at'> | undefined> {
  const preview = await previewOf(text, one, turn);
  return preview && owedBy(preview);
}

/** `maybe`: that depends on the pods of the node, or on its local config, which are not known. */
export type DrainNeed = 'no' | 'maybe' | 'yes';

/** Whether such a node must be empty before the change: by its fields, their direction, and what runs there. `turn` as for answerFor. */
export async function drainNeed(
  text: string | undefined,
  one: NodeCase,
  turn: () => Promise<void>,
  facts?: NodeFacts,
): Promise<DrainNeed> {
  const changes = (await previewOf(text, one, turn, facts))?.changes ?? [];
  if (changes.some((change) => isOpen(change, []))) return 'yes';
  return changes.some(({ mayNeed = '' }) => owed.has(mayNeed)) ? 'maybe' : 'no';
}

const owed: ReadonlySet<string> = new Set(owedActions);

const minorOf = ({ kubeletVersion }: NodeCase): Minor => parseMinor(kubeletVersion) ?? newestMinor;

const filesOf = ({ local }: NodeCase): LocalFile[] | undefined =>
  local?.files.map(({ path, dropIn, config }) => ({ path, text: encode(config), ...(dropIn && { dropIn }) }));

/** The document that policies and validation read; undefined if there is none, which they report. */
function mergedText(overlay: string, one: NodeCase): string | undefined {
  try {
    return mergeOverlay({ minor: minorOf(one), local: filesOf(one) ?? [], overlay, strict: false }).text;
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

/** If the local config is not known, the payload is validated over the defaults of the kubelet. */
function validationError(text: string, one: NodeCase): string | undefined {
  const minor = minorOf(one);
  try {
    const { config: local } = mergeLocal({ minor, local: filesOf(one) ?? [] });
    return acceptanceErrors(text, { minor, local, countsLocal: true })[0]?.message;
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
}

async function previewOf(
  text: string | undefined,
  one: NodeCase,
  turn: () => Promise<void>,
  facts?: NodeFacts,
): Promise<Preview | undefined> {
  for (const payload of [one.before, text]) {
    if (payload !== undefined) readAhead(payload, minorOf(one));
    await turn();
  }
  const compared = comparedOf(text, one);
  await turn();
  return compared && previewIn(compared, facts);
}

/** Both sides of a change: as documents or, where the local config is not known, as overlays. */
type Compared =
  | { minor: Minor; before: KubeletConfig; after: KubeletConfig }
  | { minor: Minor; overlays: { before: Overlay; after: Overlay } };

/** Undefined if the config that the node has cannot be compared. */
function comparedOf(text: string | undefined, one: NodeCase): Compared | undefined {
  const minor = minorOf(one);
  const files = filesOf(one);
  try {
    const local = files && mergeLocal({ minor, local: files }).config;
    const [before, after] = [documentOf(one.before, local, minor), documentOf(text, local, minor)];
    if (before !== undefined && after !== undefined) return { minor, before, after };
    if (text !== undefined && !isOverlay(text)) return undefined;
    const overlayIn = (payload: string | undefined) =>
      payload !== undefined && isOverlay(payload) ? readOverlay(payload, minor) : nothing;
    return { minor, overlays: { before: overlayIn(one.before), after: overlayIn(text) } };
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

const previewIn = (compared: Compared, facts?: NodeFacts): Preview =>
  'overlays' in compared
    ? previewOverlays(compared.overlays, compared.minor)
    : previewChanges({ ...compared, ...(facts && { facts }) });

const nothing: Overlay = { config: {}, unset: [] };

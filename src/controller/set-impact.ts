/**
 * Whether the config of a set may be rolled out: the field policies of the cluster allow it, the kubelets of its nodes accept it, and it
 * needs no more than the spec accepts. Nodes with the same kubelet minor, local config, present config and policies are one case. Pure.
 */

import { type Owed, owedActions } from '../api/node-annotations.js';
import type { LocalConfig } from '../api/node-config.js';
import type { SetImpact } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { check } from '../config/check.js';
import { checkOverlay } from '../config/check-overlay.js';
import { DecodeError } from '../config/decode.js';
import { encode } from '../config/encode.js';
import { type LocalFile, mergeLocal } from '../config/merge.js';
import { type Minor, newestMinor, parseMinor } from '../config/model.js';
import type { NodeFacts } from '../config/node-facts.js';
import { isOverlay } from '../config/overlay.js';
import { policyRejections, rejectionText } from '../fleet/field-policies.js';
import { documentOf, readOverlay } from '../fleet/payload.js';
import { isOpen, owedBy, type Preview, previewChanges, previewOverlays } from '../fleet/preview.js';
import { shorten } from '../shorten.js';
import { oneLine } from '../visible-text.js';
import type { Stalled } from './set-plan.js';
import { list } from './set-sentences.js';

/** Equal nodes, of which one stands for all. */
export interface NodeCase {
  names: string[];
  /** Of one of them: the same policies select the others. */
  labels: Record<string, string>;
  kubeletVersion: string;
  /** Undefined where the agent does not report it. */
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

export function configProblem(
  text: string,
  cases: readonly NodeCase[],
  accepted: readonly SetImpact[],
): Stalled | undefined {
  for (const one of cases) {
    const wrong = validationError(text, one);
    if (wrong !== undefined)
      return { kind: 'invalidConfig', message: oneLine(shorten(`${list(one.names)}: ${wrong}`, 1000)) };
  }
  const changes = cases.flatMap((one) => (previewOf(text, one)?.changes ?? []).map((change) => ({ one, change })));
  const allowed = accepted.map((one) => accepts[one]);
  const open = changes.filter(({ change }) => change.needs === 'never' || isOpen(change, allowed));
  const gpus = accepted.includes('DaemonReload') ? undefined : cases.find(({ mayLoseGpus }) => mayLoseGpus);
  if (gpus !== undefined)
    return {
      kind: 'impact',
      message: `${list(gpus.names)}: a switch reloads systemd, and running containers may lose their GPUs; accept: [DaemonReload] allows it`,
    };
  const [first] = open;
  if (first === undefined) return undefined;
  const fields = new Map(open.map(({ change }) => [change.path, change]));
  const named = [...fields.values()].map(({ path, needs }) => `${path} (${impactNames[needs] ?? needs})`);
  const where = `${list(named, 10)} on ${list(first.one.names)}`;
  const never = [...fields.values()].find(({ needs }) => needs === 'never');
  const remedy =
    never === undefined
      ? `accept: [${[...new Set([...fields.values()].map(({ needs }) => impactNames[needs]))].join(', ')}] allows it`
      : `${never.path} cannot be changed on a live node`;
  return { kind: 'impact', message: oneLine(`${where}; ${remedy}`) };
}

/** Every policy, field and bound that stops it, with some of the nodes. */
export function policyProblem(
  policies: readonly KubeObject[],
  text: string,
  cases: readonly NodeCase[],
): Stalled | undefined {
  const nodes = cases.map((one) => ({
    name: one.names[0]!,
    labels: one.labels,
    minor: minorOf(one),
    localFiles: filesOf(one),
    // Not kept: a config that a flag overrides is the host's to reject.
    flags: undefined,
  }));
  const alike = new Map(cases.map(({ names }) => [names[0], names]));
  const rejections = policyRejections(policies, text, nodes).map((one) =>
    rejectionText({ ...one, nodes: one.nodes.flatMap((name) => alike.get(name)!) }),
  );
  if (rejections.length === 0) return undefined;
  return { kind: 'fieldPolicy', message: shorten(rejections.join('; '), 1000) };
}

/** What is left to do on such a node after the change. */
export function owedOf(text: string | undefined, one: NodeCase): Omit<Owed, 'at'> | undefined {
  const preview = previewOf(text, one);
  return preview && owedBy(preview);
}

/** `maybe`: that depends on the pods of the node, or on its local config, which are not known. */
export type DrainNeed = 'no' | 'maybe' | 'yes';

/** Whether such a node must be empty before the change: by its fields, their direction, and what runs there. */
export function drainNeed(text: string | undefined, one: NodeCase, facts?: NodeFacts): DrainNeed {
  const changes = previewOf(text, one, facts)?.changes ?? [];
  if (changes.some((change) => isOpen(change, []))) return 'yes';
  return changes.some(({ mayNeed = '' }) => owed.has(mayNeed)) ? 'maybe' : 'no';
}

const owed: ReadonlySet<string> = new Set(owedActions);

const minorOf = ({ kubeletVersion }: NodeCase): Minor => parseMinor(kubeletVersion) ?? newestMinor;

const filesOf = ({ local }: NodeCase): LocalFile[] | undefined =>
  local?.files.map(({ path, dropIn, config }) => ({ path, text: encode(config), ...(dropIn && { dropIn }) }));

function validationError(text: string, one: NodeCase): string | undefined {
  const minor = minorOf(one);
  const { message, findings } = isOverlay(text)
    ? checkOverlay(text, { minor, local: filesOf(one) ?? [] })
    : check(text, { minor });
  if (message === '') return undefined;
  return findings.find(({ severity }) => severity === 'error')?.message ?? message;
}

/** Undefined where the config that the node has cannot be compared. */
function previewOf(text: string | undefined, one: NodeCase, facts?: NodeFacts): Preview | undefined {
  const minor = minorOf(one);
  const files = filesOf(one);
  try {
    const local = files && mergeLocal({ minor, local: files }).config;
    const [before, after] = [documentOf(one.before, local, minor), documentOf(text, local, minor)];
    if (before !== undefined && after !== undefined)
      return previewChanges({ before, after, minor, ...(facts && { facts }) });
    if (text !== undefined && !isOverlay(text)) return undefined;
    const overlayIn = (payload: string | undefined) =>
      payload !== undefined && isOverlay(payload) ? readOverlay(payload, minor) : nothing;
    return previewOverlays({ before: overlayIn(one.before), after: overlayIn(text) }, minor);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

const nothing = { config: {}, unset: [] };

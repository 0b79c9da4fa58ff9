/**
 * Whether the config of a set may be rolled out: the field policies of the cluster allow it, the kubelets of its nodes accept it, and it
 * needs no more than the spec accepts. Nodes with the same kubelet minor, local config, present config and policies are one case. Pure.
 */
import type { LocalConfig } from '../api/node-config.js';
import type { SetImpact } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import type { Owed } from '../api/owed.js';
import { check } from '../config/check.js';
import { checkOverlay } from '../config/check-overlay.js';
import { DecodeError } from '../config/decode.js';
import { encode } from '../config/encode.js';
import { type LocalFile, mergeLocal } from '../config/merge.js';
import { type Minor, newestMinor, parseMinor } from '../config/model.js';
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

export interface Allowed {
  accept: readonly SetImpact[];
  /** Somebody else drains the nodes: relet does not yet. */
  neverDrains: boolean;
}

export function configProblem(
  text: string,
  cases: readonly NodeCase[],
  { accept: accepted, neverDrains }: Allowed,
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
  const undrained = neverDrains ? [] : changes.filter(({ change }) => isOpen(change, []));
  const [first] = open.length > 0 ? open : undrained;
  if (first === undefined) return undefined;
  const fields = new Map((open.length > 0 ? open : undrained).map(({ change }) => [change.path, change]));
  const named = [...fields.values()].map(({ path, needs }) => `${path} (${impactNames[needs] ?? needs})`);
  const where = `${list(named, 10)} on ${list(first.one.names)}`;
  if (open.length === 0)
    return {
      kind: 'impact',
      message: oneLine(
        `${where}; relet does not drain nodes yet: drain them, then strategy.drain.policy: Never allows it`,
      ),
    };
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
export function owedOf(text: string, one: NodeCase): Omit<Owed, 'at'> | undefined {
  const preview = previewOf(text, one);
  return preview && owedBy(preview);
}

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
function previewOf(text: string, one: NodeCase): Preview | undefined {
  const minor = minorOf(one);
  const files = filesOf(one);
  try {
    const local = files && mergeLocal({ minor, local: files }).config;
    const [before, after] = [documentOf(one.before, local, minor), documentOf(text, local, minor)];
    if (before !== undefined && after !== undefined) return previewChanges({ before, after, minor });
    if (!isOverlay(text)) return undefined;
    const old = one.before !== undefined && isOverlay(one.before) ? readOverlay(one.before, minor) : nothing;
    return previewOverlays({ before: old, after: readOverlay(text, minor) }, minor);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

const nothing = { config: {}, unset: [] };

/**
 * Turns the failed checks of an audit into one overlay per pool, so that each node restarts its kubelet once. Leaves out, with the
 * reason, fixes that a person must decide, fields that a kubelet flag pins, and values with which the forecast says the kubelet would
 * not start. Pure.
 */
import { check as checkConfig } from '../config/check.js';
import { encode } from '../config/encode.js';
import { isWithin, leavesOf } from '../config/field-path.js';
import { existsIn, fieldAt } from '../config/fields.js';
import { header } from '../config/header.js';
import { type KubeletConfig, newestMinor } from '../config/model.js';
import { withSetting } from '../config/set-field.js';
import { shapeOf } from '../config/shape.js';
import type { EffectiveFleet } from '../fleet/effective-configs.js';
import type { EffectiveDocument } from '../fleet/effective-document.js';
import { type AuditReport, type Finding, isOpen } from './audit.js';
import { checks } from './checks.js';

export interface Remediation {
  pool: string;
  nodes: string[];
  /** A set that has the nodes already. */
  set?: string;
  /** Labels that exactly these nodes have; undefined if none does. */
  labels: Record<string, string> | undefined;
  /** Empty if nothing can be fixed. */
  overlay: KubeletConfig;
  /** Checks that it makes pass. */
  fixes: string[];
  left: { check: string; why: string }[];
}

export function remediate(fleet: EffectiveFleet, { findings }: AuditReport, by?: string): Remediation[] {
  const failing = findings.filter(isOpen);
  const pools = [...new Set(failing.map(({ pool }) => pool))];
  return pools.map((pool) =>
    remediatePool(
      fleet,
      pool,
      failing.filter((one) => one.pool === pool),
      by,
    ),
  );
}

function remediatePool(fleet: EffectiveFleet, pool: string, failing: readonly Finding[], by?: string): Remediation {
  const nodes = [...new Set(failing.flatMap((one) => one.nodes))];
  const members = fleet.nodes.filter(({ name }) => nodes.includes(name));
  const documents = [...new Set(members.map(({ document }) => document))].map((id) => fleet.documents.get(id)!);
  const left: Remediation['left'] = [];
  const fixes: string[] = [];
  let overlay: KubeletConfig = {};
  for (const key of new Set(failing.map(({ check }) => check))) {
    const { fix, byHand } = checks.find((check) => check.key === key)!;
    const next = fix && settingsOf(fix).reduce((config, setting) => withSetting(config, setting), overlay);
    const why =
      fix === undefined ? byHand! : documents.map((one) => obstacle(one, fix, next!)).find((one) => one !== undefined);
    if (why !== undefined) left.push({ check: key, why });
    else {
      overlay = next!;
      fixes.push(key);
    }
  }
  const sets = new Set(members.flatMap(({ set }) => set ?? []));
  return {
    pool,
    nodes,
    ...(sets.size > 0 && { set: [...sets].join(', ') }),
    labels: labelsOf(fleet, nodes, by),
    overlay,
    fixes,
    left,
  };
}

const settingsOf = (fix: KubeletConfig) =>
  leavesOf(fix, shapeOf(newestMinor)).map((path) => ({
    path,
    value: path.reduce<unknown>((inner, part) => (inner as KubeletConfig)[part], fix),
  }));

/** Why the fix cannot be made on a node with this document; undefined if it can. */
function obstacle(document: EffectiveDocument, fix: KubeletConfig, overlay: KubeletConfig): string | undefined {
  const { minor, origins, flags } = document;
  const settings = settingsOf(fix);
  for (const { path } of settings) {
    const name = path[0] === 'featureGates' ? 'featureGates' : path.join('.');
    const field = fieldAt(name);
    if (field === undefined || !existsIn(field, minor)) return `kubelet 1.${minor} has no field ${name}`;
    if (origins[name]?.startsWith('flag ')) return `${origins[name]} of the kubelet pins it; change the command line`;
    if (flags === undefined && origins[name] === 'set' && field.flag !== undefined)
      return `it is set, and /configz does not show whether by the flag --${field.flag}, which an overlay cannot change`;
  }
  const forecast = errorsOf(document, overlay).find(({ path }) => settings.some((one) => isWithin(path, one.path[0]!)));
  return forecast && `the kubelet would not start: ${forecast.message}`;
}

/** Errors that the config has with the overlay, and does not have without it. */
function errorsOf({ config, minor }: EffectiveDocument, overlay: KubeletConfig) {
  const errors = (document: KubeletConfig) =>
    checkConfig(encode({ ...header, ...document }), { minor, lenient: true }).findings.filter(
      ({ severity }) => severity === 'error',
    );
  const changed = settingsOf(overlay).reduce((document, setting) => withSetting(document, setting), config);
  const before = errors(config).map(({ path, message }) => `${path} ${message}`);
  return errors(changed).filter(({ path, message }) => !before.includes(`${path} ${message}`));
}

/** One label that all of these nodes have, with one value, and no other node. */
function labelsOf(fleet: EffectiveFleet, nodes: readonly string[], by: string | undefined) {
  const all = [...fleet.nodes, ...fleet.unread];
  const mine = all.filter(({ name }) => nodes.includes(name));
  const fits = ([key, value]: [string, string]) =>
    mine.every(({ labels }) => labels[key] === value) &&
    all.filter(({ labels }) => labels[key] === value).length === mine.length;
  const candidates = Object.entries(mine[0]?.labels ?? {})
    .filter(([key]) => (by === undefined ? key !== 'kubernetes.io/hostname' : key === by))
    .sort(([a], [b]) => Number(isBuiltIn(a)) - Number(isBuiltIn(b)) || (a < b ? -1 : 1));
  const found = candidates.find(fits);
  return found && { [found[0]]: found[1] };
}

const isBuiltIn = (key: string): boolean => /kubernetes\.io\//.test(key);

/** A set in waves, one node first. */
export const remediationSet = ({ pool, labels, overlay }: Remediation): object => ({
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: {
    name: `audit-${pool
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 40)}`,
  },
  spec: {
    selector: { matchLabels: labels },
    config: { overlay },
    strategy: { waves: [{ nodes: 1 }, { nodes: '100%' }] },
  },
});

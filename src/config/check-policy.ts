/**
 * What a field policy does not allow in a payload, decided before any host has it. Pure.
 *
 *   overlay   may name only what the policy allows, also where the local config has the same value
 *   whole     may differ from the local config only where the policy allows it; where that is not known, it counts as an overlay
 *   bounds    hold for the result; where the local config is not known, for what the payload sets
 *   access    may be opened only where the policy allows it; where the local config is not known, the host decides
 */
import type { FieldPolicy } from '../api/field-policy.js';
import { check } from './check.js';
import { checkOverlay } from './check-overlay.js';
import { DecodeError } from './decode.js';
import { formatPath, isWithin, leavesOf } from './field-path.js';
import { boundObjections, type Objection, objections, openings, type Said, saidObjections } from './field-policy.js';
import { emptyDocument } from './header.js';
import { type LocalFile, mergeLocal } from './merge.js';
import { type KubeletConfig, knownMinor, type Minor } from './model.js';
import { isOverlay, readOverlay } from './overlay.js';
import { readPlain } from './plain-document.js';
import { shapeOf } from './shape.js';

export interface PolicyCheckOptions {
  minor: Minor;
  /** The files of the local config; undefined where they are not known. */
  local: readonly LocalFile[] | undefined;
  /** Arguments of the kubelet, as far as they are known. */
  flags?: readonly string[];
}

/** Nothing where the payload, or the local config, cannot be decoded: validation reports that. */
export function checkPolicy(
  policy: FieldPolicy,
  text: string,
  { minor, local, flags = [] }: PolicyCheckOptions,
): Objection[] {
  const options = { minor: knownMinor(minor), flags, lenient: true };
  const said = saidBy(text, options.minor);
  const base = local ?? [{ path: '/local', text: emptyDocument }];
  const { effective } = isOverlay(text) ? checkOverlay(text, { ...options, local: base }) : check(text, options);
  const localEffective = local === undefined ? {} : effectiveLocal(base, options);
  if (effective === undefined || localEffective === undefined) return [];
  if (local === undefined) {
    const isSaid = ({ field }: Objection) => said.sets.some((path) => isWithin(path, field));
    return [...saidObjections(policy, said), ...boundObjections(policy, effective).filter(isSaid)];
  }
  if (!isOverlay(text)) return objections(policy, effective, localEffective, options.minor);
  return [
    ...saidObjections(policy, said),
    ...boundObjections(policy, effective),
    ...(policy.openingAccess === 'allow' ? [] : openings(effective, localEffective)),
  ];
}

function effectiveLocal(local: readonly LocalFile[], options: { minor: Minor; flags: readonly string[] }) {
  try {
    return check(mergeLocal({ minor: options.minor, local }).text, { ...options, lenient: true }).effective;
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

function saidBy(text: string, minor: Minor): Said {
  if (isOverlay(text)) {
    const { config, unset } = readOverlay(text, { minor, strict: false }).overlay;
    return { sets: pathsIn(config, minor), unsets: unset };
  }
  const { apiVersion: _apiVersion, kind: _kind, ...config } = plainFields(text);
  return { sets: pathsIn(config, minor), unsets: [] };
}

const pathsIn = (config: KubeletConfig, minor: Minor): string[] =>
  leavesOf(config, shapeOf(minor)).map((parts) => formatPath(parts, minor));

function plainFields(text: string): KubeletConfig {
  try {
    return Object(readPlain(text));
  } catch {
    // Decoding reports what is wrong with the text.
    return {};
  }
}

/**
 * Checks a payload against a field policy before it is assigned to any host. Pure.
 *
 *   overlay   may name only what the policy allows, also where the local config has the same value
 *   whole     may differ from the local config only where the policy allows it; where that is not known, it counts as an overlay
 *   bounds    hold for the result; where the local config is not known, for what the payload sets
 *   access    may be opened only where the policy allows it; where the local config is not known, the host decides
 */
import type { FieldPolicy } from '../api/field-policy.js';
import { check } from './check.js';
import { checkOverlay } from './check-overlay.js';
import { type Decoded, DecodeError, decode } from './decode.js';
import { formatPath, isWithin, leavesOf } from './field-path.js';
import {
  boundObjections,
  type Objection,
  objections,
  openings,
  type WrittenPaths,
  writtenObjections,
} from './field-policy.js';
import { emptyDocument } from './header.js';
import { type LocalFile, mergeLocal } from './merge.js';
import { type KubeletConfig, knownMinor, type Minor, newestMinor } from './model.js';
import { isOverlay, readOverlay } from './overlay.js';
import { shapeOf } from './shape.js';

export interface PolicyCheckOptions {
  minor: Minor;
  /** The files of the local config; undefined if they are not known. */
  local: readonly LocalFile[] | undefined;
  /** Arguments of the kubelet, as far as they are known. */
  flags?: readonly string[];
}

/** Nothing if the payload cannot be decoded: validation rejects it. A local config that cannot be decoded is not known. */
export function checkPolicy(
  policy: FieldPolicy,
  text: string,
  { minor, local, flags = [] }: PolicyCheckOptions,
): Objection[] {
  const options = { minor: knownMinor(minor), flags, lenient: true };
  const localEffective = local && effectiveLocal(local, options);
  const base = local !== undefined && localEffective !== undefined ? local : [{ path: '/local', text: emptyDocument }];
  const { effective } = isOverlay(text) ? checkOverlay(text, { ...options, local: base }) : check(text, options);
  if (effective === undefined) return [];
  if (localEffective === undefined) {
    const written = writtenPaths(text, options.minor);
    const isWritten = ({ field }: Objection) => written.sets.some((path) => isWithin(path, field));
    return [...writtenObjections(policy, written), ...boundObjections(policy, effective).filter(isWritten)];
  }
  if (!isOverlay(text)) {
    // A kubelet that is newer than relet may know a field that relet does not.
    const sets = minor > newestMinor ? writtenPaths(text, options.minor).unknown : [];
    const unknown = writtenObjections(policy, { sets, unsets: [] });
    return [...objections(policy, effective, localEffective, options.minor), ...unknown];
  }
  return [
    ...writtenObjections(policy, writtenPaths(text, options.minor)),
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

function writtenPaths(text: string, minor: Minor): WrittenPaths & { unknown: readonly string[] } {
  if (isOverlay(text)) {
    const { config, unset } = readOverlay(text, { minor, strict: false }).overlay;
    return { sets: pathsIn(config, minor), unsets: unset, unknown: [] };
  }
  const { config, unknown } = decoded(text, minor);
  return { sets: [...pathsIn(config, minor), ...unknown], unsets: [], unknown };
}

const pathsIn = (config: KubeletConfig, minor: Minor): string[] =>
  leavesOf(config, shapeOf(minor)).map((parts) => formatPath(parts, minor));

function decoded(text: string, minor: Minor): Pick<Decoded, 'config' | 'unknown'> {
  try {
    return decode(text, { minor, strict: false });
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { config: {}, unknown: [] };
  }
}

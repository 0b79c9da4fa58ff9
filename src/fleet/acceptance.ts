/** Checks whether the kubelet of a node would accept a config. Commands, sets and the dashboard use this one check. Pure. */
import { check } from '../config/check.js';
import { checkOverlay } from '../config/check-overlay.js';
import { DecodeError } from '../config/decode.js';
import type { Finding, KubeletConfig, Minor } from '../config/model.js';
import { decodeOverlay, isOverlay } from '../config/overlay.js';
import { withSetting } from '../config/set-field.js';
import { asConfigText } from './config-text.js';
import { documentOf, localFile } from './payload.js';

export interface AcceptingKubelet {
  minor: Minor;
  /** The local config or, where it is not known, the nearest to it. Undefined: an overlay is checked alone. */
  local: KubeletConfig | undefined;
  /** Fields that flags set. */
  pinned?: readonly string[];
  /** Counts errors that the local config has alone too. A set leaves such a node out; a command may correct it field by field. */
  countsLocal?: boolean;
}

/**
 * The errors of a payload, with their lines. Leaves out those that the local config has alone, since the kubelet runs with that (unless
 * they count), and those about fields that a flag sets, since the flag wins.
 */
export function acceptanceErrors(
  text: string,
  { minor, local, pinned = [], countsLocal }: AcceptingKubelet,
): Finding[] {
  const errors = errorsOf(text, local, minor);
  if (errors.length === 0) return errors;
  const isIn = (others: Finding[]) => (error: Finding) =>
    others.some(({ path, message }) => error.path === path && error.message === message);
  // As many errors that are not listed may be other ones: they always count.
  const isCounted = ({ more }: Finding) => more !== undefined;
  const ofLocal =
    isOverlay(text) && local && !countsLocal ? errorsOf(asConfigText(local, minor), undefined, minor) : [];
  const found = errors.filter((error) => isCounted(error) || !isIn(ofLocal)(error));
  if (found.length === 0 || pinned.length === 0) return found;
  try {
    const document = documentOf(text, local, minor);
    if (document === undefined) return found;
    const rest = pinned.reduce((one, path) => withSetting(one, { path: path.split('.'), value: undefined }), document);
    const others = isIn(errorsOf(asConfigText(rest, minor), local, minor));
    return found.filter((error) => isCounted(error) || others(error));
  } catch (error) {
    if (error instanceof DecodeError) return found;
    throw error;
  }
}

/** Without the local config of a node only an overlay itself can be checked. */
function errorsOf(text: string, local: KubeletConfig | undefined, minor: number): Finding[] {
  const found = !isOverlay(text)
    ? check(text, { minor }).findings
    : local === undefined
      ? decodeErrors(text, minor)
      : checkOverlay(text, { minor, local: [localFile(local)] }).findings;
  return found.filter(({ severity }) => severity === 'error');
}

function decodeErrors(text: string, minor: number): Finding[] {
  try {
    return decodeOverlay(text, { minor, strictKeys: true }).findings;
  } catch (error) {
    if (error instanceof DecodeError) return error.findings;
    throw error;
  }
}

export const errorLines = (errors: readonly Finding[]): string =>
  errors
    .map(
      ({ path, message, remedy }) => `  ${path === '' ? '' : `${path}: `}${message}${remedy ? `\n    ${remedy}` : ''}`,
    )
    .join('\n');

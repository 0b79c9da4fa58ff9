/** The errors that the kubelet of a node would have with a text, and how they are printed. */
import { check } from '../../config/check.js';
import { checkOverlay } from '../../config/check-overlay.js';
import { DecodeError } from '../../config/decode.js';
import type { Finding, KubeletConfig } from '../../config/model.js';
import { decodeOverlay, isOverlay } from '../../config/overlay.js';
import { withSetting } from '../../config/set-field.js';
import { asConfigText } from '../../fleet/config-text.js';
import type { NodeConfigs } from '../../fleet/node-configs.js';
import { documentOf, localFile } from '../../fleet/payload.js';

/**
 * The errors of a text for this node's kubelet, with their lines. Not those that its local config has alone, since the kubelet runs
 * with that; nor those about fields that a flag sets, since the flag wins.
 */
export function errorsIn({ node, local: known, active, minor }: NodeConfigs, text: string): Finding[] {
  // Where the local config is not known, what runs is nearest to it.
  const local = known ?? active;
  const errors = errorsOf(text, local, minor);
  if (errors.length === 0) return errors;
  const isIn = (others: Finding[]) => (error: Finding) =>
    others.some(({ path, message }) => error.path === path && error.message === message);
  const ofLocal = isOverlay(text) && local ? errorsOf(asConfigText(local, minor), undefined, minor) : [];
  const found = errors.filter((error) => !isIn(ofLocal)(error));
  const pinned = node.pinnedByFlags ?? [];
  if (found.length === 0 || pinned.length === 0) return found;
  try {
    const document = documentOf(text, local, minor);
    if (document === undefined) return found;
    const rest = pinned.reduce((one, path) => withSetting(one, { path: path.split('.'), value: undefined }), document);
    return found.filter(isIn(errorsOf(asConfigText(rest, minor), local, minor)));
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

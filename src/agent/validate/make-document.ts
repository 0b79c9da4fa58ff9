/** Makes the document that a kubelet can read from a payload that it cannot. Loaded only for a payload that may be one. */
import { decode } from '../../config/decode.js';
import { encode } from '../../config/encode.js';
import { resolvePaths } from '../../config/host-paths.js';
import { type LocalFile, mergeOverlay } from '../../config/merge.js';
import { newestMinor, parseMinor } from '../../config/model.js';
import { isOverlay } from '../../config/overlay.js';
import type { HostFile, Ingredients, Made } from '../documents.js';

/** Throws for an overlay that cannot be decoded or merged. Any other document that cannot be read stays as it is: the kubelet says why. */
export function makeDocument({ text, file, kubeletVersion, local }: Ingredients): Made {
  const minor = parseMinor(kubeletVersion) ?? newestMinor;
  if (isOverlay(text)) {
    const { text: merged } = mergeOverlay({ minor, local: asText(local), overlay: text, overlayFile: file });
    return { kind: 'merged', text: merged };
  }
  const alpha = decodeAlpha(text, file, minor);
  if (alpha === undefined) return { kind: 'as is' };
  // The copy is in another directory.
  resolvePaths(alpha, file, minor);
  return { kind: 'converted', text: encode(alpha) };
}

export function asText(files: readonly HostFile[]): LocalFile[] {
  return files.map(({ data, ...file }) => ({ ...file, text: Buffer.from(data).toString('utf8') }));
}

function decodeAlpha(text: string, file: string, minor: number) {
  try {
    const { isAlpha, config } = decode(text, { minor, file, strict: false });
    return isAlpha ? structuredClone(config) : undefined;
  } catch {
    return undefined;
  }
}

/** Revisions of a set: the payload of its config, the revision's name, and the ConfigMaps that hold it. Pure. */
import { createHash } from 'node:crypto';
import type { ConfigRef } from '../api/config-ref.js';
import { configNamespace } from '../api/node-config.js';
import { madeBySetLabel, type SetConfig, type SignedConfig } from '../api/node-config-set.js';
import type { ConfigMap } from '../api/object.js';
import { header } from '../config/header.js';
import { newestMinor } from '../config/model.js';
import { encodeOverlay, isOverlay } from '../config/overlay.js';
import { defaultKey, newConfigMap } from '../fleet/config-maps.js';
import { asConfigText } from '../fleet/config-text.js';
import { overlaySentence, readOverlay } from '../fleet/payload.js';
import { shorten } from '../shorten.js';
import { oneLine } from '../visible-text.js';
import { revisionSignatures, signedAnnotations } from './signed-config.js';
import type { DesiredRevision } from './state.js';

/** Payload of `overlay`, `whole` and `signed`; that of `configMap` is read from there. */
export function payloadOf({ overlay, unset = [], whole, signed }: SetConfig): string | undefined {
  if (signed !== undefined) return signed.payload;
  if (overlay !== undefined) return encodeOverlay({ config: overlay, unset });
  return whole === undefined ? undefined : asConfigText({ ...whole, ...header }, newestMinor);
}

/**
 * Equal content is the same revision, so that applying the same YAML again changes nothing. Signatures do not count:
 * others are another attempt.
 */
export function desiredRevision(set: string, text: string, signed?: SignedConfig): DesiredRevision {
  return {
    revision: createHash('sha256').update(text).digest('hex').slice(0, 10),
    summary: summaryOf(text),
    ...(signed && { signed: revisionSignatures(signed) }),
    source: (attempt) => refOf(setConfigMap(set, text, attempt)),
  };
}

/** Each attempt has its own. Without an owner: it is needed for as long as a node names it, also when the set is gone. */
export function setConfigMap(set: string, text: string, attempt: number, signed?: SignedConfig): ConfigMap {
  const name = attempt === 1 ? set : `${set}.${attempt}`;
  const made = newConfigMap({ name, namespace: configNamespace, key: defaultKey, bytes: Buffer.from(text) });
  const { metadata } = made;
  const annotations = signed && { annotations: signedAnnotations(signed) };
  return { ...made, metadata: { ...metadata, labels: { ...metadata.labels, [madeBySetLabel]: set }, ...annotations } };
}

const refOf = ({ metadata }: ConfigMap): ConfigRef => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  kubeletConfigKey: defaultKey,
});

function summaryOf(text: string): string {
  if (!isOverlay(text)) return 'a whole config';
  try {
    return shorten(oneLine(overlaySentence(readOverlay(text, newestMinor))), 300);
  } catch {
    // Validation reports what is wrong with it.
    return 'an overlay that cannot be read';
  }
}

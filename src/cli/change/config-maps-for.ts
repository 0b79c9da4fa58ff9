/** One ConfigMap for each distinct text: the name is a hash of the content, so equal texts meet by themselves. */

import { defaultKey, defaultName, newConfigMap, sourceOf } from '../../fleet/config-maps.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import type { NodeChange } from './change.js';

export interface ConfigMapPlace {
  name?: string | undefined;
  namespace: string;
  key?: string | undefined;
}

export function configMapsFor(
  texts: readonly { node: ConfiguredNode; text: string }[],
  { name = defaultName, namespace, key = defaultKey }: ConfigMapPlace,
): NodeChange[] {
  return texts.map(({ node, text }) => {
    const configMap = newConfigMap({ name, namespace, key, bytes: Buffer.from(text) });
    return { node, configMap, to: sourceOf(configMap, key) };
  });
}

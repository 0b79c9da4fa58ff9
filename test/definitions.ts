/** The kinds of relet in a test's API server, as a user applies them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../src/api/object.js';
import { readPlain } from '../src/config/plain-document.js';
import type { KubeClient } from '../src/kube/client.js';

export const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };

export function definitionOf(plural: 'nodeconfigs' | 'nodeconfigsets'): KubeObject {
  const file = join(import.meta.dirname, `../deploy/base/${plural}.relet.dev.yaml`);
  return readPlain(readFileSync(file, 'utf8')) as KubeObject;
}

export const define = (admin: KubeClient, plural: Parameters<typeof definitionOf>[0]): Promise<KubeObject> =>
  admin.create(definitions, {}, definitionOf(plural));

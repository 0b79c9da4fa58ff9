/** Names for completion, from the cluster and the kubeconfig. Whatever goes wrong, there are simply none. */

import { configLabel } from '../../api/node-config.js';
import { fieldsOf } from '../../config/fields.js';
import { newestMinor } from '../../config/model.js';
import { readPlain } from '../../config/plain-document.js';
import { systemFileReader } from '../../kube/cached-file.js';
import { kubeconfigPaths, loadKubeconfig } from '../../kube/kubeconfig.js';
import { configMaps, namespaces, nodes, type ResourceType } from '../../kube/resource-type.js';
import type { ConnectionOptions } from '../connection-flags.js';
import { withSession } from '../session.js';
import { configFiles } from './complete-files.js';
import { settingsFor } from './complete-settings.js';
import type { Names, Suggestion } from './complete-words.js';

/** A person waits with a finger on the key. */
const patienceMs = 2000;
const mostNames = 500;

export async function namesOf(
  kinds: readonly Names[],
  typed: string,
  options: Record<string, string>,
): Promise<Suggestion[]> {
  const found: Suggestion[] = [];
  for (const kind of kinds)
    try {
      found.push(...(await namesOfKind(kind, typed, options)));
    } catch {
      // No cluster, no permission, no time: no names.
    }
  return found;
}

async function namesOfKind(kind: Names, typed: string, options: Record<string, string>): Promise<Suggestion[]> {
  switch (kind) {
    case 'fields':
      return fieldsOf(newestMinor).map(({ path, goType }) => ({ word: path, what: goType }));
    case 'settings':
      return settingsFor(typed, newestMinor);
    case 'contexts': {
      const { paths } = kubeconfigPaths({ explicit: options.kubeconfig, env: process.env });
      return [...loadKubeconfig(paths, { readYaml: readPlain, files: systemFileReader }).contexts.keys()].map(
        (word) => ({ word }),
      );
    }
    case 'nodes':
      return listNames(nodes, options);
    case 'namespaces':
      return listNames(namespaces, options);
    case 'configmaps':
      return listNames(configMaps, options, `${configLabel}=true`);
    case 'files':
      return configFiles(typed);
  }
}

interface Metadata {
  metadata: { name: string };
}

/** Only names travel, where the server can do that. */
function listNames(type: ResourceType, options: Record<string, string>, labelSelector?: string): Promise<Suggestion[]> {
  const connection: ConnectionOptions = { ...options, requestTimeout: patienceMs, verbose: 0 };
  return withSession(connection, async ({ client, namespace }) => {
    const path = type === configMaps ? `/api/v1/namespaces/${namespace}/configmaps` : `/api/v1/${type.resource}`;
    const { text } = await client.raw({
      method: 'GET',
      path,
      query: { limit: String(mostNames), labelSelector },
      accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
    });
    const { items } = JSON.parse(text) as { items?: Metadata[] | null };
    return (items ?? []).map(({ metadata }) => ({ word: metadata.name }));
  });
}

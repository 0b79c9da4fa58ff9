/** Resolves the user of a session and their permissions by SelfSubjectReview and SelfSubjectAccessReview, with the user's credential. */
import { configNamespace, nodeConfigs } from '../../api/node-config.js';
import { nodeConfigSets } from '../../api/node-config-set.js';
import { ApiError, isUnauthorized } from '../../api/status.js';
import { reviewSelf } from '../../kube/access-review.js';
import type { KubeClient } from '../../kube/client.js';
import { configMaps, nodes, type ResourceType } from '../../kube/resource-type.js';
import type { May } from '../wire.js';

const accessReviews: ResourceType = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'selfsubjectaccessreviews',
};

export interface Person {
  user: string;
  groups: string[];
}

/** Throws an ApiError with 401 where the API server does not know the credential. */
export async function whoIs(client: KubeClient, signal: AbortSignal): Promise<Person> {
  try {
    const { username = 'unknown', groups = [] } = await reviewSelf(client, { signal });
    return { user: username, groups };
  } catch (error) {
    // Servers before 1.28 have no such review, and it may be forbidden; the reviews of access then find a credential that is unknown.
    if (!(error instanceof ApiError) || isUnauthorized(error)) throw error;
    return { user: client.connection.user.as ?? (client.connection.userName || 'unknown'), groups: [] };
  }
}

interface Question extends ResourceType {
  verb: string;
  subresource?: string;
  namespace?: string;
}

/** `readOnly`: no change is allowed, even if RBAC allows it. */
export async function readAccess(
  client: KubeClient,
  { mode, readOnly, signal }: { mode: 'NodeConfig' | 'Node'; readOnly: boolean; signal: AbortSignal },
): Promise<May> {
  const ask = (question: Question) => isAllowed(client, question, signal);
  const read = async (type: ResourceType) =>
    (await Promise.all([ask({ ...type, verb: 'list' }), ask({ ...type, verb: 'watch' })])).every(Boolean);
  const change = (question: Question) => (readOnly ? Promise.resolve(false) : ask(question));
  const references = mode === 'NodeConfig' ? nodeConfigs : nodes;
  const [seeNodes, seeReferences, seeSets, allConfigs, ownConfigs] = await Promise.all([
    read(nodes),
    read(references),
    read(nodeConfigSets),
    ask({ ...configMaps, verb: 'list' }),
    ask({ ...configMaps, verb: 'list', namespace: configNamespace }),
  ]);
  const [steerSets, changeSets, createSets, changeNodes] = await Promise.all([
    change({ ...nodeConfigSets, verb: 'patch', subresource: 'status' }),
    change({ ...nodeConfigSets, verb: 'patch' }),
    change({ ...nodeConfigSets, verb: 'create' }),
    change({ ...references, verb: 'patch' }),
  ]);
  return {
    seeFleet: seeNodes && seeReferences,
    seeSets,
    seeConfigs: allConfigs || ownConfigs,
    steerSets,
    changeSets,
    createSets,
    changeNodes,
  };
}

/** Any token of the cluster logs in, that of a pod too. */
export const hasRights = (may: May): boolean => Object.values(may).some(Boolean);

async function isAllowed(
  client: KubeClient,
  { group, version, ...rest }: Question,
  signal: AbortSignal,
): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { group, version, ...rest } },
  };
  const { status } = await client.create<{ status?: { allowed?: boolean } }>(accessReviews, {}, review, { signal });
  return status?.allowed === true;
}

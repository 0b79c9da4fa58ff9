/** Authentication and authorization of a kubelet's clients by its config, with reviews of the API in Webhook mode. */
import { getField, type KubeletConfig } from '../../config/model.js';
import type { KubeClient } from '../../kube/client.js';
import type { Caller } from './kubelet-server.js';

interface User {
  username: string;
  groups: string[];
  uid?: string;
  extra?: Record<string, string[]>;
}

const tokenReviews = { group: 'authentication.k8s.io', version: 'v1', resource: 'tokenreviews' };
const accessReviews = { group: 'authorization.k8s.io', version: 'v1', resource: 'subjectaccessreviews' };

/** `client` is undefined where the kubelet has no API. */
export function createAccessCheck(config: KubeletConfig, nodeName: string, client: KubeClient | undefined) {
  const anonymous = getField(config, 'authentication.anonymous.enabled') === true;
  const reviewsTokens = getField(config, 'authentication.webhook.enabled') !== false;
  const asksTheApi = getField(config, 'authorization.mode') === 'Webhook';

  const userOf = async ({ certificate, bearer }: Caller): Promise<User | undefined> => {
    if (certificate) return { username: certificate.name, groups: [...certificate.groups, 'system:authenticated'] };
    if (bearer !== undefined && reviewsTokens && client) {
      const { status } = await client.create<{ status?: { authenticated?: boolean; user?: User } }>(
        tokenReviews,
        {},
        {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          spec: { token: bearer },
        },
      );
      if (status?.authenticated && status.user) return status.user;
      // A wrong token is rejected, never treated as anonymous.
      return undefined;
    }
    return anonymous ? { username: 'system:anonymous', groups: ['system:unauthenticated'] } : undefined;
  };

  return async (caller: Caller, method: string, path: string) => {
    const user = await userOf(caller);
    if (user === undefined) return { status: 401, text: 'Unauthorized' };
    if (!asksTheApi) return undefined;
    const subresource = subresourceOf(path);
    const verb = verbOf(method);
    const message = `Forbidden (user=${user.username}, verb=${verb}, resource=nodes, subresource=${subresource})`;
    if (!client) return { status: 403, text: message };
    const { status } = await client.create<{ status?: { allowed?: boolean } }>(
      accessReviews,
      {},
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: user.username,
          groups: user.groups,
          ...(user.uid && { uid: user.uid }),
          ...(user.extra && { extra: user.extra }),
          resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
        },
      },
    );
    return status?.allowed ? undefined : { status: 403, text: message };
  };
}

/** The subresource of nodes to which the kubelet maps a path. */
function subresourceOf(path: string): string {
  if (path.startsWith('/metrics')) return 'metrics';
  if (path.startsWith('/stats')) return 'stats';
  if (path.startsWith('/logs')) return 'log';
  return 'proxy';
}

function verbOf(method: string): string {
  return { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }[method] ?? 'get';
}

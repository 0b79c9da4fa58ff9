/** Authentication and authorization of a kubelet's clients by its config, with reviews of the API in Webhook mode. */
import { getField, type KubeletConfig } from '../../config/model.js';
import { type ReviewedUser, reviewAccess, reviewToken } from '../../kube/access-review.js';
import type { KubeClient } from '../../kube/client.js';
import type { Caller } from './kubelet-server.js';

/** `client` is undefined if the kubelet has no API. */
export function createAccessCheck(config: KubeletConfig, nodeName: string, client: KubeClient | undefined) {
  const anonymous = getField(config, 'authentication.anonymous.enabled') === true;
  const reviewsTokens = getField(config, 'authentication.webhook.enabled') !== false;
  const asksTheApi = getField(config, 'authorization.mode') === 'Webhook';

  const userOf = async ({ certificate, bearer }: Caller): Promise<ReviewedUser | undefined> => {
    if (certificate) return { username: certificate.name, groups: [...certificate.groups, 'system:authenticated'] };
    // A wrong token is rejected, never treated as anonymous.
    if (bearer !== undefined && reviewsTokens && client) return reviewToken(client, bearer);
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
    const attributes = { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName };
    const allowed = await reviewAccess(client, user, { resourceAttributes: attributes });
    return allowed ? undefined : { status: 403, text: message };
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

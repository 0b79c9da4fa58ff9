/** Who acts, for histories and requests: the user as the server knows it, else as the kubeconfig names it. */
import type { KubeObject } from '../api/object.js';
import { ApiError } from '../kube/api-error.js';
import type { Session } from './session.js';

const selfReviews = { group: 'authentication.k8s.io', version: 'v1', resource: 'selfsubjectreviews' };

export async function whoAmI({ client, signal }: Session): Promise<string> {
  const { user, userName } = client.connection;
  try {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const answer = await client.create<KubeObject>(selfReviews, {}, review, { signal });
    const name = (answer.status as { userInfo?: { username?: string } } | undefined)?.userInfo?.username;
    if (name) return name;
  } catch (error) {
    // Servers before 1.28 have no such review, and it may be forbidden.
    if (!(error instanceof ApiError)) throw error;
  }
  return user.as ?? (userName || 'unknown');
}

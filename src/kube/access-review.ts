/**
 * Who a bearer token belongs to, and what they may do, by asking the API server as a kubelet does: TokenReview, then
 * SubjectAccessReview. Every node may create both.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.js';
import type { KubeClient } from './client.js';
import type { ResourceType } from './resource-type.js';

const tokenReviews: ResourceType = { group: 'authentication.k8s.io', version: 'v1', resource: 'tokenreviews' };
const accessReviews: ResourceType = { group: 'authorization.k8s.io', version: 'v1', resource: 'subjectaccessreviews' };

export interface ReviewedUser {
  username: string;
  groups: string[];
  uid?: string;
  extra?: Record<string, string[]>;
}

export type AccessAttributes =
  | { resourceAttributes: Record<string, string> }
  | { nonResourceAttributes: { path: string; verb: string } };

type Client = Pick<KubeClient, 'create'>;

/** Undefined for a token that the API server does not know. */
export async function reviewToken(client: Client, token: string): Promise<ReviewedUser | undefined> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
  const { status } = await client.create<{ status?: { authenticated?: boolean; user?: ReviewedUser } }>(
    tokenReviews,
    {},
    review,
  );
  return status?.authenticated ? status.user : undefined;
}

export async function reviewAccess(
  client: Client,
  { username, groups, uid, extra }: ReviewedUser,
  attributes: AccessAttributes,
): Promise<boolean> {
  const spec = { user: username, groups, ...(uid && { uid }), ...(extra && { extra }), ...attributes };
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
  const { status } = await client.create<{ status?: { allowed?: boolean } }>(accessReviews, {}, review);
  return status?.allowed === true;
}

/** As HTTP has it: allowed; not authenticated; not allowed; the API server cannot be asked. */
export type Access = 200 | 401 | 403 | 503;

const allowedMs = 60_000;
const deniedMs = 10_000;
const mostTokens = 100;

/** Who may get a path of a server of ours. Answers are cached, since a scraper asks every few seconds. */
export class PathAccess {
  readonly #client: () => Client | undefined;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #cache = new Map<string, { access: Access; until: number }>();

  constructor(options: { client: () => Client | undefined; clock: Pick<Clock, 'now'> }) {
    this.#client = options.client;
    this.#clock = options.clock;
  }

  async check(token: string | undefined, path: string): Promise<Access> {
    if (token === undefined) return 401;
    const key = createHash('sha256').update(`${path}\n${token}`).digest('hex');
    const known = this.#cache.get(key);
    if (known !== undefined && this.#clock.now() < known.until) return known.access;
    const access = await this.#review(token, path);
    if (this.#cache.size >= mostTokens) this.#cache.clear();
    if (access !== 503)
      this.#cache.set(key, { access, until: this.#clock.now() + (access === 200 ? allowedMs : deniedMs) });
    return access;
  }

  async #review(token: string, path: string): Promise<Access> {
    const client = this.#client();
    if (client === undefined) return 503;
    try {
      const user = await reviewToken(client, token);
      if (user === undefined) return 401;
      return (await reviewAccess(client, user, { nonResourceAttributes: { path, verb: 'get' } })) ? 200 : 403;
    } catch {
      return 503;
    }
  }
}

/**
 * Resolves users and their permissions through the API server: the user of this client by SelfSubjectReview; the user of a bearer token
 * as a kubelet does it, by TokenReview and then SubjectAccessReview, which every node may create.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.js';
import type { KubeClient } from './client.js';
import type { ResourceType } from './resource-type.js';

const tokenReviews: ResourceType = { group: 'authentication.k8s.io', version: 'v1', resource: 'tokenreviews' };
const selfReviews: ResourceType = { group: 'authentication.k8s.io', version: 'v1', resource: 'selfsubjectreviews' };
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

/** Throws an ApiError where the server has no such review, as before 1.28, or where it is forbidden. */
export async function reviewSelf(
  client: Client,
  options?: { signal?: AbortSignal },
): Promise<{ username?: string; groups?: string[] }> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const { status } = await client.create<{ status?: { userInfo?: { username?: string; groups?: string[] } } }>(
    selfReviews,
    {},
    review,
    options,
  );
  return status?.userInfo ?? {};
}

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

/** HTTP status: allowed; not authenticated; not allowed; too many unknown tokens; the API server does not answer. */
export type Access = 200 | 401 | 403 | 429 | 503;

const allowedMs = 60_000;
const deniedMs = 10_000;
const mostTokens = 100;
/** Reviews of tokens that are not known: so many at once, and one more each second. */
const burst = 20;
const refillMs = 1000;

interface Known {
  access: Access;
  until: number;
}

/**
 * Authorizes GET requests for a path of relet's own servers. Results are cached, since a scraper sends a request every few seconds.
 * Unknown tokens are reviewed at a limited rate: each costs the API server a request, and anybody can send them. A token that was
 * allowed before is always reviewed.
 */
export class PathAccess {
  readonly #client: () => Client | undefined;
  readonly #clock: Pick<Clock, 'now'>;
  /** The oldest first. */
  readonly #cache = new Map<string, Known>();
  #reviews = { left: burst, at: 0 };

  constructor(options: { client: () => Client | undefined; clock: Pick<Clock, 'now'> }) {
    this.#client = options.client;
    this.#clock = options.clock;
  }

  async check(token: string | undefined, path: string): Promise<Access> {
    if (token === undefined) return 401;
    const key = createHash('sha256').update(`${path}\n${token}`).digest('hex');
    const known = this.#cache.get(key);
    if (known !== undefined && this.#clock.now() < known.until) return known.access;
    if (known?.access !== 200 && !this.#takeReview()) return 429;
    const access = await this.#review(token, path);
    if (access !== 503) this.#keep(key, { access, until: this.#clock.now() + (access === 200 ? allowedMs : deniedMs) });
    return access;
  }

  /** A token bucket. */
  #takeReview(): boolean {
    const now = this.#clock.now();
    const left = Math.min(burst, this.#reviews.left + Math.max(0, now - this.#reviews.at) / refillMs);
    this.#reviews = { left: left < 1 ? left : left - 1, at: now };
    return left >= 1;
  }

  /** In place of the oldest denial or, where there is none, of the oldest. */
  #keep(key: string, entry: Known): void {
    this.#cache.delete(key);
    if (this.#cache.size >= mostTokens) {
      const [oldest] = this.#cache.keys();
      const denied = [...this.#cache].find(([, { access }]) => access !== 200)?.[0];
      this.#cache.delete(denied ?? oldest!);
    }
    this.#cache.set(key, entry);
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

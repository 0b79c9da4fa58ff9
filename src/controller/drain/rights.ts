/**
 * Checks whether the controller may drain. The permission is in a role of its own, which an administrator may add or remove at any
 * time.
 */
import type { KubeObject } from '../../api/object.js';
import type { KubeClient } from '../../kube/client.js';
import { selfSubjectAccessReviews } from '../../kube/resource-type.js';

const rights = [
  { verb: 'patch', group: '', resource: 'nodes' },
  { verb: 'patch', group: '', resource: 'nodes', subresource: 'status' },
  { verb: 'list', group: '', resource: 'pods' },
  { verb: 'create', group: '', resource: 'pods', subresource: 'eviction' },
  { verb: 'list', group: 'policy', resource: 'poddisruptionbudgets' },
];

/** How long an answer is cached. */
const recheckMs = 20_000;

export class DrainRights {
  readonly #options: { client: KubeClient; signal: AbortSignal };
  #known: { allowed: boolean; untilMs: number } | undefined;

  constructor(options: { client: KubeClient; signal: AbortSignal }) {
    this.#options = options;
  }

  async mayDrain(): Promise<boolean> {
    const nowMs = this.#options.client.clock.monotonic();
    if (this.#known !== undefined && nowMs < this.#known.untilMs) return this.#known.allowed;
    const answers = await Promise.all(rights.map((right) => this.#may(right)));
    this.#known = { allowed: answers.every(Boolean), untilMs: nowMs + recheckMs };
    return this.#known.allowed;
  }

  async #may(resourceAttributes: object): Promise<boolean> {
    const { client, signal } = this.#options;
    const header = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview' };
    const review = { ...header, spec: { resourceAttributes } };
    const { status } = await client.create<KubeObject>(selfSubjectAccessReviews, {}, review, { signal });
    return (status as { allowed?: boolean } | undefined)?.allowed === true;
  }
}

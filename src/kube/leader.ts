/**
 * Leader election among several processes, by a Lease:
 *
 *     waiting ── the lease has no holder, or was not renewed for its duration ──► leading
 *        ▲                                                                           │
 *        └────── could not renew in time, or the lease has another holder ◄──────────┘
 *
 * The time since the last renewal is measured with our own clock from the moment we observed it: clocks need not agree. A
 * leader stops its work before another one can begin: `renewMs` is well below `durationMs`. A process that was paused, or whose
 * renewal hangs, has no chance to stop: so each write of the work is checked against the lease before it is sent.
 */
import type { KubeObject } from '../api/object.js';
import { isAlreadyExists, isConflict, isNotFound } from '../api/status.js';
import { rfc3339Micro } from '../clock.js';
import type { Log } from '../log.js';
import type { KubeClient } from './client.js';
import { leases } from './resource-type.js';

export interface LeaderOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  /** Unique among the candidates. */
  identity: string;
  log: Log;
  signal: AbortSignal;
  /** Runs while leading, until its signal fires. Writes of this client fail once the lease may have another holder. */
  lead(signal: AbortSignal, client: KubeClient): Promise<void>;
  /** How long a holder keeps the lease without renewing it. Default 15 s. */
  durationMs?: number;
  /** A leader that could not renew for this long stops. Default 10 s. */
  renewMs?: number;
  /** How often the lease is renewed, or requested. Default 2 s. */
  retryMs?: number;
}

const releaseAttempts = 3;

interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

/** Leads whenever it holds the lease; returns when the signal fires, after releasing the lease. */
export async function runWhileLeader(options: LeaderOptions): Promise<void> {
  const { client, log, signal, retryMs = 2000, identity, name } = options;
  const { clock, random } = client;
  const election = new Election(options);
  while (!signal.aborted) {
    const acquiredMs = clock.monotonic();
    if (await election.acquire()) {
      log.info('leader election: leading', { lease: name, identity });
      await leadUntilLost(options, election, acquiredMs);
      log.info('leader election: stopped leading', { lease: name, identity });
    }
    await clock.sleep(retryMs * (0.9 + 0.2 * random.number()), signal).catch(() => {});
  }
  await election.release();
}

async function leadUntilLost(options: LeaderOptions, election: Election, acquiredMs: number): Promise<void> {
  const { signal, lead, renewMs = 10_000, retryMs = 2000, log } = options;
  const { clock } = options.client;
  const lost = new AbortController();
  // The time before each request: the server may have answered it late.
  let renewedMs = acquiredMs;
  const isExpired = () => clock.monotonic() - renewedMs >= renewMs;
  const client = fenced(options.client, () => {
    if (isExpired()) lost.abort();
    if (lost.signal.aborted) throw new LeaseLostError(`lease ${options.name} was not renewed in time`);
  });
  const work = lead(AbortSignal.any([signal, lost.signal]), client).catch((error) => {
    if (!lost.signal.aborted && !signal.aborted) log.error('leader election: leader failed', { error });
    lost.abort();
  });
  while (!signal.aborted && !lost.signal.aborted) {
    await clock.sleep(retryMs, AbortSignal.any([signal, lost.signal])).catch(() => {});
    if (signal.aborted || lost.signal.aborted) break;
    const askedMs = clock.monotonic();
    if (await election.acquire()) renewedMs = askedMs;
    else if (election.isHeldByOther || isExpired()) lost.abort();
  }
  lost.abort();
  await work;
}

/** A write was not sent, because another process may lead. */
class LeaseLostError extends Error {}

function fenced(client: KubeClient, check: () => void): KubeClient {
  const checked =
    <A extends unknown[], R>(verb: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      check();
      return verb(...args);
    };
  const { create, update, patch, delete: remove } = client;
  const writes = { create: checked(create), update: checked(update), patch: checked(patch), delete: checked(remove) };
  // The rest is the client's, also what it computes when it is read.
  return Object.assign(Object.create(client) as KubeClient, writes);
}

class Election {
  readonly #options: LeaderOptions;
  /** The lease as last observed, and when by our own clock it was last observed to change. */
  #observed = { text: '', atMs: 0 };
  isHeldByOther = false;

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  /** Acquires or renews the lease. False when it has another holder, or the request failed. */
  async acquire(): Promise<boolean> {
    const { client, namespace, name, log } = this.#options;
    try {
      const lease = await client.get<Lease>(leases, { namespace, name }, this.#within()).catch((error) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      return await (lease === undefined ? this.#create() : this.#update(lease));
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error))
        log.debug('leader election: cannot acquire lease', { lease: name, error });
      return false;
    }
  }

  async release(): Promise<void> {
    for (let attempt = 1; attempt <= releaseAttempts; attempt++) {
      try {
        return await this.#release();
      } catch (error) {
        // A renewal that was aborted may still be applied by the server. After any other error the lease expires.
        if (!isConflict(error)) return;
      }
    }
  }

  async #release(): Promise<void> {
    const { client, namespace, name, identity } = this.#options;
    const lease = await client.get<Lease>(leases, { namespace, name }, { timeoutMs: 2000 });
    if (lease.spec?.holderIdentity !== identity) return;
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 };
    await client.update(leases, { namespace, name }, { ...lease, spec }, { timeoutMs: 2000 });
  }

  async #create(): Promise<boolean> {
    const { client, namespace, name } = this.#options;
    const metadata = { name, namespace };
    const spec = { ...this.#renewal(), acquireTime: this.#now(), leaseTransitions: 0 };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    await client.create(leases, { namespace }, lease, this.#within());
    this.isHeldByOther = false;
    return true;
  }

  async #update(lease: Lease): Promise<boolean> {
    const { client, namespace, name, identity, durationMs = 15_000 } = this.#options;
    const { clock } = client;
    const { holderIdentity = '', leaseTransitions = 0 } = lease.spec ?? {};
    const mine = holderIdentity === identity;
    const text = JSON.stringify(lease.spec);
    if (text !== this.#observed.text) this.#observed = { text, atMs: clock.monotonic() };
    const unrenewedMs = clock.monotonic() - this.#observed.atMs;
    this.isHeldByOther = !mine && holderIdentity !== '' && unrenewedMs < durationMs;
    if (this.isHeldByOther) return false;
    const change = mine ? {} : { acquireTime: this.#now(), leaseTransitions: leaseTransitions + 1 };
    const spec = { ...lease.spec, ...this.#renewal(), ...change };
    // With its resourceVersion: of two concurrent updates one is a conflict.
    await client.update(leases, { namespace, name }, { ...lease, spec }, this.#within());
    return true;
  }

  #renewal() {
    const { identity, durationMs = 15_000 } = this.#options;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      renewTime: this.#now(),
    };
  }

  #within() {
    const { signal, renewMs = 10_000 } = this.#options;
    return { signal, timeoutMs: renewMs / 2 };
  }

  #now(): string {
    return rfc3339Micro(this.#options.client.clock.now());
  }
}

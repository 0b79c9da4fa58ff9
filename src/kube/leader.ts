/**
 * One leader among several processes, by a Lease:
 *
 * waiting ── nobody holds it, or the holder was silent for its whole duration ──► leading
 *    ▲                                                                               │
 *    └────────── could not renew in time, or somebody else holds it ◄────────────────┘
 *
 * The holder's silence is measured with our own clock from the moment we saw its last renewal: clocks need not agree. A
 * leader stops its work before anybody else may begin: `renewMs` is well below `durationMs`.
 */

import type { KubeObject } from '../api/object.js';
import type { Log } from '../log.js';
import { rfc3339Micro } from '../time.js';
import { isAlreadyExists, isConflict, isNotFound } from './api-error.js';
import type { KubeClient } from './client.js';
import { leases } from './resource-type.js';

export interface LeaderOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  /** Who we are; unlike everybody else. */
  identity: string;
  log: Log;
  signal: AbortSignal;
  /** The work of a leader, until its signal fires. */
  lead(signal: AbortSignal): Promise<void>;
  /** How long a silent holder keeps the lease. Default 15 s. */
  durationMs?: number;
  /** A leader that could not renew for so long stops. Default 10 s. */
  renewMs?: number;
  /** How often it is renewed, or asked for. Default 2 s. */
  retryMs?: number;
}

interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

/** Leads whenever it may; returns when the signal fires, after giving the lease back. */
export async function runWhileLeader(options: LeaderOptions): Promise<void> {
  const { client, log, signal, retryMs = 2000, identity, name } = options;
  const { clock, random } = client;
  const election = new Election(options);
  while (!signal.aborted) {
    if (await election.take()) {
      log.info('leading', { lease: name, identity });
      await leadUntilLost(options, election);
      log.info('no longer leading', { lease: name, identity });
    }
    await clock.sleep(retryMs * (0.9 + 0.2 * random.number()), signal).catch(() => {});
  }
  await election.giveBack();
}

async function leadUntilLost(options: LeaderOptions, election: Election): Promise<void> {
  const { signal, lead, renewMs = 10_000, retryMs = 2000, log } = options;
  const { clock } = options.client;
  const lost = new AbortController();
  const work = lead(AbortSignal.any([signal, lost.signal])).catch((error) => {
    if (!lost.signal.aborted && !signal.aborted) log.error('the leader’s work failed', { error });
    lost.abort();
  });
  let renewedMs = clock.monotonic();
  while (!signal.aborted && !lost.signal.aborted) {
    await clock.sleep(retryMs, AbortSignal.any([signal, lost.signal])).catch(() => {});
    if (signal.aborted || lost.signal.aborted) break;
    const mine = await election.take();
    if (mine) renewedMs = clock.monotonic();
    else if (election.isOthers || clock.monotonic() - renewedMs >= renewMs) lost.abort();
  }
  lost.abort();
  await work;
}

class Election {
  readonly #options: LeaderOptions;
  /** The lease as last seen, and when by our own clock it was last seen to change. */
  #seen = { text: '', atMs: 0 };
  isOthers = false;

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  /** Takes or renews it. False when another holds it, or when nobody answered. */
  async take(): Promise<boolean> {
    const { client, namespace, name, log } = this.#options;
    try {
      const lease = await client.get<Lease>(leases, { namespace, name }, this.#within()).catch((error) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      return await (lease === undefined ? this.#create() : this.#takeOver(lease));
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error)) log.debug('the lease cannot be had', { lease: name, error });
      return false;
    }
  }

  async giveBack(): Promise<void> {
    const { client, namespace, name, identity } = this.#options;
    try {
      const lease = await client.get<Lease>(leases, { namespace, name }, { timeoutMs: 2000 });
      if (lease.spec?.holderIdentity !== identity) return;
      const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 };
      await client.update(leases, { namespace, name }, { ...lease, spec }, { timeoutMs: 2000 });
    } catch {
      // Then it runs out by itself.
    }
  }

  async #create(): Promise<boolean> {
    const { client, namespace, name } = this.#options;
    const metadata = { name, namespace };
    const spec = { ...this.#claim(), acquireTime: this.#now(), leaseTransitions: 0 };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    await client.create(leases, { namespace }, lease, this.#within());
    this.isOthers = false;
    return true;
  }

  async #takeOver(lease: Lease): Promise<boolean> {
    const { client, namespace, name, identity, durationMs = 15_000 } = this.#options;
    const { clock } = client;
    const { holderIdentity = '', leaseTransitions = 0 } = lease.spec ?? {};
    const mine = holderIdentity === identity;
    const text = JSON.stringify(lease.spec);
    if (text !== this.#seen.text) this.#seen = { text, atMs: clock.monotonic() };
    const silentMs = clock.monotonic() - this.#seen.atMs;
    this.isOthers = !mine && holderIdentity !== '' && silentMs < durationMs;
    if (this.isOthers) return false;
    const change = mine ? {} : { acquireTime: this.#now(), leaseTransitions: leaseTransitions + 1 };
    const spec = { ...lease.spec, ...this.#claim(), ...change };
    // With its resourceVersion: of two who try, one gets a conflict.
    await client.update(leases, { namespace, name }, { ...lease, spec }, this.#within());
    return true;
  }

  #claim() {
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

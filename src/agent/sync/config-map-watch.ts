/**
 * Follows the one ConfigMap that is referred to, by name. Where the role grants only `get`, as the pages of DKC alpha do, a
 * watch is forbidden: then it asks to have it read from time to time instead.
 */

import { isForbidden } from '../../api/status.js';
import type { Clock } from '../../clock.js';
import type { KubeClient } from '../../kube/client.js';
import { configMaps } from '../../kube/resource-type.js';
import { watchLoop } from '../../kube/watch.js';
import type { Log } from '../../log.js';

export interface ConfigMapWatchOptions {
  client: KubeClient;
  clock: Clock;
  log: Log;
  /** The ConfigMap may have changed. */
  onChange(): void;
  signal: AbortSignal;
}

const readEveryMs = 60_000;
/** A server that has just started, or a fresh grant, may not be in effect yet; after this time it is. */
const patienceMs = 5000;
/** A watch that was forbidden is tried again this often, in case the role has grown. */
const watchAgainMs = 600_000;

interface Place {
  namespace: string;
  name: string;
}

export class ConfigMapWatch {
  readonly #options: ConfigMapWatchOptions;
  #following: { place: Place; stop: AbortController } | undefined;
  /** The version of the last read: the list that begins a watch brings it once more. */
  #seen = '';

  constructor(options: ConfigMapWatchOptions) {
    this.#options = options;
  }

  /** From now on this one, or none. */
  follow(place: Place | undefined): void {
    const present = this.#following?.place;
    if (place?.namespace === present?.namespace && place?.name === present?.name) return;
    this.#following?.stop.abort();
    this.#following = undefined;
    if (place === undefined || this.#options.signal.aborted) return;
    const stop = new AbortController();
    this.#following = { place, stop };
    const { namespace, name } = place;
    void this.#run({ namespace, name }, AbortSignal.any([stop.signal, this.#options.signal]));
  }

  /** This version was read: an event about it changes nothing. */
  saw(resourceVersion: string): void {
    this.#seen = resourceVersion;
  }

  async #run(place: Place, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const refusal = await this.#watch(place, signal);
      if (signal.aborted) return;
      this.#options.log.info('ConfigMap may not be watched, it is read from time to time', {
        ...place,
        cause: refusal,
      });
      await this.#readNowAndThen(signal).catch(() => {});
    }
  }

  /** Returns why, when watching is forbidden; otherwise only with the signal. */
  async #watch({ namespace, name }: Place, signal: AbortSignal): Promise<unknown> {
    const { client, clock, log, onChange } = this.#options;
    const forbidden = new AbortController();
    let forbiddenSinceMs: number | undefined;
    await watchLoop(client, {
      type: configMaps,
      namespace,
      name,
      signal: AbortSignal.any([signal, forbidden.signal]),
      onList: (items) => {
        forbiddenSinceMs = undefined;
        const version = items.find((item) => item.metadata.name === name)?.metadata.resourceVersion;
        if (version !== this.#seen) onChange();
      },
      onChange: (type, { metadata }) => {
        if (type === 'DELETED' || metadata.resourceVersion !== this.#seen) onChange();
      },
      onFailure: (error, doing) => {
        if (!isForbidden(error)) forbiddenSinceMs = undefined;
        else forbiddenSinceMs ??= clock.monotonic();
        if (clock.monotonic() - (forbiddenSinceMs ?? Number.POSITIVE_INFINITY) >= patienceMs)
          return forbidden.abort(error);
        log.warn('ConfigMap cannot be followed', { namespace, name, doing, error });
        // An interrupted watch may have missed a change; the next list shows it.
      },
    });
    return forbidden.signal.reason;
  }

  async #readNowAndThen(signal: AbortSignal): Promise<void> {
    const { client, clock, onChange } = this.#options;
    const until = clock.monotonic() + watchAgainMs;
    while (clock.monotonic() < until) {
      await clock.sleep(readEveryMs * (0.8 + 0.4 * client.random.number()), signal);
      onChange();
    }
  }
}

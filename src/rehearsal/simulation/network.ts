/**
 * The network between the clients of a simulation and its API server: in process, and as bad as the faults make it. An API server
 * keeps the order of the events of one watch and leaves none out, so a watch here is late, or it breaks and resumes; a client that
 * resumes after a compaction has to list again and never sees the states in between. Events of different watches come in any order.
 */
import type { Clock } from '../../clock.js';
import { ConnectionError, type HttpRequest, type HttpResponse, type Transport } from '../../kube/transport.js';
import type { Fence } from './fence.js';
import type { SeededRandom } from './seeded-random.js';

/** Faults between one client and the server, or between all and the server. */
export interface Trouble {
  /** Connections are refused, and open ones break. */
  isDown?: boolean;
  /** So many requests out of 1 take effect and their answers are lost. */
  lostAnswers?: number;
  /** So many requests out of 1 are not answered at all. */
  unanswered?: number;
  /** Events of watches are delivered late by up to this. */
  lateMs?: number;
  /** Requests and answers take up to this. */
  latencyMs?: number;
}

export interface Answered {
  client: string;
  method: string;
  /** With its query. */
  path: string;
  status: number;
}

export interface NetworkOptions {
  clock: Clock;
  random: SeededRandom;
  server: Transport;
  onAnswered(answered: Answered): void;
}

type OpenWatch = { client: string; response: HttpResponse };

export class Network {
  readonly #options: NetworkOptions;
  readonly #troubles = new Map<string, Trouble>();
  readonly #watches = new Set<OpenWatch>();
  /** By client; others are connected to the server of the options. */
  readonly #servers = new Map<string, Transport>();

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** `client` as in `transport`; '*' for all. */
  set(client: string, trouble: Trouble | undefined): void {
    if (trouble === undefined) this.#troubles.delete(client);
    else this.#troubles.set(client, trouble);
    if (trouble?.isDown) this.breakWatches(client);
  }

  /** Connects a client, or '*', to another server: its watches break. */
  connect(client: string, server: Transport): void {
    this.#servers.set(client, server);
    this.breakWatches(client);
  }

  heal(): void {
    this.#troubles.clear();
  }

  breakWatches(client: string): void {
    const broken = [...this.#watches].filter((watch) => client === '*' || watch.client === client);
    for (const { response } of broken) response.destroy(reset());
  }

  transport(client: string, fence: Fence): Transport {
    return { open: (request) => fence.guard(this.#open(client, fence, request)), close() {} };
  }

  async #open(client: string, fence: Fence, request: HttpRequest): Promise<HttpResponse> {
    const { clock, random, onAnswered } = this.#options;
    const what = `${request.method} ${request.url.pathname}`;
    const { latencyMs = 0, lostAnswers = 0, unanswered = 0 } = this.#trouble(client);
    if (latencyMs > 0) await clock.sleep(random.number() * latencyMs, request.signal);
    if (fence.isDown) return never();
    if (this.#trouble(client).isDown) throw new ConnectionError(what, refused());
    if (unanswered > 0 && random.chance(unanswered)) return never(request.signal);
    const server = this.#servers.get(client) ?? this.#servers.get('*') ?? this.#options.server;
    const response = await fence.stepLater(() => server.open(request), what);
    const path = `${request.url.pathname}${request.url.search}`;
    onAnswered({ client, method: request.method, path, status: response.statusCode ?? 0 });
    const isWatch = request.url.searchParams.has('watch');
    if (!isWatch && lostAnswers > 0 && random.chance(lostAnswers)) {
      response.destroy();
      throw new ConnectionError(what, reset());
    }
    if (latencyMs > 0) await clock.sleep(random.number() * latencyMs, request.signal);
    return isWatch ? this.#watch(client, fence, response) : response;
  }

  #watch(client: string, fence: Fence, response: HttpResponse): HttpResponse {
    const watch = { client, response };
    this.#watches.add(watch);
    const forget = fence.connection(() => response.destroy());
    const over = () => {
      this.#watches.delete(watch);
      forget();
    };
    const late = () => this.#trouble(client).lateMs ?? 0;
    const { clock, random } = this.#options;
    return {
      statusCode: response.statusCode,
      headers: response.headers,
      destroy(error) {
        over();
        response.destroy(error);
      },
      resume: () => response.resume(),
      async *[Symbol.asyncIterator]() {
        try {
          for await (const chunk of response) {
            const lateMs = late();
            if (lateMs > 0) await fence.guard(clock.sleep(random.number() * lateMs));
            else if (fence.isPaused) await fence.guard(Promise.resolve());
            yield chunk;
          }
        } finally {
          if (fence.isPaused) await fence.guard(Promise.resolve());
          over();
        }
      },
    };
  }

  #trouble(client: string): Trouble {
    return { ...this.#troubles.get('*'), ...this.#troubles.get(client) };
  }
}

/** As a peer that does not answer: until the caller gives up. */
function never(signal?: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const reset = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

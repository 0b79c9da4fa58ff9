/** An exchange with what only the API server of the lab needs of the peer: its certificate, its address, a body to pass on. */
import type { X509Certificate } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Exchange } from '../../../memory-api/requests/exchange.js';
import { InMemoryExchange, type InMemoryRequest, type ResponseSink } from '../../../memory-api/requests/in-memory.js';

export interface PeerExchange extends Exchange {
  /** The client certificate, where one was sent and our CA signed it; 'rejected' for one that it did not sign. */
  clientCertificate(): X509Certificate | 'rejected' | undefined;
  readonly remoteAddress: string;
  /** The body as a stream, for proxying. */
  bodyStream(): Readable;
}

export interface InMemoryPeerRequest extends InMemoryRequest {
  clientCertificate?: X509Certificate | 'rejected';
}

/** A peer in the same process. */
export class InMemoryPeer extends InMemoryExchange implements PeerExchange {
  readonly remoteAddress = '127.0.0.1';
  readonly #request: InMemoryPeerRequest;

  constructor(request: InMemoryPeerRequest, sink: ResponseSink) {
    super(request, sink);
    this.#request = request;
  }

  clientCertificate(): X509Certificate | 'rejected' | undefined {
    return this.#request.clientCertificate;
  }

  bodyStream(): Readable {
    return Readable.from([Buffer.from(this.#request.body ?? '')]);
  }
}

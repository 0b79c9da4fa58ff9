/** Sends a request to a handler in this process and reads the response as it grows. */
import type { Handle } from '../../src/lab/apiserver/handler.js';
import { InMemoryPeer, type InMemoryPeerRequest } from '../../src/lab/apiserver/http/peer-exchange.js';
import type { ResponseHeaders } from '../../src/memory-api/requests/exchange.js';

export interface InMemoryResponse {
  code: number;
  headers: ResponseHeaders;
  warnings: string[];
  /** The whole body so far. */
  text(): string;
  /** Resolves when the response is complete. */
  ended: Promise<void>;
  /** Resolves with the body once `isEnough` returns true, or it is complete. */
  until(isEnough: (text: string) => boolean): Promise<string>;
  /** The client disconnects. */
  abort(): void;
}

/** Resolves when the response has begun; a watch continues. */
export function callInMemory(handle: Handle, request: InMemoryPeerRequest): Promise<InMemoryResponse> {
  return new Promise((resolve, reject) => {
    let text = '';
    const watchers: (() => void)[] = [];
    const changed = () => {
      for (const look of watchers) look();
    };
    const exchange: InMemoryPeer = new InMemoryPeer(request, {
      begin: (head) =>
        resolve({
          ...head,
          text: () => text,
          ended: new Promise((ended) => exchange.onClose(ended)),
          until: (isEnough) =>
            new Promise((enough) => {
              const look = () => {
                if (exchange.closed || isEnough(text)) enough(text);
              };
              watchers.push(look);
              look();
            }),
          abort: () => exchange.close(),
        }),
      add(chunk) {
        text += chunk.toString();
        changed();
      },
      close: changed,
    });
    handle(exchange).catch(reject);
  });
}

/** One request and its response, independent of what carries them: a call in this process, or a socket in the lab. */
export type ResponseHeaders = Record<string, string | string[]>;

export interface Exchange {
  readonly method: string;
  /** As sent, still percent-encoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The part behind '?', as sent. */
  readonly search: string;
  /** A request header by its lower-case name; several values are joined by ', '. */
  header(name: string): string | undefined;
  /** Every value of a header that may be sent several times, such as impersonate-group. */
  headerValues(name: string): string[];
  /** All request headers with lower-case names, for proxying. */
  headers(): Record<string, string | string[] | undefined>;
  /** The whole body, once. Throws 413 past `limitBytes` and 408-like errors for bodies that never end. */
  body(limitBytes: number): Promise<Buffer>;
  /** Sends a whole response. Warnings that were added before become headers. */
  respond(code: number, headers: ResponseHeaders, body: Buffer | string): void;
  /** Starts a streamed response. */
  stream(code: number, headers: ResponseHeaders): ResponseStream;
  /** Adds a Warning header; has no effect once the response began. */
  warn(text: string): void;
  /** Called once when the client disconnected or the response is complete; at once when it already is. */
  onClose(listener: () => void): void;
  readonly closed: boolean;
  /** 0 before the response began. */
  readonly responseCode: number;
}

export interface ResponseStream {
  /** False: the client does not keep up; wait for onDrain before writing more. */
  write(chunk: Buffer | string): boolean;
  onDrain(listener: () => void): void;
  end(chunk?: Buffer | string): void;
  /** Cuts the connection without an orderly end. */
  destroy(): void;
}

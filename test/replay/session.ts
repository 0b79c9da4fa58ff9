/** Sends recorded requests to a server as the recorder did: HTTP/1.1 over TLS, one of a few identities, watches left open while others write. */

import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { eventually } from '../eventually.js';
import type { Request } from './record.js';

export interface ReplayTarget {
  port: number;
  ca: string;
  tokens: { admin: string; node: string };
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

export interface WatchAnswer extends Answer {
  events: unknown[];
  during: number[];
}

/** How long a watch may take to bring what was recorded. */

export class Session {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 });
  readonly #variables = new Map<string, string>();

  constructor(
    private readonly target: ReplayTarget,
    namespace: string,
  ) {
    this.#variables.set('ns', namespace);
  }

  save(name: string, value: string): void {
    this.#variables.set(name, value);
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Puts saved values in the place of {{name}}. */
  #fill(text: string): string {
    return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => this.#variables.get(name) ?? '');
  }

  async send(recorded: Request): Promise<Answer> {
    const { response } = await this.#open(recorded);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { ...headOf(response), text: Buffer.concat(chunks).toString() };
  }

  /** Opens a watch, sends what was sent meanwhile, and reads until as many events came as were recorded. */
  async watch(recorded: Request, wanted: number): Promise<WatchAnswer> {
    const { response, client } = await this.#open(recorded);
    const events: unknown[] = [];
    let rest = '';
    let isOver = wanted === 0;
    const finish = () => {
      isOver = true;
    };
    response.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop()!;
      for (const line of lines.filter((entry) => entry !== '')) {
        const event = JSON.parse(line) as { type?: string };
        if (event.type !== 'BOOKMARK') events.push(event);
      }
      if (events.length >= wanted) finish();
    });
    response.on('end', finish);
    response.on('error', finish);
    const during: number[] = [];
    for (const step of recorded.during ?? []) during.push((await this.send(step)).status);
    await eventually(`${wanted} events of ${recorded.path}`, () => isOver, { seen: () => events });
    if (rest.trim() !== '') events.push(JSON.parse(rest));
    client.destroy();
    return { ...headOf(response), text: '', events, during };
  }

  #open(recorded: Request): Promise<{ response: IncomingMessage; client: ClientRequest }> {
    const body = recorded.rawBody ?? (recorded.body === undefined ? undefined : JSON.stringify(recorded.body));
    const payload = body === undefined ? undefined : Buffer.from(this.#fill(body));
    return new Promise((resolve, reject) => {
      const client = httpsRequest(
        {
          host: '127.0.0.1',
          port: this.target.port,
          ca: this.target.ca,
          agent: this.#agent,
          method: recorded.method,
          path: this.#fill(recorded.path),
          headers: this.#headers(recorded, payload),
        },
        (response) => resolve({ response, client }),
      );
      client.on('error', reject);
      client.end(payload);
    });
  }

  #headers(recorded: Request, payload: Buffer | undefined): Record<string, string> {
    const { as = 'admin' } = recorded;
    const headers: Record<string, string> = { 'User-Agent': 'apidiff/1', Accept: 'application/json' };
    if (payload !== undefined) headers['Content-Type'] = 'application/json';
    if (payload !== undefined) headers['Content-Length'] = `${payload.length}`;
    if (as === 'node') headers.Authorization = `Bearer ${this.target.tokens.node}`;
    else if (as === 'bad') headers.Authorization = 'Bearer nobody-knows-this';
    else if (as !== 'anonymous') headers.Authorization = `Bearer ${this.target.tokens.admin}`;
    if (!['admin', 'node', 'bad', 'anonymous'].includes(as)) headers['Impersonate-User'] = as;
    for (const [name, value] of Object.entries(recorded.headers ?? {})) headers[name] = this.#fill(value);
    return headers;
  }
}

function headOf(response: IncomingMessage): { status: number; headers: Record<string, string> } {
  const headers = Object.entries(response.headers).map(([name, value]) => [name, `${value}`]);
  return { status: response.statusCode ?? 0, headers: Object.fromEntries(headers) };
}

/** Talks to the server of the dashboard as its page does, over HTTP: logs in, asks, and keeps all that a stream sends. */
import { get as httpGet, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import type { Dashboard } from '../src/dashboard/server/server.js';
import { type Me, type Problem, type Row, type StreamEvents, unpackRows } from '../src/dashboard/wire.js';

export interface Call {
  method?: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export function call({ port }: { port: number }, { method = 'GET', path, body, headers = {} }: Call) {
  return new Promise<{
    status: number;
    headers: IncomingHttpHeaders;
    text: string;
    json: Me & Problem & { count: number };
  }>((resolve, reject) => {
    const sent = httpRequest(
      { port, host: '127.0.0.1', method, path, headers: { 'content-type': 'application/json', ...headers } },
      async (response) => {
        let text = '';
        for await (const chunk of response) text += chunk;
        const isJson = response.headers['content-type']?.startsWith('application/json');
        const json = isJson ? JSON.parse(text) : undefined;
        resolve({ status: response.statusCode!, headers: response.headers, text, json });
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Logs in, and returns the headers that a browser sends afterwards. */
export async function logIn(dashboard: Pick<Dashboard, 'port'>, body: object, path = '/api/login') {
  const { status, headers, json } = await call(dashboard, { method: 'POST', path, body });
  expect(status).toBe(200);
  const cookie = headers['set-cookie']![0]!.split(';')[0]!;
  return { me: json as Me, headers: { cookie, 'x-relet-csrf': (json as Me).csrf } };
}

/** All that the server sends to a tab, as text and as events. */
export function openStream({ port }: { port: number }, headers: Record<string, string>) {
  const seen = { text: '', ended: false };
  const request = httpGet({ port, host: '127.0.0.1', path: '/api/stream', headers }, (response) => {
    response.setEncoding('utf8').on('data', (text: string) => {
      seen.text += text;
    });
    response.on('close', () => {
      seen.ended = true;
    });
  });
  request.on('error', () => {});
  onTestFinished(() => void request.destroy());
  const events = <Name extends keyof StreamEvents>(name: Name): StreamEvents[Name][] =>
    [...seen.text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].flatMap(([, one, data]) =>
      one === name ? [JSON.parse(data!)] : [],
    );
  const rows = (): Row[] => events('fleet').flatMap((part) => unpackRows(part.rows));
  return { seen, events, rows };
}

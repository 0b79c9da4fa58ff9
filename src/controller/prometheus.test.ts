/** Queries of Prometheus, over a real socket: values by node, and errors that name the query. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../clock.js';
import { systemFileReader } from '../kube/kubeconfig.js';
import { prometheusQueries } from './prometheus.js';

let server: Server;
let url: string;
let answer: { status: number; body: unknown };
let asked: string[];

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/prometheus/`;
});

afterEach(() => new Promise((resolve) => server.close(resolve)));

const query = { query: 'sum by (node) (up)', label: 'node', time: '2026-06-05T12:00:00Z' };
const ask = () =>
  prometheusQueries({ url, files: systemFileReader, env: {}, clock: systemClock, userAgent: 'test' })(
    query,
    new AbortController().signal,
  );
const vector = (...values: [node: string | undefined, value: string][]) => ({
  status: 200,
  body: {
    status: 'success',
    data: {
      resultType: 'vector',
      result: values.map(([node, value]) => ({ metric: node === undefined ? {} : { node }, value: [1, value] })),
    },
  },
});

test('one query gives one value a node, at its time', async () => {
  answer = vector(['n1', '3'], ['n2', '0.5'], ['n3', 'NaN'], ['n4', '-1']);
  expect([...(await ask())]).toEqual([
    ['n1', 3],
    ['n2', 0.5],
  ]);
  expect(asked).toEqual(['/prometheus/api/v1/query?query=sum+by+%28node%29+%28up%29&time=2026-06-05T12%3A00%3A00Z']);
});

test.each([
  [
    'two values for one node',
    () => vector(['n1', '3'], ['n1', '4']),
    /more than one value for n1; aggregate with 'by \(node\)'/,
  ],
  ['a value without the label', () => vector([undefined, '3']), /no label 'node'/],
  ['a scalar', () => ({ status: 200, body: { status: 'success', data: { resultType: 'scalar' } } }), /but scalar/],
  ['an error', () => ({ status: 400, body: { status: 'error', error: 'parse error' } }), /answered 400: parse error/],
  ['a page of a proxy', () => ({ status: 502, body: '<html>' }), /answered 502/],
])('%s is an error that names the query', async (_name, given, message) => {
  answer = given();
  await expect(ask()).rejects.toThrow(message);
  await expect(ask()).rejects.toThrow("query 'sum by (node) (up)' at 2026-06-05T12:00:00Z: ");
});

test('a server that is away is an error without the path of the URL', async () => {
  url = 'http://127.0.0.1:1/secret';
  await expect(ask()).rejects.toThrow(/cannot reach http:\/\/127\.0\.0\.1:1: ECONNREFUSED/);
});

/** The webhook of the controller: a real receiver on loopback, the whole controller in memory, nodes modelled. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../src/clock.js';
import type { Notice } from '../src/controller/notices.js';
import type { OutboundOptions } from '../src/controller/outbound.js';
import { webhookSender } from '../src/controller/webhook.js';
import { systemFileReader } from '../src/kube/kubeconfig.js';
import { selfSigned } from '../src/lab/hollow-kubelet/serving-certificate.js';
import { systemRandom } from '../src/random.js';
import { createSetRig, type SetRig } from './set-rig.js';
import { temporaryDir } from './temporary-dir.js';

/** Keeps what arrives; `answer` is its status code, or undefined for none at all. */
async function receiver({
  answer = () => 204,
  tls,
}: {
  answer?(count: number): number | undefined;
  tls?: object;
} = {}) {
  const notices: Notice[] = [];
  const headers: IncomingMessage['headers'][] = [];
  let count = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const status = answer(++count);
    if (status === undefined) return;
    headers.push(request.headers);
    if (status < 300) notices.push(JSON.parse(text));
    response.writeHead(status).end();
  };
  const server = tls ? createTlsServer(tls, handle) : createServer(handle);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${port}/hooks/secret-path`;
  return { url, notices, headers, events: () => notices.map(({ event }) => event), requests: () => count };
}

const sender = (url: string, more: Partial<OutboundOptions> = {}) =>
  webhookSender({ url, files: systemFileReader, env: {}, clock: systemClock, userAgent: 'test', ...more });

async function rigWith(url: string): Promise<SetRig> {
  const rig = await createSetRig();
  await rig.stopController();
  rig.sendNotice = sender(url);
  rig.startController();
  await rig.addNodes(['node-0', 'node-1']);
  return rig;
}

const strategy = { waves: [{ nodes: 1, approve: true }, { nodes: '100%' }], maxUnavailable: 1 };
const overlay = (maxPods: number) => ({ config: { overlay: { maxPods } }, strategy });
const notified = async (rig: SetRig) => (await rig.set('gpu')).status?.notified;

test('a set that waits, is complete, halts and is undone sends one notice each, also across a restart of the controller', async () => {
  const hook = await receiver();
  const rig = await rigWith(hook.url);
  const delivered = (count: number) => rig.until(`${count} notices`, async () => hook.notices.length === count);
  await rig.apply('gpu', overlay(100));
  await delivered(1);
  const { updateRevision: first = '' } = (await rig.set('gpu')).status!;
  expect(hook.notices[0]).toMatchObject({ set: 'gpu', event: 'AwaitingApproval', revision: first, wave: 1 });
  await rig.rollout('gpu', { approve: { revision: first, wave: 1 } });
  await delivered(2);
  await rig.until('it is recorded', async () => (await notified(rig)) === hook.notices[1]?.id);

  await rig.stopController();
  rig.startController();
  rig.behaviour = (_, text) => (text.includes('maxPods: 666') ? 'rolls back' : 'works');
  await rig.apply('gpu', overlay(666));
  await delivered(3);
  const { updateRevision: second = '' } = (await rig.set('gpu')).status!;
  expect(hook.notices[2]).toMatchObject({ event: 'Halted', reason: 'Halted', revision: second, nodes: ['node-0'] });
  expect(hook.notices[2]?.message).toContain('node-0');
  await rig.rollout('gpu', { request: { action: 'Undo', revision: second } });
  await delivered(4);
  await rig.clock.advance(3_600_000);
  expect(hook.events()).toEqual(['AwaitingApproval', 'Complete', 'Halted', 'Undone']);
  expect(new Set(hook.notices.map(({ id }) => id)).size).toBe(4);
  expect(rig.counters.notices).toEqual({ delivered: 4, failures: 0, dropped: 0, waiting: 0 });
});

test('a receiver that fails gets the notice again, and one that never answers delays no rollout', async () => {
  const failing = await receiver({ answer: (count) => (count <= 3 ? 503 : 204) });
  const rig = await rigWith(failing.url);
  await rig.apply('gpu', overlay(100));
  await rig.until('delivered', async () => failing.notices.length === 1);
  expect(rig.counters.notices).toMatchObject({ failures: 3, delivered: 1 });

  const silent = await receiver({ answer: () => undefined });
  const other = await rigWith(silent.url);
  await other.apply('gpu', { config: { overlay: { maxPods: 100 } } });
  await other.untilReason('gpu', 'RolloutComplete');
  expect(await notified(other)).toBeUndefined();

  // The next leader delivers what this one has not.
  await other.stopController();
  const working = await receiver();
  other.sendNotice = sender(working.url);
  other.startController();
  await other.until('delivered', async () => working.notices.length === 1);
  expect(working.events()).toEqual(['Complete']);
});

test('the token is sent over TLS to a receiver whose authority is in the file, and is in no error', async () => {
  const dir = temporaryDir();
  const tls = selfSigned('localhost', ['127.0.0.1'], Date.now(), systemRandom);
  const [caFile, tokenFile] = [join(dir, 'ca.crt'), join(dir, 'token')];
  writeFileSync(caFile, tls.cert);
  writeFileSync(tokenFile, 'first-token\n');
  const hook = await receiver({ tls, answer: (count) => (count === 2 ? 401 : 200) });
  const { signal } = new AbortController();
  const send = sender(hook.url, { caFile, tokenFile });
  const notice = { id: 'x' } as Notice;
  await send(notice, signal);
  writeFileSync(tokenFile, 'second-token-\n');
  const refused: Error = await send(notice, signal).then(
    () => expect.unreachable(),
    (error) => error,
  );
  expect(hook.headers.map(({ authorization }) => authorization)).toEqual([
    'Bearer first-token',
    'Bearer second-token-',
  ]);
  expect(refused.message).toMatch(/^https:\/\/127\.0\.0\.1:\d+ answered 401$/);
  const unknown: Error = await sender(hook.url, { tokenFile })(notice, signal).then(
    () => expect.unreachable(),
    (error) => error,
  );
  expect(unknown.message).toMatch(/^cannot reach https:\/\/127\.0\.0\.1:\d+: \w+/);
  expect(hook.requests()).toBe(2);
  expect(`${refused.stack}${unknown.stack}`).not.toMatch(/secret-path|-token/);
});

test.each([
  ['ftp://hooks.example/', undefined, /must be a URL with https, or http/],
  ['nonsense', undefined, /must be a URL/],
  ['http://hooks.example/', 'token', /needs a --webhook-url with https/],
])('%s with a token file %s is refused at the start', (url, tokenFile, message) =>
  expect(() => sender(url, { tokenFile })).toThrow(message),
);

/**
 * kill -9 during concurrent writes: acknowledged writes are there, revisions only grow, watches resume without gap or
 * repetition.
 */
import { readFileSync } from 'node:fs';
import { Agent, type RequestOptions, request } from 'node:https';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.js';
import { type Program, startRelet } from '../program.js';
import { temporaryDir } from '../temporary-dir.js';

const rounds = 20;
const writers = 8;
const maps = '/api/v1/namespaces/default/configmaps';

const directory = temporaryDir();
let server: Program | undefined;

afterAll(() => server?.kill('SIGKILL'));

/** Starts the server and resolves with its address once it is ready. */
async function start(): Promise<string> {
  server = startRelet(['apiserver', '--data-dir', directory, '--port', '0']);
  await server.printed(/^ready$/m);
  return /^url: (.*)$/m.exec(server.stdout)![1]!;
}

/** Connections to one server: `destroy` breaks all of them. */
interface Session {
  begin(options: RequestOptions): ReturnType<typeof request>;
  destroy(): void;
}

function connection(url: string): Session {
  const pki = (file: string) => readFileSync(join(directory, 'pki', file));
  const agent = new Agent({ ca: pki('ca.crt'), cert: pki('admin.crt'), key: pki('admin.key'), keepAlive: true });
  return { begin: (options) => request(url, { ...options, agent }), destroy: () => agent.destroy() };
}

interface Answer {
  code: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of several kinds
  json: any;
}

/** Rejects when the connection breaks before the response is complete: then nothing was acknowledged. */
function call(session: Session, method: string, path: string, body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const sent = session.begin({ method, path, headers: { 'content-type': type } });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('close', () => {
        try {
          if (response.complete) resolve({ code: response.statusCode ?? 0, json: JSON.parse(text) });
          else reject(new Error('the connection broke'));
        } catch (error) {
          reject(error);
        }
      });
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

interface Seen {
  type: string;
  name: string;
  version: number;
}

/** Collects events until the connection breaks or `stop` is called. */
function follow(session: Session, from: number): { events: Seen[]; stop(): void } {
  const events: Seen[] = [];
  const sent = session.begin({ path: `${maps}?watch=true&resourceVersion=${from}` });
  let rest = '';
  sent.on('error', () => {});
  sent.on('response', (response) => {
    response.on('error', () => {});
    response.on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      for (const line of lines) {
        const { type, object } = JSON.parse(line);
        events.push({ type, name: object.metadata?.name, version: Number(object.metadata?.resourceVersion) });
      }
    });
  });
  sent.end();
  return { events, stop: () => sent.destroy() };
}

/** The highest value of each writer that was acknowledged. */
const acknowledged = new Map<string, number>();
/** The highest value that each writer sent. */
const sent = new Map<string, number>();
let highestVersion = 0;

/** Writes without pause until the connection breaks. */
async function write(session: Session, name: string): Promise<void> {
  for (;;) {
    const value = (sent.get(name) ?? 0) + 1;
    sent.set(name, value);
    const isNew = !acknowledged.has(name);
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value: String(value) } };
    const answer = isNew
      ? await call(session, 'POST', maps, object)
      : await call(session, 'PATCH', `${maps}/${name}`, { data: { value: String(value) } });
    // An object whose create was not answered may exist; the next write changes it.
    if (isNew && answer.code === 409) acknowledged.set(name, 0);
    else {
      expect([200, 201]).toContain(answer.code);
      expect(answer.json.data.value).toBe(String(value));
      acknowledged.set(name, value);
      highestVersion = Math.max(highestVersion, Number(answer.json.metadata.resourceVersion));
    }
  }
}

describe('kill -9', () => {
  test(`${rounds} times during writes loses no acknowledged write`, { timeout: 240_000 }, async () => {
    const history: Seen[] = [];
    for (let round = 0; round < rounds; round++) {
      const url = await start();
      const session = connection(url);
      const { json } = await call(session, 'GET', maps);
      const present = new Map<string, number>(
        json.items.map((item: { metadata: { name: string }; data?: { value: string } }) => [
          item.metadata.name,
          Number(item.data?.value ?? 0),
        ]),
      );
      for (const [name, value] of acknowledged) {
        expect(present.get(name), `${name} in round ${round}`).toBeGreaterThanOrEqual(value);
        expect(present.get(name)).toBeLessThanOrEqual(sent.get(name)!);
      }
      expect(Number(json.metadata.resourceVersion)).toBeGreaterThanOrEqual(highestVersion);

      const watch = follow(session, history.at(-1)?.version ?? Number(json.metadata.resourceVersion));
      const writing = Array.from({ length: writers }, (_, at) => write(session, `w${at}`));
      // Long enough for many writes; the moment of the kill is random.
      const enough = Math.ceil(Math.random() * 60);
      const before = highestVersion;
      await eventually('enough writes', () => highestVersion >= before + enough);
      server!.kill('SIGKILL');
      await Promise.allSettled(writing);
      await server!.exited;
      session.destroy();
      history.push(...watch.events);
    }
    checkHistory(history);
    await checkEnd(history);
  });
});

/** Watched versions only ever rise: nothing twice, nothing out of order, no error events. */
function checkHistory(history: Seen[]): void {
  expect(history.length).toBeGreaterThan(rounds);
  for (const [at, event] of history.entries()) {
    expect(event.type).toMatch(/^(ADDED|MODIFIED)$/);
    if (at > 0) expect(event.version).toBeGreaterThan(history[at - 1]!.version);
  }
}

/**
 * Everything after the first event is in the server's history: the events of the broken watches are exactly a part of
 * it.
 */
async function checkEnd(history: Seen[]): Promise<void> {
  const url = await start();
  const session = connection(url);
  const first = history[0]!.version - 1;
  const { json } = await call(session, 'GET', maps);
  const replay = follow(session, first);
  const newest = Math.max(
    ...json.items.map((item: { metadata: { resourceVersion: string } }) => Number(item.metadata.resourceVersion)),
  );
  await eventually('the whole history', () => (replay.events.at(-1)?.version ?? 0) >= newest);
  const upTo = history.at(-1)!.version;
  expect(replay.events.filter(({ version }) => version <= upTo)).toEqual(history);
  replay.stop();
  session.destroy();
  server!.kill('SIGTERM');
  expect((await server!.exited).code).toBe(0);
}

/** Informer and watch loop on the embedded server through a network that breaks: no event is missed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KubeObject } from '../src/api/object.js';
import type { KubeClient } from '../src/kube/client.js';
import { createInformer } from '../src/kube/informer.js';
import { configMaps } from '../src/kube/resource-type.js';
import { watchLoop } from '../src/kube/watch.js';
import { startApiServer } from '../src/lab/apiserver/apiserver.js';
import { clientFor } from './cluster-rig.js';
import { temporaryDir } from './temporary-dir.js';

const namespace = 'default';
const configMap = (name: string, value: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data: { value },
});
const write = (client: KubeClient, name: string, value: string) =>
  client.patch(configMaps, { namespace, name }, { data: { value } }, { as: 'merge' });
const backoff = { initialMs: 10, maxMs: 100 };

/** A condition that can be awaited. */
class Received<T> {
  #wake: (() => void)[] = [];
  all: T[] = [];
  add(one: T): void {
    this.all.push(one);
    for (const wake of this.#wake.splice(0)) wake();
  }
  async until(satisfied: (all: T[]) => boolean): Promise<void> {
    while (!satisfied(this.all)) await new Promise<void>((resolve) => this.#wake.push(resolve));
  }
}

/** A proxy to the server whose connections break after a number of bytes, again and again. */
async function brittleLine(serverPort: number, lifeBytes: () => number) {
  const sockets = new Set<Socket>();
  let cuts = 0;
  const line = createServer((near) => {
    const far = connect(serverPort, '127.0.0.1');
    let left = lifeBytes();
    far.on('data', (data) => {
      near.write(data);
      left -= data.length;
      if (left < 0) {
        cuts++;
        near.destroy();
      }
    });
    near.on('data', (data) => far.write(data));
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    line.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (line.address() as AddressInfo).port, cuts: () => cuts };
}

describe('a watch of the embedded server', () => {
  test('an informer has the objects of the server after hundreds of changes over connections that break', async () => {
    const dir = temporaryDir();
    const server = await startApiServer();
    const stop = new AbortController();
    onTestFinished(async () => {
      stop.abort();
      await server.close();
    });
    const admin = clientFor(server.kubeconfig);
    const line = await brittleLine(server.port, () => 3000 + Math.random() * 20_000);
    const broken = join(dir, 'kubeconfig');
    writeFileSync(broken, readFileSync(server.kubeconfig, 'utf8').replaceAll(String(server.port), String(line.port)));

    const keys = new Received<string>();
    const informer = createInformer(clientFor(broken), {
      type: configMaps,
      namespace,
      signal: stop.signal,
      backoff,
      keep: ({ data }) => (data as { value: string }).value,
      onKey: (key) => keys.add(key),
      onFailure: () => {},
    });
    for (let i = 0; i < 400; i++) {
      const name = `c${i % 20}`;
      if (i < 20) await admin.create(configMaps, { namespace }, configMap(name, '0'));
      else if (i % 7 === 0) {
        await admin.delete(configMaps, { namespace, name });
        await admin.create(configMaps, { namespace }, configMap(name, `again ${i}`));
      } else await write(admin, name, `value ${i}`);
    }
    await admin.delete(configMaps, { namespace, name: 'c3' });
    const { items } = await admin.list<KubeObject & { data: { value: string } }>(configMaps, { namespace });
    const truth = Object.fromEntries(items.map(({ metadata, data }) => [`${namespace}/${metadata.name}`, data.value]));
    const held = () => Object.fromEntries(Object.keys(truth).map((key) => [key, informer.get(key)]));
    const isSame = () => informer.size === items.length && JSON.stringify(held()) === JSON.stringify(truth);
    await keys.until(isSame);
    expect(items).toHaveLength(19);
    expect(line.cuts()).toBeGreaterThan(5);
  });

  test('a watch loop continues after a restart of the server, and receives later changes', async () => {
    const dataDir = temporaryDir();
    const stop = new AbortController();
    let server = await startApiServer({ dataDir });
    onTestFinished(async () => {
      stop.abort();
      await server.close();
    });
    const admin = clientFor(server.kubeconfig);
    await admin.create(configMaps, { namespace }, configMap('one', 'first'));
    const values = new Received<string>();
    const say = (object: KubeObject) => values.add((object.data as { value: string }).value);
    void watchLoop(clientFor(server.kubeconfig), {
      type: configMaps,
      namespace,
      name: 'one',
      signal: stop.signal,
      backoff,
      onList: (objects) => objects.forEach(say),
      onChange: (_type, object) => say(object),
      onFailure: () => values.add('failure'),
    });
    await values.until((all) => all.includes('first'));
    await write(admin, 'one', 'second');
    await values.until((all) => all.includes('second'));
    const { port } = server;
    await server.close();
    await values.until((all) => all.includes('failure'));
    server = await startApiServer({ dataDir, port });
    await write(admin, 'one', 'third');
    await values.until((all) => all.includes('third'));
    expect(values.all.filter((value) => value !== 'failure').at(-1)).toBe('third');
  });

  test('a watch loop lists again when its version was compacted', async () => {
    const stop = new AbortController();
    const server = await startApiServer({ history: { keepEvents: 3 } });
    onTestFinished(async () => {
      stop.abort();
      await server.close();
    });
    const admin = clientFor(server.kubeconfig);
    await admin.create(configMaps, { namespace }, configMap('one', 'first'));
    const received = new Received<string>();
    // The watch is disconnected while the history moves on.
    let isDown = false;
    const gate = createServer((near) => {
      if (isDown) return near.destroy();
      lines.add(near);
      const far = connect(server.port, '127.0.0.1');
      near.pipe(far).pipe(near);
      near.on('error', () => {}).on('close', () => far.destroy());
      far.on('error', () => {});
    });
    const lines = new Set<Socket>();
    await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve));
    const dir = temporaryDir();
    onTestFinished(() => {
      gate.close();
      for (const line of lines) line.destroy();
    });
    const path = join(dir, 'kubeconfig');
    const port = String((gate.address() as AddressInfo).port);
    writeFileSync(path, readFileSync(server.kubeconfig, 'utf8').replaceAll(String(server.port), port));
    void watchLoop(clientFor(path), {
      type: configMaps,
      namespace,
      signal: stop.signal,
      backoff,
      onList: (objects) => received.add(`list ${objects.map(({ metadata }) => metadata.name).sort()}`),
      onChange: (type, { metadata }) => received.add(`${type} ${metadata.name}`),
      onFailure: () => received.add('failure'),
      onWatching: () => received.add('watching'),
    });
    await received.until((all) => all.includes('watching'));
    isDown = true;
    for (const line of lines) line.destroy();
    await received.until((all) => all.includes('failure'));
    for (let i = 0; i < 10; i++) await admin.create(configMaps, { namespace }, configMap(`more${i}`, 'x'));
    await admin.delete(configMaps, { namespace, name: 'one' });
    isDown = false;
    await received.until((all) => all.filter((what) => what.startsWith('list')).length === 2);
    const lists = received.all.filter((what) => what.startsWith('list'));
    expect(lists[0]).toContain('one');
    expect(lists[1]).not.toContain('one');
    expect(lists[1]).toContain('more9');
  });
});

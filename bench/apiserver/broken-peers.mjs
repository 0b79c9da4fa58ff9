/**
 * Whether the lab's API server survives peers that break: each opens a watch over TLS, with HTTP/2 where the server has it, through a
 * relay that spoils the connection in one of several ways while events are sent. `node bench/apiserver/broken-peers.mjs [--peers=10000]`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { request } from 'node:https';
import { connect as connectTcp, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { peers: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
});
const peers = Number(values.peers);
const relet = join(import.meta.dirname, '..', '..', 'bin', 'relet.cjs');
const dir = mkdtempSync(join(tmpdir(), 'relet-broken-peers-'));
let seed = Number(values.seed);
const random = () => {
  seed = (seed * 48271) % 2147483647;
  return seed / 2147483647;
};

/** How a relay spoils a connection whose handshake is done: `up` goes to the server. */
const ways = {
  garbage: ({ up }) => up.write(Buffer.alloc(64, 0xff)),
  'broken record': ({ up }) => up.write(Buffer.concat([Buffer.from([23, 3, 3, 0, 32]), Buffer.alloc(32, 7)])),
  'fatal alert': ({ up }) => up.write(Buffer.from([21, 3, 3, 0, 2, 2, 40])),
  'half a record, then the end': ({ up }) => up.end(Buffer.from([23, 3, 3, 1, 0, 1, 2])),
  reset: ({ up }) => up.resetAndDestroy(),
  'end of one side': ({ up }) => up.end(),
  'close_notify, and no end of the connection': ({ down, socket }) => {
    down.removeAllListeners('end');
    socket.end();
  },
  'not read, then the end': ({ up }) => {
    up.pause();
    setTimeout(() => up.end(), 50 + 400 * random());
  },
  'not read, then a fatal alert': ({ up }) => {
    up.pause();
    setTimeout(() => up.write(Buffer.from([21, 3, 3, 0, 2, 2, 40])), 50 + 400 * random());
  },
  'not read, then reset': ({ up, down }) => {
    up.pause();
    down.pause();
    setTimeout(() => up.resetAndDestroy(), 50 + 400 * random());
  },
  'not read, then garbage': ({ up }) => {
    up.pause();
    setTimeout(() => up.write(Buffer.alloc(64, 0xff)), 50 + 400 * random());
    setTimeout(() => up.destroy(), 1000);
  },
};

const server = spawn(process.execPath, [relet, 'apiserver', '--data-dir', dir, '--port=0', '--storage=memory'], {
  stdio: ['ignore', 'inherit', 'pipe'],
});
let errors = '';
let exit;
server.stderr.setEncoding('utf8').on('data', (text) => (errors = (errors + text).slice(-4000)));
server.once('exit', (code, signal) => (exit = { code, signal }));
const file = join(dir, 'admin.kubeconfig');
const kubeconfig = await until(() => readFileSync(file, 'utf8'));
const part = (name) =>
  Buffer.from(new RegExp(`${name}: (\\S+)`).exec(kubeconfig)[1].replace(/"/g, ''), 'base64').toString();
const port = Number(/server: "?https:\/\/127\.0\.0\.1:(\d+)/.exec(kubeconfig)[1]);
const tls = {
  ca: part('certificate-authority-data'),
  cert: part('client-certificate-data'),
  key: part('client-key-data'),
};
await until(async () => (await call('GET', '/readyz')) === 200 || undefined);

const relay = createServer({ allowHalfOpen: true }, (down) => {
  const up = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true });
  for (const [from, to] of [
    [down, up],
    [up, down],
  ]) {
    from.on('data', (chunk) => to.writable && to.write(chunk));
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
  }
  relay.pairs.set(down.remotePort, { up, down });
  down.on('close', () => relay.pairs.delete(down.remotePort));
});
relay.pairs = new Map();
await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve));

const done = Object.fromEntries(Object.keys(ways).map((way) => [way, 0]));
let protocol = '';
let writing = true;
const writer = (async () => {
  for (let at = 0; writing && exit === undefined; at++) {
    const data = { at: String(at), filler: 'x'.repeat(20_000) };
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `c${at % 5}`, namespace: 'default' },
      data,
    };
    const code = await call('PUT', `/api/v1/namespaces/default/configmaps/c${at % 5}`, object).catch(() => 0);
    if (code === 404) await call('POST', '/api/v1/namespaces/default/configmaps', object).catch(() => 0);
    await sleep(5);
  }
})();

const startedMs = Date.now();
const names = Object.keys(ways);
let next = 0;
await Promise.all(
  Array.from({ length: 40 }, async () => {
    while (next < peers && exit === undefined) {
      const way = names[next++ % names.length];
      await breakOne(way).catch(() => {});
      done[way]++;
    }
  }),
);
writing = false;
await writer;
const code = exit === undefined ? await call('GET', '/readyz').catch(() => 0) : 0;
const result = exit === undefined && code === 200 ? 'survived' : `ended: ${JSON.stringify(exit)}`;
console.log(
  `${next} broken peers (${protocol}) in ${Math.round((Date.now() - startedMs) / 1000)} s: the server ${result}`,
);
for (const [way, count] of Object.entries(done)) console.log(`  ${way}: ${count}`);
if (result !== 'survived') console.log(errors);
server.kill();
relay.close();
rmSync(dir, { recursive: true, force: true });
process.exit(result === 'survived' ? 0 : 1);

/** Eight watches on one connection, so that more than one stream has something to write. */
async function breakOne(way) {
  const socket = connectTls({
    ...tls,
    port: relay.address().port,
    host: '127.0.0.1',
    ALPNProtocols: ['h2', 'http/1.1'],
  });
  socket.on('error', () => {});
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('close', reject));
  const pair = relay.pairs.get(socket.localPort);
  protocol = socket.alpnProtocol || 'http/1.1';
  const path = '/api/v1/configmaps?watch=true';
  if (protocol === 'h2') {
    const session = connectHttp2('https://127.0.0.1', { createConnection: () => socket });
    session.on('error', () => {});
    for (let stream = 0; stream < 8; stream++)
      session
        .request({ ':path': path })
        .on('error', () => {})
        .resume();
  } else {
    socket.on('data', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  }
  await sleep(30 + 70 * random());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  ways[way]({ ...pair, socket });
  await Promise.race([closed, sleep(1500)]);
  socket.destroy();
  pair.up.destroy();
}

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request({ ...tls, port, host: '127.0.0.1', method, path, headers, timeout: 5000 }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject).end(body && JSON.stringify(body));
  });
}

async function until(get) {
  for (;;) {
    const found = await Promise.resolve()
      .then(get)
      .catch(() => undefined);
    if (found !== undefined) return found;
    if (exit !== undefined) throw new Error(`the server ended: ${errors}`);
    await sleep(200);
  }
}

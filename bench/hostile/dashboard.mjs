/**
 * The server of the dashboard while it compares two configs for somebody: a child process compares them, so what counts is how long the
 * event loop of the server is kept busy at a stretch. Runs `relet apiserver` and `relet dashboard`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const relet = fileURLToPath(new URL('../../bin/relet.cjs', import.meta.url));
const preload = fileURLToPath(new URL('longest-slice.cjs', import.meta.url));

export async function startDashboard() {
  const dir = mkdtempSync(join(tmpdir(), 'relet-hostile-'));
  const slice = join(dir, 'slice');
  const api = start(['apiserver', '--data-dir', dir, '--port=0', '--storage=memory']);
  await api.printed(/^ready$/m);
  const kubeconfig = readFileSync(join(dir, 'admin.kubeconfig'), 'utf8');
  const data = (name) => Buffer.from(new RegExp(`${name}-data: "?([^"\\s]+)`).exec(kubeconfig)[1], 'base64').toString();
  const [, host, port] = /server: "?https:\/\/([^:]+):(\d+)/.exec(kubeconfig);
  const tls = { ca: data('certificate-authority'), cert: data('client-certificate'), key: data('client-key') };
  const env = { ...process.env, SLICE_FILE: slice, NODE_OPTIONS: `--require=${JSON.stringify(preload)}` };
  const dashboard = start(['dashboard', '--port=0', `--kubeconfig=${join(dir, 'admin.kubeconfig')}`], env);
  const [, own, once] = await dashboard.printed(/127\.0\.0\.1:(\d+)\/\S*#once=(\S+)\s/);
  const page = { host: '127.0.0.1', port: own };
  const login = await send(httpRequest, { ...page, method: 'POST', path: '/api/login' }, { once });
  const headers = { cookie: login.headers['set-cookie'][0].split(';')[0] };

  const write = async (name, text) => {
    const metadata = { name, namespace: 'default' };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { kubelet: text } };
    const path = '/api/v1/namespaces/default/configmaps';
    await send(httpsRequest, { ...tls, host, port, method: 'DELETE', path: `${path}/${name}` });
    const { status } = await send(httpsRequest, { ...tls, host, port, method: 'POST', path }, object);
    if (status !== 201) throw new Error(`POST ${path}: ${status}`);
  };
  return {
    /** The longest slice of the server, and its status code where that is not 200. */
    async compare(before, after) {
      await write('a', before);
      await write('b', after);
      rmSync(slice, { force: true });
      await sleep(50);
      const path = '/api/configs/diff?a=default/a&b=default/b';
      const { status } = await send(httpRequest, { ...page, method: 'GET', path, headers });
      await sleep(50);
      return { ms: Number(readFileSync(slice, 'utf8')), outcome: status === 200 ? '' : String(status) };
    },
    async stop() {
      await Promise.all([dashboard.end(), api.end()]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function start(args, env = process.env) {
  const child = spawn(process.execPath, [relet, ...args], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  const ended = new Promise((resolve) => child.once('exit', resolve));
  return {
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        child.stdout.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
          const found = pattern.exec(text);
          if (found !== null) resolve(found);
        });
        ended.then((code) => reject(new Error(`relet ${args[0]} ended with ${code}`)));
      }),
    end() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

function send(request, { headers = {}, ...options }, body) {
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, headers: { 'content-type': 'application/json', ...headers } }, (answer) => {
      answer.resume().on('end', () => resolve({ status: answer.statusCode, headers: answer.headers }));
    });
    sent.on('error', reject).end(body && JSON.stringify(body));
  });
}

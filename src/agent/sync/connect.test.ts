/** The name of the Node that an agent belongs to, and its user: the credential that a program gives is the node's own, or is not used. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Answer, answerJson, answerStatus, startScriptedServer } from '../../../test/scripted-server.js';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { systemClock } from '../../clock.js';
import { systemFileReader } from '../../kube/kubeconfig.js';
import { silentLog } from '../../log.js';
import { systemRandom } from '../../random.js';
import { NodeConnection, nodeNameFrom } from './connect.js';

/** A node whose kubeconfig runs a program. */
async function connect(answer: Answer) {
  const server = await startScriptedServer(answer);
  onTestFinished(() => server.close());
  const dir = temporaryDir();
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'node-token', interactiveMode: 'Never' };
  const kubeconfig = join(dir, 'kubelet.conf');
  const text = {
    clusters: [{ name: 'c', cluster: { server: server.url } }],
    users: [{ name: 'u', user: { exec } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(kubeconfig, JSON.stringify(text));
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  return new NodeConnection({
    kubeconfig,
    hostnameOverride: 'node-a',
    hostname: 'host',
    userAgent: 'relet/test',
    version: '0',
    followed: () => {
      throw new Error('nothing is followed yet');
    },
    env: {},
    files: systemFileReader,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  }).connect(stop.signal);
}

const userIs =
  (username: string): Answer =>
  (_request, response) =>
    answerJson(response, { status: { userInfo: { username } } });

test('a credential of another user is not used, and the error names both', async () => {
  await expect(connect(userIs('system:node:node-b'))).rejects.toThrow(
    'the credential of the kubeconfig belongs to system:node:node-b, not to system:node:node-a',
  );
});

test('a credential whose user cannot be checked now is not used', async () => {
  const unavailable: Answer = (_request, response) => answerStatus(response, 503, 'ServiceUnavailable', 'starting');
  await expect(connect(unavailable)).rejects.toThrow('starting');
});

test.each<[string, Answer]>([
  ["the node's own", userIs('system:node:node-a')],
  [
    'one of a server that has no such review',
    (_request, response) => answerStatus(response, 404, 'NotFound', 'not found'),
  ],
])('a credential is used that is %s', async (_name, answer) => {
  expect((await connect(answer)).nodeName).toBe('node-a');
});

test.each([
  ['the client certificate has the node name', 'O=system:nodes\nCN=system:node:real', 'override', 'HOST', 'real'],
  ['without such a certificate the node name is --hostname-override', 'CN=someone', ' Override ', 'HOST', 'override'],
  ['without both the node name is the lower-cased host name', undefined, undefined, 'HOST.Example', 'host.example'],
])('%s', (_name, subject, override, host, expected) => expect(nodeNameFrom(subject, override, host)).toBe(expected));

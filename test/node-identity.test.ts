/** The node's credential as it changes under a running relet: bootstrap, rotation, expiry, refusal. */

import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { holdRecord } from '../src/agent/requests.js';
import { trialRecord } from '../src/agent/trial/trial.js';
import type { TokenAuthenticator } from '../src/lab/apiserver/access/authenticate.js';
import { issue, type KeyPair } from '../src/lab/apiserver/pki/issue.js';
import { systemRandom } from '../src/random.js';
import { type ClusterRig, createClusterRig } from './cluster-rig.js';
import { FlowingClock } from './flowing-clock.js';
import { sendSignal } from './program.js';

const hourMs = 3_600_000;

/** A certificate for the node of this rig that ends so long from now; in the past where that is negative. */
function certificate(rig: ClusterRig, endsInMs: number): Promise<KeyPair> {
  const pki = dirname(rig.server.caFile);
  const authority = {
    cert: readFileSync(join(pki, 'ca.crt'), 'utf8'),
    key: readFileSync(join(pki, 'ca.key'), 'utf8'),
  };
  const leaf = { commonName: `system:node:${rig.name}`, organizations: ['system:nodes'], usage: 'client' as const };
  const validity = { from: new Date(Date.now() - 48 * hourMs), to: new Date(Date.now() + endsInMs) };
  return issue(authority, leaf, validity, systemRandom);
}

/** As a kubelet writes it: certificate and key in one file, behind a link that is moved with every rotation. */
function install(rig: ClusterRig, { cert, key }: KeyPair, serial: number): string {
  const dir = dirname(rig.nodeKubeconfig);
  const [file, link] = [join(dir, `kubelet-client-${serial}.pem`), join(dir, 'kubelet-client-current.pem')];
  writeFileSync(file, cert + key);
  symlinkSync(file, `${link}.new`);
  renameSync(`${link}.new`, link);
  return link;
}

function kubeconfig(rig: ClusterRig, user: object): void {
  const server = { server: rig.server.url, 'certificate-authority': rig.server.caFile };
  const text = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: server }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
  writeFileSync(rig.nodeKubeconfig, text);
}

async function run(rig: ClusterRig, name: string, ...orders: string[]): Promise<string> {
  const { metadata } = await rig.createConfigMap(name, { kubelet: rig.node.config(...orders) });
  await rig.point(name);
  await rig.until(`${name} is active`, () => rig.config?.active?.configMap?.uid === metadata.uid);
  return metadata.uid!;
}

describe('bootstrap', () => {
  test('the kubelet starts without a kubeconfig, and is followed when it and its certificate appear', async () => {
    const rig = await createClusterRig({ boot: false });
    rmSync(rig.nodeKubeconfig);
    rig.node.boot();
    await rig.node.until('local runs', () => rig.node.status() !== undefined);
    const link = join(dirname(rig.nodeKubeconfig), 'kubelet-client-current.pem');
    kubeconfig(rig, { 'client-certificate': link, 'client-key': link });
    rig.node.clock.advance(1000);
    await rig.node.until('waits for the certificate', () => /client-certificate.*no such file/.test(rig.node.log()));
    install(rig, await certificate(rig, hourMs), 1);
    rig.node.clock.advance(1000);
    await rig.until('first status', () => rig.config !== undefined);
    await run(rig, 'good');
  });
});

describe('a certificate that makes no sense', () => {
  test('is said, and asked for again until it does', async () => {
    const rig = await createClusterRig({ boot: false });
    const whole = await certificate(rig, hourMs);
    const halfOfIt = whole.cert.slice(0, whole.cert.length >> 1);
    const link = install(rig, { cert: halfOfIt, key: whole.key }, 1);
    kubeconfig(rig, { 'client-certificate': link, 'client-key': link });
    rig.node.boot();
    await rig.node.until('said', () => rig.node.log().includes('cannot connect to the API server, will retry'));
    await rig.node.until('local runs all the same', () => rig.node.starts().length === 1);
    install(rig, whole, 2);
    await rig.node.advanceUntil('first status', () => rig.config !== undefined);
    await run(rig, 'good');
  });
});

describe('rotation', () => {
  test('a certificate that was replaced is used for the next request', async () => {
    const clock = new FlowingClock();
    const rig = await createClusterRig({ boot: false, server: { clock } });
    const link = install(rig, await certificate(rig, hourMs), 1);
    kubeconfig(rig, { 'client-certificate': link, 'client-key': link });
    rig.node.boot();
    await rig.until('first status', () => rig.config !== undefined);
    install(rig, await certificate(rig, 100 * hourMs), 2);
    // To the server the first certificate is over from here on; to the node it is not.
    clock.advance(2 * hourMs);
    await run(rig, 'good');
    expect(rig.node.log()).not.toContain('Unauthorized');
  });

  test('a token file that was replaced is used for the next request', async () => {
    const good = new Set(['one']);
    const user = { name: 'system:node:node-a', uid: '', groups: ['system:nodes'], extra: {} };
    const tokens: TokenAuthenticator = { authenticate: (token) => (good.has(token) ? { user } : undefined) };
    const rig = await createClusterRig({ boot: false, server: { tokens: [tokens] } });
    const tokenFile = join(dirname(rig.nodeKubeconfig), 'token');
    writeFileSync(tokenFile, 'one\n');
    kubeconfig(rig, { tokenFile });
    rig.node.boot();
    await rig.until('first status', () => rig.config !== undefined);
    writeFileSync(`${tokenFile}.new`, 'two\n');
    renameSync(`${tokenFile}.new`, tokenFile);
    good.add('two').delete('one');
    await run(rig, 'good');
  });
});

describe('expiry', () => {
  test('a kubelet that dies of an expired certificate does not cost its config the trial', async () => {
    const rig = await createClusterRig();
    const link = install(rig, await certificate(rig, hourMs), 1);
    kubeconfig(rig, { 'client-certificate': link, 'client-key': link });
    // A kubelet without a usable certificate exits.
    const usable = join(dirname(rig.nodeKubeconfig), 'usable');
    writeFileSync(usable, '');
    const uid = await run(rig, 'good', `# needs ${usable}`);
    install(rig, await certificate(rig, -hourMs), 2);
    rmSync(usable);
    sendSignal(rig.node.starts().at(-1)!.pid, 'SIGKILL');
    const exits = () => rig.node.log().split('the client certificate of the node has expired" blame=none').length - 1;
    // One more than a trial allows, and the kill from outside.
    for (let exit = 1; exit <= 5; exit++) {
      if (exit > 1) rig.node.clock.advance(60_000);
      await rig.node.until('exited', () => exits() === exit);
    }
    expect(rig.node.starts().every(({ configFile }, start) => start === 0 || configFile?.includes(uid))).toBe(true);
    expect(rig.node.state.read(trialRecord)?.deaths).toBe(0);
    expect(rig.node.status()?.error).toBeUndefined();
    writeFileSync(usable, '');
    install(rig, await certificate(rig, 1000 * hourMs), 3);
    rig.node.clock.advance(60_000);
    await rig.node.until('healthy', () => rig.node.log().split('kubelet is healthy').length === 4);
    await rig.node.advanceUntil('last known good', () => rig.node.status()?.lastKnownGood?.configMap?.uid === uid);
  });

  test('nor does one that waits silently for a new certificate', async () => {
    const rig = await createClusterRig({ boot: false });
    const link = install(rig, await certificate(rig, -hourMs), 1);
    kubeconfig(rig, { 'client-certificate': link, 'client-key': link });
    rig.node.remember('assigned', '1', rig.node.config('# unhealthy'));
    rig.node.boot();
    // The API would say: local.
    rig.node.state.write(holdRecord, { since: '', why: 'test' });
    const excuse = 'client certificate expired, failure not counted against the config';
    await rig.node.until('started', () => rig.node.starts().length === 1);
    rig.node.clock.advance(61_000);
    await rig.node.until('excused', () => rig.node.log().includes(excuse));
    expect(rig.node.starts()).toHaveLength(1);
    // With a good one the same silence is the config's fault.
    install(rig, await certificate(rig, 1000 * hourMs), 2);
    await rig.node.advanceUntil('rolled back', () => rig.node.starts().length === 2);
    expect(rig.node.log()).toContain('rolled back: the kubelet was not healthy in time with this config');
  });
});

describe('no instruction', () => {
  const tokens: TokenAuthenticator = {
    authenticate: (token) =>
      token === 'nobody' ? { user: { name: 'nobody', uid: '', groups: [], extra: {} } } : undefined,
  };

  test.each([
    ['401', 'unknown', /Unauthorized/],
    ['403', 'nobody', /User \\?"nobody\\?" cannot/],
  ])('a server that answers %s to everything changes nothing on the node', async (_code, token, answer) => {
    const rig = await createClusterRig({ server: { tokens: [tokens] } });
    const uid = await run(rig, 'good');
    const starts = rig.node.starts().length;
    kubeconfig(rig, { token });
    await rig.node.stop();
    rig.node.boot();
    await rig.node.until('runs again', () => rig.node.status()?.active !== undefined);
    await rig.node.until('rejected', () => answer.test(rig.node.log()));
    rig.node.clock.advance(60_000);
    await rig.node.until('reported', () => rig.node.status()?.error !== undefined);
    expect(rig.node.status()).toMatchObject({
      active: { configMap: { uid } },
      assigned: { configMap: { uid } },
      error: 'failed to sync: internal failure, see Kubelet log for details',
    });
    expect(rig.node.starts()).toHaveLength(starts + 1);
    expect(rig.node.starts().at(-1)?.configFile).toContain(uid);
    // And when it may ask again, all is as it was.
    await rig.connect();
    rig.node.clock.advance(60_000);
    await rig.node.until('no error', () => rig.node.status()?.error === undefined);
    expect(rig.node.starts()).toHaveLength(starts + 1);
  });
});

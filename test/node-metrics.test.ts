/** The metrics of a node over TLS: who may read them is what the API server says, which is asked with the node's own credential. */
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readOptions } from '../src/agent/options.js';
import type { KubeObject } from '../src/api/object.js';
import { serveNodeMetrics } from '../src/cli/node/node-metrics.js';
import { systemClock } from '../src/clock.js';
import { clusterRoleBindings, clusterRoles } from '../src/kube/resource-type.js';
import { silentLog } from '../src/log.js';
import { type Cluster, embeddedCluster, realCluster, tokenOf } from './cluster/cluster.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { createAuthority } from './pki.js';
import { temporaryDir } from './temporary-dir.js';

const assets = process.env.KUBEBUILDER_ASSETS;
const certDir = temporaryDir();
const stop = new AbortController();
let cluster: Cluster;
let port: number;

beforeAll(async () => {
  cluster = await (assets === undefined ? embeddedCluster() : realCluster(assets));
  port = await freePort();
  serveNodeMetrics({
    options: readOptions(
      new Map([
        ['metrics-bind-address', ['0']],
        ['metrics-secure-bind-address', [`127.0.0.1:${port}`]],
      ]),
    ),
    certDir,
    render: () => 'relet_held 0\n',
    client: () => cluster.client('system:node:node-a'),
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
  });
});
afterAll(async () => {
  stop.abort();
  await cluster?.close();
});

/** Status code, text, and whom the certificate of the server names. */
function scrape(token?: string): Promise<{ code: number | undefined; text: string; server: string }> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const asked = request(
      { port, path: '/metrics', headers, agent: false, rejectUnauthorized: false },
      async (answer) => {
        const server = String((answer.socket as TLSSocket).getPeerCertificate().subject.CN);
        let text = '';
        for await (const chunk of answer) text += chunk;
        resolve({ code: answer.statusCode, text, server });
      },
    );
    asked.on('error', reject);
    asked.end();
  });
}

test('who may get /metrics by RBAC reads them, others get 401 or 403, and a renewed certificate is used at once', async () => {
  await expect(scrape(tokenOf('viewer'))).rejects.toThrow();
  const authority = await createAuthority();
  const own = await authority.sign('CN=node-a');
  writeFileSync(join(certDir, 'kubelet.crt'), own.cert);
  writeFileSync(join(certDir, 'kubelet.key'), own.key);
  expect(await scrape()).toMatchObject({ code: 401, server: 'node-a' });
  expect(await scrape('wrong')).toMatchObject({ code: 401 });
  expect(await scrape(tokenOf('editor'))).toMatchObject({
    code: 403,
    text: expect.stringContaining('relet:metrics-reader'),
  });

  const people = readFileSync(join(import.meta.dirname, '../deploy/base/people.yaml'), 'utf8');
  const name = 'relet:metrics-reader';
  const role = parseAllDocuments(people)
    .map((one) => one.toJS() as KubeObject)
    .find((one) => one.metadata.name === name)!;
  const admin = cluster.client('admin');
  await admin.create(clusterRoles, {}, role);
  const group = 'rbac.authorization.k8s.io';
  await admin.create(
    clusterRoleBindings,
    {},
    {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'scrapers' },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name },
      subjects: [{ kind: 'User', apiGroup: group, name: 'viewer' }],
    },
  );
  await eventually('allowed', async () => (await scrape(tokenOf('viewer'))).code === 200);

  const signed = await authority.sign('CN=system:node:node-a');
  writeFileSync(join(certDir, 'kubelet-server-current.pem'), `${signed.cert}\n${signed.key}\n`);
  const answer = await scrape(tokenOf('viewer'));
  expect(answer).toEqual({ code: 200, text: 'relet_held 0\n', server: 'system:node:node-a' });
});

/** Turns a test's API server into a cluster with NodeConfigs: what deploy/ brings, and the controller with its own service account. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../src/api/object.js';
import { runController } from '../src/controller/controller.js';
import { newControllerCounters } from '../src/controller/metrics.js';
import type { KubeClient } from '../src/kube/client.js';
import type { ApiServer } from '../src/lab/apiserver/apiserver.js';
import { kubeconfigText } from '../src/lab/apiserver/pki/admin-kubeconfig.js';
import { silentLog } from '../src/log.js';
import { clientFor } from './cluster-rig.js';

const deploy = join(import.meta.dirname, '../deploy');
const account = 'system:serviceaccount:relet-system:relet-controller';

export async function makeClusterOfToday(server: ApiServer, admin: KubeClient, dir: string): Promise<void> {
  await applyDeploy(admin);
  const kubeconfig = join(dir, 'controller.kubeconfig');
  const client = await server.pki.issueClient(account, ['system:serviceaccounts']);
  writeFileSync(kubeconfig, kubeconfigText({ server: server.url, ca: server.pki.ca, user: account, client }));
  const stop = new AbortController();
  const controller = clientFor(kubeconfig);
  const running = runController(
    {
      client: controller,
      guards: 'auto',
      settleMs: 0,
      log: silentLog,
      counters: newControllerCounters(),
    },
    stop.signal,
  );
  onTestFinished(async () => {
    stop.abort();
    await running;
    controller.close();
  });
}

/** Definitions and the namespace before what needs them; no Deployment, since nobody would run it. */
/** Creates the objects of deploy/, except the Deployment. */
export async function applyDeploy(admin: KubeClient): Promise<void> {
  for (const object of objectsIn('base').concat(objectsIn('guards'))) await apply(admin, object);
}

function objectsIn(part: string): KubeObject[] {
  const rank = ({ kind }: KubeObject) => ['Namespace', 'CustomResourceDefinition'].indexOf(kind);
  return readdirSync(join(deploy, part))
    .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
    .flatMap((name) => parseAllDocuments(readFileSync(join(deploy, part, name), 'utf8')))
    .map((document) => document.toJS() as KubeObject)
    .filter(({ kind }) => kind !== 'Deployment')
    .sort((a, b) => rank(b) - rank(a));
}

async function apply(admin: KubeClient, object: KubeObject): Promise<void> {
  const [group, version] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', object.apiVersion];
  const resource = object.kind.endsWith('y') ? `${object.kind.slice(0, -1)}ies` : `${object.kind}s`;
  const { name, namespace } = object.metadata;
  const type = { group: group!, version: version!, resource: resource.toLowerCase() };
  await admin.create(type, namespace === undefined ? {} : { namespace }, object).catch((error: unknown) => {
    throw new Error(`${object.kind} ${name}`, { cause: error });
  });
}

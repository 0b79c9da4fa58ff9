/** Turns a test's API server into a cluster with NodeConfigs: what deploy/ brings, and the controller with its own service account. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runController } from '../src/controller/controller.js';
import { newControllerCounters } from '../src/controller/metrics.js';
import type { KubeClient } from '../src/kube/client.js';
import type { ApiServer } from '../src/lab/apiserver/apiserver.js';
import { kubeconfigText } from '../src/lab/apiserver/pki/admin-kubeconfig.js';
import { silentLog } from '../src/log.js';
import { readManifests } from '../src/rehearsal/manifests.js';
import { applyManifests } from '../src/rehearsal/simulation/server.js';
import { clientFor } from './cluster-rig.js';

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

/** Read once for all clusters of a worker. */
const manifests = ['base', 'guards'].flatMap((part) => readManifests(join(import.meta.dirname, '../deploy', part)));

/** Creates the objects of deploy/, except the Deployment. */
export const applyDeploy = (admin: KubeClient): Promise<void> => applyManifests(admin, manifests);

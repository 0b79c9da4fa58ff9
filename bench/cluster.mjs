/** A cluster for the benches of many nodes: an API server as a process, its administrator, and Nodes without kubelets. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as rig from './agent/rig.mjs';
import { startKubernetes, startRelet } from './apiserver/servers.mjs';

export const token = 'bench-token';

/** `kind`: relet's own server, or etcd and kube-apiserver of KUBEBUILDER_ASSETS. Stops with the bench. */
export async function startCluster(kind = 'relet') {
  const dir = rig.newDir();
  const server = kind === 'relet' ? await startRelet() : await startKubernetes(process.env.KUBEBUILDER_ASSETS);
  rig.atEnd(() => server.stop());
  const url = `https://127.0.0.1:${server.port}`;
  const caFile = join(dir, 'ca.crt');
  writeFileSync(caFile, server.ca());
  const admin = rig.administrator(url, caFile, { token });
  const kubeconfig = rig.writeKubeconfig(join(dir, 'kubeconfig'), { server: url, caFile, token });
  return { dir, server, url, caFile, admin, kubeconfig };
}

/** Works on 0, 1, … `count` - 1, on 20 of them at a time. */
export async function inParallel(count, work) {
  let next = 0;
  const line = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 20 }, line));
}

/** A Node that is Ready. */
export async function addNode(admin, metadata, nodeInfo = {}) {
  const node = await admin.send('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata });
  const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'modelled' }];
  const status = { ...node.status, conditions, nodeInfo: { ...node.status?.nodeInfo, ...nodeInfo } };
  await admin.send('PUT', `/api/v1/nodes/${metadata.name}/status`, { ...node, status });
}

/** Every write of any object raises the revision by one. */
export async function revision(admin) {
  const { metadata } = await admin.send('GET', '/api/v1/namespaces?limit=1');
  return Number(metadata.resourceVersion);
}

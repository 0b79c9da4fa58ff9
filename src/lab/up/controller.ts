/** The controller of a system on one machine: its identity, its process, and the manifests of deploy/. */
import { join } from 'node:path';
import type { KubeObject } from '../../api/object.js';
import { replaceFile } from '../../atomic-file.js';
import type { KubeClient } from '../../kube/client.js';
import { readManifests } from '../../rehearsal/manifests.js';
import { kubeconfigText } from '../apiserver/pki/admin-kubeconfig.js';
import type { Pki } from '../apiserver/pki/pki.js';
import type { SystemDirectory } from './directory.js';

const account = 'system:serviceaccount:relet-system:relet-controller';
const groups = ['system:serviceaccounts', 'system:serviceaccounts:relet-system'];

/** It is the service account of deploy/, and may do no more than that. */
export async function prepareController(directory: SystemDirectory, pki: Pki, server: string): Promise<void> {
  const client = await pki.issueClient(account, groups);
  replaceFile(directory.controllerKubeconfig, kubeconfigText({ server, ca: pki.ca, user: account, client }));
}

export const controllerCommand = (relet: string[], directory: SystemDirectory): string[] => [
  ...relet,
  'controller',
  `--kubeconfig=${directory.controllerKubeconfig}`,
  // The embedded API server enforces a policy from the moment it has stored it.
  '--guards-settle-time=0s',
];

/**
 * `kubectl apply -k` of one part of `deployDir`, without the Deployment: here the controller is a process. Where Nodes store the
 * reference, only the namespace of the configs is needed.
 */
export async function applyDeploy(
  client: KubeClient,
  deployDir: string,
  part: 'namespace' | 'base' | 'guards',
): Promise<void> {
  const manifests = readManifests(join(deployDir, part === 'guards' ? 'guards' : 'base'));
  const objects = part === 'namespace' ? manifests.filter(({ kind }) => kind === 'Namespace') : manifests;
  const isFirst = ({ kind }: KubeObject) => kind === 'Namespace' || kind === 'CustomResourceDefinition';
  const apply = (some: KubeObject[]) => Promise.all(some.map((object) => applyObject(client, object)));
  await apply(objects.filter(isFirst));
  await apply(objects.filter((object) => !isFirst(object)));
}

async function applyObject(client: KubeClient, object: KubeObject): Promise<void> {
  const [group = '', version = ''] = object.apiVersion.includes('/')
    ? object.apiVersion.split('/')
    : ['', object.apiVersion];
  const { namespace, name } = object.metadata;
  const place = { name, ...(namespace !== undefined && { namespace }) };
  const type = { group, version, resource: pluralOf(object.kind) };
  await client.patch(type, place, object, { as: 'apply', force: true, fieldManager: 'relet-up' });
}

const pluralOf = (kind: string) => (kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : `${kind}s`).toLowerCase();

/** The controller of a system on one machine: its identity, its process, and, where it is wanted, what deploy/ brings. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../api/object.js';
import { kubeconfigText } from '../../apiserver/pki/admin-kubeconfig.js';
import type { Pki } from '../../apiserver/pki/pki.js';
import { replaceFile } from '../../atomic-file.js';
import type { KubeClient } from '../../kube/client.js';
import { reletExecutable } from '../node/kubelet-command.js';
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
];

/**
 * As `kubectl apply -k deploy/`, but for the Deployment: here the controller is a process. Where Nodes keep the reference,
 * the namespace of the configs is all that is needed.
 */
export async function applyDeploy(client: KubeClient, { onlyNamespace }: { onlyNamespace: boolean }): Promise<void> {
  const deploy = join(dirname(reletExecutable()), '..', 'deploy');
  for (const object of ['base', 'guards'].flatMap((part) => objectsIn(join(deploy, part)))) {
    if (onlyNamespace && object.kind !== 'Namespace') continue;
    const [group = '', version = ''] = object.apiVersion.includes('/')
      ? object.apiVersion.split('/')
      : ['', object.apiVersion];
    const { namespace, name } = object.metadata;
    const place = { name, ...(namespace !== undefined && { namespace }) };
    const type = { group, version, resource: pluralOf(object.kind) };
    await client.patch(type, place, object, { as: 'apply', force: true, fieldManager: 'relet-up' });
  }
}

function objectsIn(dir: string): KubeObject[] {
  const files = readdirSync(dir).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml');
  const objects = files
    .flatMap((name) => parseAllDocuments(readFileSync(join(dir, name), 'utf8')))
    .map((document) => document.toJS() as KubeObject)
    .filter(({ kind }) => kind !== 'Deployment');
  const rank = ({ kind }: KubeObject) => ['Namespace', 'CustomResourceDefinition'].indexOf(kind);
  return objects.sort((a, b) => rank(b) - rank(a));
}

const pluralOf = (kind: string) => (kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : `${kind}s`).toLowerCase();

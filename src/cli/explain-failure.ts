/** From an error of the API, the network or the kubeconfig to words that say what to do next. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { configNamespace } from '../api/node-config.js';
import { ApiError, isForbidden, isNotFound, isUnauthorized } from '../kube/api-error.js';
import { ReferenceDropped } from '../kube/config-reference.js';
import { TimeoutError } from '../kube/deadline.js';
import { KubeconfigError } from '../kube/kubeconfig.js';
import { ConnectionError } from '../kube/transport.js';
import { CannotRun } from './cannot-run.js';

/** What is no such error comes back as it is: a bug of ours, or a verb's own refusal. */
export function explained(error: unknown, server: string): unknown {
  const words = wordsFor(error, server);
  return words === undefined ? error : new CannotRun(words, { cause: error });
}

function wordsFor(error: unknown, server: string): string | undefined {
  if (error instanceof KubeconfigError) return `${error.message}${anotherKubeconfig(error.message)}`;
  if (error instanceof ConnectionError)
    return `cannot reach the API server: ${error.message}; check --context, --server and the network`;
  if (error instanceof TimeoutError)
    return `the API server ${server} does not answer (${error.message}); nothing is known to be changed by this request. Try again, or wait longer with --request-timeout`;
  if (error instanceof ReferenceDropped)
    return `${error.message}: API servers from 1.22 on drop it. Nothing was changed; such a cluster needs NodeConfig ('relet doctor' tells more)`;
  if (isUnauthorized(error))
    return `the API server ${server} does not know you (401 Unauthorized); log in again, or choose another user with --context`;
  if (isForbidden(error))
    return `${(error as Error).message}; ask an administrator for this permission, or act as somebody else with --as ('relet doctor' lists what is needed)`;
  if (isNotFound(error)) return notFound(error as ApiError);
  if (error instanceof ApiError) return `the API server refuses: ${error.message}`;
  return undefined;
}

/** Whoever tries relet has most likely just started a system of their own, and not told kubectl's way of finding it. */
function anotherKubeconfig(message: string): string {
  const ours = join(homedir(), '.relet', 'admin.kubeconfig');
  const isFound = !message.startsWith('read kubeconfig') && !message.includes('does not exist');
  if (isFound) return '';
  const hint = message.includes('--kubeconfig') ? '' : '; point KUBECONFIG or --kubeconfig at one that is there';
  return existsSync(ours) ? `${hint} ('relet up' wrote ${ours})` : hint;
}

function notFound({ message }: ApiError): string {
  const node = /^nodes "(.*)" not found$/.exec(message)?.[1];
  if (node !== undefined) return `there is no node '${node}'; 'relet get' lists them`;
  const namespace = /^namespaces "(.*)" not found$/.exec(message)?.[1];
  if (namespace !== undefined) return noNamespace(namespace);
  const configMap = /^configmaps "(.*)" not found$/.exec(message)?.[1];
  if (configMap !== undefined)
    return `there is no ConfigMap '${configMap}' there; choose its namespace with -n ('kubectl get configmaps -A -l relet.dev/kubelet-config=true' lists those made by relet)`;
  return `the API server does not have it: ${message}`;
}

function noNamespace(name: string): string {
  const all = name === configNamespace ? ", or 'kubectl apply -k deploy/', which installs all that relet needs" : '';
  return `there is no namespace '${name}'; create it with 'kubectl create namespace ${name}'${all}, or choose another with -n`;
}

/** Turns errors of the API, the network or the kubeconfig into messages with a remedy. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { configNamespace } from '../api/node-config.js';
import { ApiError, InvalidResponseError, isForbidden, isNotFound, isUnauthorized } from '../api/status.js';
import { CannotRun } from '../cannot-run.js';
import { ReferenceDropped } from '../fleet/configured-node.js';
import { ExecPluginError } from '../kube/exec-plugin.js';
import { KubeconfigError } from '../kube/kubeconfig.js';
import { TimeoutError } from '../kube/requester.js';
import { ConnectionError } from '../kube/transport.js';
import { oneLine } from '../visible-text.js';

/** Other errors are returned as they are: a bug of ours, or an error of the verb itself. */
export function explained(error: unknown, server: string, guess?: string): unknown {
  const words = wordsFor(error, server, guess);
  return words === undefined ? error : new CannotRun(words, { cause: error });
}

/** The node that an error is about because there is none of this name. */
export const missingNode = (error: unknown): string | undefined =>
  error instanceof Error && isNotFound(error)
    ? /^nodes "(.*)" not found$/.exec(oneLine(error.message))?.[1]
    : undefined;

function wordsFor(error: unknown, server: string, guess: string | undefined): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // The hint of a plugin may have lines of its own; what a server answers may not.
  if (error instanceof ExecPluginError)
    return `${error.message}\nThe kubeconfig asks this plugin who you are: install or repair it, or choose another user with --context or --user`;
  const message = oneLine(error.message);
  if (error instanceof KubeconfigError) return `${message}${remedyForKubeconfig(error)}`;
  if (error instanceof ConnectionError) return `cannot reach the API server: ${message}; ${remedyForConnection(error)}`;
  if (error instanceof InvalidResponseError)
    return `the API server ${server} gave an answer that relet cannot read (${message}); check that --server or the context names a Kubernetes API server, and that no proxy answers in its place`;
  if (error instanceof TimeoutError)
    return `the API server ${server} does not answer (${message}); nothing is known to be changed by this request. Try again, or wait longer with --request-timeout`;
  if (error instanceof ReferenceDropped)
    return `${message}: API servers from 1.22 on drop it. Nothing was changed; such a cluster needs NodeConfig (see 'relet doctor')`;
  if (isUnauthorized(error))
    return `the API server ${server} does not know you (401 Unauthorized); log in again, or choose another user with --context`;
  if (isForbidden(error))
    return `${message}; ask an administrator for this permission, or act as somebody else with --as ('relet doctor' lists what is needed)`;
  const node = missingNode(error);
  if (node !== undefined)
    return `there is no node '${node}'; ${guess === undefined ? '' : `did you mean '${guess}'? `}'relet get' lists them`;
  if (isNotFound(error)) return notFound(message);
  if (error instanceof ApiError)
    return error.code < 500 ? `the API server rejects it: ${message}` : `the API server could not do it: ${message}`;
  return undefined;
}

function remedyForConnection({ code, message }: ConnectionError): string {
  if (message.includes('proxy ')) return 'check proxy-url in the kubeconfig, HTTPS_PROXY and NO_PROXY';
  if (/^(ERR_SSL|ERR_OSSL|EPROTO)/.test(code)) return 'check that the address is one of https, and its port';
  if (/CERT|SIGNATURE|ERR_TLS/.test(code))
    return "check certificate-authority in the kubeconfig, and --tls-server-name if the server's name differs";
  return 'check --context, --server and the network';
}

/** A new user has most likely just run `relet up` without exporting KUBECONFIG. */
function remedyForKubeconfig({ message, cause }: KubeconfigError): string {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  if (message.startsWith('context "')) return '; choose one with --context';
  if (code === 'EACCES') return '; make it readable, or choose another with --kubeconfig';
  if (message.startsWith('read kubeconfig') && code !== 'ENOENT')
    return '; correct the file, or choose another with --kubeconfig';
  if (code !== 'ENOENT' && !message.includes('does not exist: ')) return '';
  const ours = join(homedir(), '.relet', 'admin.kubeconfig');
  const hint = message.includes('--kubeconfig') ? '' : '; point KUBECONFIG or --kubeconfig at one that exists';
  return existsSync(ours) ? `${hint} ('relet up' wrote ${ours})` : hint;
}

function notFound(message: string): string {
  const configMap = /^configmaps "(.*)" not found$/.exec(message)?.[1];
  if (configMap !== undefined)
    return `there is no ConfigMap '${configMap}' there; choose its namespace with -n ('kubectl get configmaps -A -l relet.dev/kubelet-config=true' lists those made by relet)`;
  const namespace = /^namespaces "(.*)" not found$/.exec(message)?.[1];
  if (namespace !== undefined) return noNamespace(namespace);
  return `the API server does not have it: ${message}`;
}

function noNamespace(name: string): string {
  const all = name === configNamespace ? ", or 'kubectl apply -k deploy/', which installs all that relet needs" : '';
  return `there is no namespace '${name}'; create it with 'kubectl create namespace ${name}'${all}, or choose another with -n`;
}

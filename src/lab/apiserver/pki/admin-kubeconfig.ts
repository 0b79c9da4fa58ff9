/** The kubeconfig file that `kubectl` and `relet` use against the embedded server: everything inline. */
import { isIPv6 } from 'node:net';
import { replaceFile } from '../../../atomic-file.js';
import type { KeyPair } from './issue.js';

export interface KubeconfigOptions {
  /** Such as `https://127.0.0.1:6443`; see serverUrl. */
  server: string;
  /** PEM of the authority that signed the server's certificate. */
  ca: string;
  user: string;
  client: KeyPair;
}

/** An address to connect to: a server that listens on all addresses is reached on loopback. */
export function serverUrl(bindAddress: string, port: number): string {
  const host = bindAddress === '0.0.0.0' ? '127.0.0.1' : bindAddress === '::' ? '::1' : bindAddress;
  return `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

export function kubeconfigText({ server, ca, user, client }: KubeconfigOptions): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const name = JSON.stringify(user);
  return `apiVersion: v1
kind: Config
clusters:
- name: relet
  cluster:
    server: ${JSON.stringify(server)}
    certificate-authority-data: ${base64(ca)}
users:
- name: ${name}
  user:
    client-certificate-data: ${base64(client.cert)}
    client-key-data: ${base64(client.key)}
contexts:
- name: relet
  context:
    cluster: relet
    user: ${name}
current-context: relet
`;
}

export function writeKubeconfig(path: string, options: KubeconfigOptions): void {
  replaceFile(path, kubeconfigText(options), { mode: 0o600 });
}

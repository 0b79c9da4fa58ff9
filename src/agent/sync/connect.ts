/** Connects a node to its cluster, with the kubelet's own credential and the node name that the kubelet registers with. */

import { X509Certificate } from 'node:crypto';
import { nodeConfigs } from '../../api/node-config.js';
import type { KubeObject } from '../../api/object.js';
import { isForbidden, isNotFound } from '../../api/status.js';
import type { Clock } from '../../clock.js';
import { readPlain } from '../../config/plain-document.js';
import { reviewSelf } from '../../kube/access-review.js';
import { type CallOptions, createClient, type KubeClient, serves } from '../../kube/client.js';
import type { RunPlugin } from '../../kube/exec-plugin.js';
import { type IdentitySource, waitForKubeconfig } from '../../kube/identity.js';
import type { FileReader } from '../../kube/kubeconfig.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import type { Connected } from './api-side.js';
import { NodeConfigReference } from './node-config-reference.js';
import { NodeReference } from './node-reference.js';
import { ChosenReference, type ChosenReferenceOptions } from './reference.js';

export interface ConnectOptions {
  /** The kubelet's --kubeconfig. It may not exist yet: TLS bootstrap writes it. */
  kubeconfig: string;
  /** The kubelet's --hostname-override. */
  hostnameOverride: string | undefined;
  hostname: string;
  userAgent: string;
  /** relet's own. */
  version: string;
  followed: ChosenReferenceOptions['followed'];
  askAgainMs?: number;
  /** Runs the exec plugin of the kubeconfig. Default: as a child of this process. */
  runPlugin?: RunPlugin | undefined;
  env: Record<string, string | undefined>;
  files: FileReader;
  clock: Clock;
  random: Random;
  log: Log;
}

/** The longest answer is the list of the node's pods; a longer one is rejected, because this process must stay small. */
const maxResponseBytes = 16 * 1024 * 1024;

export class NodeConnection {
  readonly #options: ConnectOptions;
  #source: IdentitySource | undefined;
  /** Node.spec.providerID as last seen. */
  providerID: string | undefined;
  /** Client of the connection made last; undefined before the first. */
  client: KubeClient | undefined;

  constructor(options: ConnectOptions) {
    this.#options = options;
  }

  /** Waits for a usable kubeconfig, for as long as it takes; rejects when the signal fires. */
  async connect(signal: AbortSignal): Promise<Connected> {
    const { kubeconfig, hostnameOverride, hostname, userAgent, env, clock, random, log } = this.#options;
    const source = await waitForKubeconfig({ ...this.#options, paths: [kubeconfig], readYaml: readPlain, signal });
    this.#source = source;
    const nodeName = nodeNameFrom((await this.#certificate())?.subject, hostnameOverride, hostname);
    const { server } = source().connection;
    log.info('kubeconfig loaded', { node: nodeName, server });
    let hasAnswered = false;
    const client = createClient({
      source,
      clock,
      random,
      userAgent,
      env,
      maxResponseBytes,
      onAnswer: () => {
        if (!hasAnswered) log.info('connected', { node: nodeName, server });
        hasAnswered = true;
      },
      onWarning: (warning) => log.debug('API server warning', { warning }),
    });
    signal.addEventListener('abort', () => client.close(), { once: true });
    if (source().connection.user.exec) await this.#checkUser(client, nodeName, signal);
    this.client = client;
    const onNode = ({ spec }: KubeObject) => {
      this.providerID = (spec as { providerID?: string } | undefined)?.providerID;
    };
    const references = {
      Node: new NodeReference({ ...this.#options, client, name: nodeName, onNode }),
      NodeConfig: new NodeConfigReference({ ...this.#options, client, name: nodeName, onNode }),
    };
    const served = (signal: AbortSignal) => serves(client, nodeConfigs, { signal });
    const { waitBeforeRetry } = client;
    return {
      client,
      nodeName,
      reference: new ChosenReference({ ...this.#options, references, served, waitBeforeRetry }),
    };
  }

  async #checkUser(client: KubeClient, nodeName: string, signal: AbortSignal): Promise<void> {
    try {
      const isChecked = await checkUser(client, nodeName, { signal });
      if (!isChecked) this.#options.log.info('cannot check user of the credential', { node: nodeName });
    } catch (error) {
      client.close();
      throw error;
    }
  }

  /** True when the client certificate has expired: then a kubelet exits with any config. */
  async certificateExpired(): Promise<boolean> {
    const certificate = await this.#certificate().catch(() => undefined);
    return certificate !== undefined && Date.parse(certificate.validTo) < this.#options.clock.now();
  }

  async #certificate(): Promise<X509Certificate | undefined> {
    const pem = (await this.#source?.().current())?.tls.cert;
    return pem === undefined ? undefined : new X509Certificate(pem);
  }
}

/** The credential of the kubeconfig is not that of the node. */
export class WrongUser extends Error {}

/**
 * A program may give the credential of anybody, and everything that a node may do depends on its user. Throws a WrongUser if that is not
 * the node. False where the server has no such review, as before 1.28, or does not allow it.
 */
export async function checkUser(client: KubeClient, nodeName: string, options: CallOptions): Promise<boolean> {
  const { username } = await reviewSelf(client, options).catch((error: unknown) => {
    if (isNotFound(error) || isForbidden(error)) return { username: undefined };
    throw error;
  });
  if (username === undefined) return false;
  if (username !== `system:node:${nodeName}`)
    throw new WrongUser(
      `the credential of the kubeconfig belongs to ${username || 'nobody'}, not to system:node:${nodeName}; set --node-name to the name of the Node if that is another`,
    );
  return true;
}

/** The name in the certificate comes first: the API server accepts no other. */
export function nodeNameFrom(
  subject: string | undefined,
  hostnameOverride: string | undefined,
  hostname: string,
): string {
  const certified = /^CN=system:node:(.+)$/m.exec(subject ?? '')?.[1];
  return certified ?? (hostnameOverride?.trim() || hostname).trim().toLowerCase();
}

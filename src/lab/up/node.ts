/** One node of a system on one machine: its files, and the command that runs it. */
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { isMissing, replaceFile } from '../../atomic-file.js';
import { kubeconfigText } from '../apiserver/pki/admin-kubeconfig.js';
import type { Pki } from '../apiserver/pki/pki.js';
import type { NodePaths } from './directory.js';
import { type Network, nodeAddress } from './network.js';
import type { Settings } from './settings.js';

export interface NodePlan {
  name: string;
  index: number;
  paths: NodePaths;
  settings: Settings;
  network: Network;
  /** URL of the API server. */
  serverUrl: string;
  caFile: string;
}

export async function prepareNode(node: NodePlan, pki: Pki): Promise<void> {
  const { paths } = node;
  mkdirSync(paths.dir, { recursive: true, mode: 0o700 });
  if (!existsSync(paths.config)) replaceFile(paths.config, localConfig(node));
  if (isUsable(readIfThere(paths.kubeconfig), node, pki.ca)) return;
  const client = await pki.issueNodeClient(node.name);
  const user = `system:node:${node.name}`;
  replaceFile(paths.kubeconfig, kubeconfigText({ server: node.serverUrl, ca: pki.ca, user, client }));
}

/** Returns the command line of the node: relet in front of its kubelet. `relet` is the command that starts relet itself. */
export function nodeCommand(relet: string[], node: NodePlan): string[] {
  const { name, paths, settings } = node;
  const { trialDuration, kubeletBinary, initConfigDir } = settings;
  return [
    ...relet,
    'kubelet',
    `--dynamic-config-dir=${paths.dynamicConfig}`,
    `--kubelet-binary=${kubeletBinary}`,
    `--trial-duration=${trialDuration}`,
    ...(initConfigDir === undefined ? [] : [`--init-config-dir=${initConfigDir}`]),
    `--config=${paths.config}`,
    `--kubeconfig=${paths.kubeconfig}`,
    `--hostname-override=${name}`,
    `--root-dir=${paths.root}`,
    `--cert-dir=${paths.pki}`,
    // Flags win over every config: whatever is assigned, the API server can still reach the node.
    `--client-ca-file=${node.caFile}`,
    ...addressFlags(node),
    ...settings.kubeletArgs,
  ];
}

/** A real kubelet is the machine, and finds its own address: it refuses those of the loopback. */
function addressFlags({ settings, network, index }: NodePlan): string[] {
  if (settings.kubeletBinary !== 'hollow') return [`--metrics-bind-address=127.0.0.1:${network.metricsPort}`];
  const address = nodeAddress(network, index);
  return [
    `--node-ip=${address}`,
    `--address=${address}`,
    `--healthz-bind-address=${address}`,
    `--metrics-bind-address=${address}:${network.metricsPort}`,
  ];
}

export function localConfig({ name, settings, network }: NodePlan): string {
  const { kubeletPort, healthzPort } = network;
  const head = `# The local config of ${name}, written once by 'relet up' and yours to edit; it counts from the next start on.
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
port: ${kubeletPort}
healthzPort: ${healthzPort}
`;
  if (settings.kubeletBinary === 'hollow') return head;
  // These settings let a kubelet run beside everything else on a machine that was not made for it.
  return `${head}failSwapOn: false
cgroupsPerQOS: false
enforceNodeAllocatable: []
makeIPTablesUtilChains: false
`;
}

const renewWithinMs = 30 * 86_400_000;

/** A kubeconfig of an earlier start is kept while it leads to this server and its certificate lasts. */
function isUsable(text: string | undefined, { serverUrl }: NodePlan, ca: string): boolean {
  const field = (name: string) => new RegExp(`${name}: (\\S+)`).exec(text ?? '')?.[1] ?? '';
  if (field('server') !== JSON.stringify(serverUrl)) return false;
  if (field('certificate-authority-data') !== Buffer.from(ca).toString('base64')) return false;
  try {
    const certificate = new X509Certificate(Buffer.from(field('client-certificate-data'), 'base64'));
    return Date.parse(certificate.validTo) - Date.now() > renewWithinMs;
  } catch {
    return false;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

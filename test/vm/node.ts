/**
 * A node of kubeadm's form in a virtual machine: containerd and a real kubelet, `relet agent` as a service, and the API server, etcd and
 * relet's controller on the host.
 */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type NodeConfig, nodeConfigs } from '../../src/api/node-config.js';
import type { KubeObject } from '../../src/api/object.js';
import type { KubeClient } from '../../src/kube/client.js';
import { configMaps, nodes } from '../../src/kube/resource-type.js';
import { type Cluster, realCluster } from '../cluster/cluster.js';
import { configMapObject, point } from '../cluster/cluster-node.js';
import { type RunningController, startController } from '../cluster/controller.js';
import { createAuthority, type Signed } from '../pki.js';
import { assets } from '../real-kubelet-rig.js';
import { temporaryDir } from '../temporary-dir.js';
import { VirtualMachine } from './virtual-machine.js';

const repository = join(import.meta.dirname, '../..');
export const name = 'node-a';
/** A start of the kubelet takes some ten seconds under emulation, and a minute beside other work. */
const agentFlags = '--trial-duration=3s --trial-health-deadline=150s';

export const localConfig = (...lines: string[]) =>
  [
    'apiVersion: kubelet.config.k8s.io/v1beta1',
    'kind: KubeletConfiguration',
    'authentication: {anonymous: {enabled: false}, webhook: {enabled: true}}',
    'authorization: {mode: Webhook}',
    'cgroupDriver: systemd',
    'clusterDNS: [10.96.0.10]',
    'clusterDomain: cluster.local',
    'containerRuntimeEndpoint: unix:///run/containerd/containerd.sock',
    'staticPodPath: /etc/kubernetes/manifests',
    ...lines,
    '',
  ].join('\n');

export class VmNode {
  readonly machine: VirtualMachine;
  readonly cluster: Cluster;
  readonly admin: KubeClient;
  readonly #controller: RunningController;

  private constructor(machine: VirtualMachine, cluster: Cluster, controller: RunningController) {
    this.machine = machine;
    this.cluster = cluster;
    this.admin = cluster.client('admin');
    this.#controller = controller;
  }

  static async create(image: string, { kernel = '' } = {}): Promise<VmNode> {
    const authority = await createAuthority();
    const clientCa = join(temporaryDir(), 'client-ca.crt');
    writeFileSync(clientCa, authority.cert);
    const cluster = await realCluster(assets, [`--client-ca-file=${clientCa}`]);
    await cluster.kubectl('apply', '-k', join(repository, 'deploy'));
    const controller = await startController(cluster, { identity: 'controller', guards: 'auto' });
    const client = await authority.sign(`CN=system:node:${name},O=system:nodes`);
    const tools = toolsOf(kubeconfigFor(cluster, client));
    const machine = await VirtualMachine.boot(image, { tools, kernel }).catch(async (error) => {
      await controller.stop();
      await cluster.close();
      throw error;
    });
    const node = new VmNode(machine, cluster, controller);
    await machine.sh('cp -a /mnt/. / && systemctl daemon-reload && systemctl enable -q --now kubelet');
    await node.until('Ready', () => node.isReady());
    await machine.sh('systemctl enable -q --now relet-agent');
    return node;
  }

  /** Whatever a test has done to it, it is attached, with its local config. */
  async reset(): Promise<void> {
    await this.assignLocal();
    await this.machine.sh('/opt/vm/clean');
    await this.untilRuns(110);
    await this.untilKept();
  }

  async status(): Promise<NonNullable<NodeConfig['status']>> {
    return (await this.admin.get<NodeConfig>(nodeConfigs, { name })).status ?? {};
  }

  /** Reason of the condition ConfigOK. */
  untilReason(reason: string): Promise<unknown> {
    return this.untilCondition('ConfigOK', reason);
  }

  untilCondition(type: string, reason: string): Promise<unknown> {
    return this.until(`${type} ${reason}`, async () => {
      const { conditions = [] } = await this.status();
      return conditions.some((condition) => condition.type === type && condition.reason === reason);
    });
  }

  async isReady(): Promise<boolean> {
    const node = await this.admin.get<KubeObject>(nodes, { name }).catch(() => undefined);
    const { conditions = [] } = (node?.status ?? {}) as { conditions?: { type: string; status: string }[] };
    return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  }

  /** Writes a config that differs from the local one in maxPods, by which it is recognised, and assigns it. */
  assign(maxPods: number, ...lines: string[]): Promise<void> {
    return this.#assign(maxPods, lines, {});
  }

  async assignLocal(): Promise<void> {
    await this.#point(undefined);
  }

  /** As assign, for a config that relet expects to fail. */
  force(maxPods: number, ...lines: string[]): Promise<void> {
    return this.#assign(maxPods, lines, { 'relet.dev/skip-forecast': 'true' });
  }

  async #assign(maxPods: number, lines: string[], annotations: Record<string, string>): Promise<void> {
    const object = configMapObject(`pods-${maxPods}`, localConfig(`maxPods: ${maxPods}`, ...lines));
    const metadata = { ...object.metadata, annotations };
    const namespace = metadata.namespace!;
    await this.until('the ConfigMap is written', async () => {
      await this.admin.delete(configMaps, { namespace, name: metadata.name }).catch(() => {});
      await this.admin.create(configMaps, { namespace }, { ...object, metadata });
      return true;
    });
    await this.#point(`pods-${maxPods}`);
  }

  /** Beside busy processes the API server does not always answer in time. */
  #point(configMap: string | undefined): Promise<unknown> {
    return this.until('assigned', () => point(this.admin, name, configMap).then(() => true));
  }

  /** maxPods of the config of the kubelet's process; 110 for local, undefined for none that runs and is healthy. */
  async runs(): Promise<number | undefined> {
    const { code, stdout } = await this.machine.run('/opt/vm/runs');
    return code === 0 ? Number(/^maxPods: (\d+)$/m.exec(stdout)?.[1] ?? 110) : undefined;
  }

  /** The kubelet is healthy with this config, the Node is Ready, and the status says so. */
  async untilRuns(maxPods: number): Promise<void> {
    await this.until(`runs ${maxPods}, and says so`, async () => {
      const { config, conditions = [] } = await this.status();
      const active = config === undefined ? undefined : (config.active?.configMap?.name ?? 'pods-110');
      const isTrue = active === `pods-${maxPods}` && conditions.some(({ type }) => type === 'ConfigOK');
      return isTrue && (await this.runs()) === maxPods && (await this.isReady());
    });
  }

  until<T>(what: string, ask: () => T | false | Promise<T | false>): Promise<T> {
    let seen = '';
    const asked = async () => {
      const answer = await ask();
      if (answer === false) seen = JSON.stringify(await this.status().catch(String), null, 1);
      return answer;
    };
    return this.machine.until(what, asked, { seen: () => `${seen}\n${this.machine.console}` });
  }

  async untilLastKnownGood(maxPods: number): Promise<void> {
    await this.until(`last known good ${maxPods}`, async () => {
      const { config } = await this.status();
      return config?.lastKnownGood?.configMap?.name === `pods-${maxPods}`;
    });
    await this.untilKept();
  }

  /** No trial is left, and systemd has read what is kept. */
  untilKept(): Promise<unknown> {
    return this.until('kept for the next start', async () => (await this.machine.run('/opt/vm/kept')).code === 0);
  }

  async close(): Promise<void> {
    await this.machine.close();
    await this.#controller.stop();
    this.admin.close();
    await this.cluster.close();
  }
}

/** Prints the config file of the kubelet's process, if that is healthy. */
const runsScript = `#!/bin/bash
set -e
exec 3<>/dev/tcp/127.0.0.1/10248
printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3
grep -q '200 OK' <&3
pid=$(systemctl show --value -p MainPID kubelet)
cat "$(tr '\\0' '\\n' </proc/$pid/cmdline | sed -n 's/^--config=//p' | tail -n 1)"
`;

const keptScript = `#!/bin/bash
[ ! -e /run/systemd/system/kubelet.service.d/zz-relet-90-trial.conf ] &&
  [ "$(systemctl show --value -p NeedDaemonReload kubelet)" = no ]
`;

/** Takes back what the tests change beside the config. */
const cleanScript = `#!/bin/bash
umount -q /etc
rm -rf /fill*
[ ! -e /etc/systemd/journald.conf.d ] || { rm -r /etc/systemd/journald.conf.d; systemctl restart systemd-journald; }
override=/etc/systemd/system/kubelet.service.d/override.conf
[ ! -e $override ] || { rm $override; systemctl daemon-reload; }
[ ! -L /etc/systemd/system/containerd.service ] || systemctl unmask -q containerd
systemctl start containerd relet-agent
`;

/** Resets the machine, as a power cut would, a while after the first event that matches. The console shows which one that was. */
const cutScript = `#!/bin/bash
dirs="/var/lib/relet /run/relet /run/systemd/system/kubelet.service.d /etc/systemd/system/kubelet.service.d"
mkdir -p $dirs && chmod 700 /var/lib/relet /run/relet
{
  journalctl -f -n 0 -o cat &
  inotifywait -m -r -e create,close_write,moved_to,delete --format '%e %w%f' \\
    /var/lib/relet /run/relet /run/systemd/system /etc/systemd/system 2> >(grep -q established && : >/run/cut)
} | grep --line-buffered -E -m 1 -e "$1" | {
  read -r line
  echo "cut: $line" >/dev/ttyS0
  sleep $2
  echo b >/proc/sysrq-trigger
}
`;

/** Makes the files that are copied over the root of the machine. */
export function toolsOf(kubeconfig: string): string {
  const dir = temporaryDir();
  const put = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text, { mode });
  };
  const copy = (from: string, to: string) =>
    cpSync(from, join(dir, to), { recursive: true, filter: (file) => !file.endsWith('.map') });
  copy(join(assets, 'kubelet'), 'usr/bin/kubelet');
  copy(process.execPath, 'usr/bin/node');
  for (const part of ['bin', 'dist', 'package.json']) copy(join(repository, part), `opt/relet/${part}`);
  mkdirSync(join(dir, 'usr/local/bin'), { recursive: true });
  symlinkSync('/opt/relet/bin/relet.cjs', join(dir, 'usr/local/bin/relet'));
  const agent = readFileSync(join(repository, 'deploy/systemd/relet-agent.service'), 'utf8');
  put(
    'etc/systemd/system/relet-agent.service',
    agent.replace(/^ExecStart=.*$/m, (line) => `${line} ${agentFlags}`),
  );
  const units = readFileSync(join(repository, 'test/fixtures/units/kubeadm.txt'), 'utf8');
  for (const file of units.split(/^# (?=\/)/m).slice(1)) {
    const [path, ...lines] = file.split('\n');
    put(path!, lines.join('\n'));
  }
  put('var/lib/kubelet/kubeadm-flags.env', 'KUBELET_KUBEADM_ARGS="--node-ip=10.0.2.15"\n');
  put('var/lib/kubelet/config.yaml', localConfig());
  mkdirSync(join(dir, 'etc/kubernetes/manifests'), { recursive: true });
  put('etc/kubernetes/kubelet.conf', kubeconfig, 0o600);
  put('opt/vm/runs', runsScript, 0o755);
  put('opt/vm/kept', keptScript, 0o755);
  put('opt/vm/clean', cleanScript, 0o755);
  put('opt/vm/cut', cutScript, 0o755);
  return dir;
}

/** The host is 10.0.2.2 to the machine, a name that the server's certificate does not have. */
function kubeconfigFor(cluster: Cluster, client: Signed): string {
  const config = JSON.parse(readFileSync(cluster.kubeconfig(`system:node:${name}`), 'utf8'));
  const [{ cluster: server }] = config.clusters;
  const ca = readFileSync(server['certificate-authority']).toString('base64');
  const url = cluster.url.replace('127.0.0.1', '10.0.2.2');
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  // With a token, a kubelet that has --bootstrap-kubeconfig would ask for a certificate.
  config.users[0].user = { 'client-certificate-data': base64(client.cert), 'client-key-data': base64(client.key) };
  config.clusters[0].cluster = { server: url, 'certificate-authority-data': ca, 'tls-server-name': 'kubernetes' };
  return JSON.stringify(config);
}

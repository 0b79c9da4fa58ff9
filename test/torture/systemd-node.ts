/**
 * `relet agent` beside a real kubelet, as services of a machine that systemd-nspawn boots: files as on a node of kubeadm, a containerd of
 * its own, and the network and control plane of the host. The disk of the machine is small, so that it can be full.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from '../free-port.js';
import { address, containerdConfig, type Kubelet, newNode } from '../real-kubelet-rig.js';
import { Machine, systemdRoots } from '../systemd-machine.js';
import { temporaryDir } from '../temporary-dir.js';
import { toolsOf } from '../vm/node.js';
import {
  type BeginFault,
  controlPlane,
  linesOf,
  machineFaults,
  servedMaxPods,
  sh,
  type TorturedNode,
} from './tortured-node.js';

const containerdUnit = `[Service]
ExecStart=/usr/bin/containerd --config /opt/containerd/containerd.toml
Restart=always
RestartSec=1
`;
/** A kubelet writes kernel settings, and reads the log of the kernel. */
const prepareUnit = `[Unit]
Before=kubelet.service
[Service]
Type=oneshot
ExecStart=mount -o remount,rw /proc/sys
ExecStart=mount -o remount,rw /sys
ExecStart=sh -c 'rm -f /dev/kmsg; mknod /dev/kmsg c 1 11'
`;
const wanted = '[Install]\nWantedBy=multi-user.target\n';

export async function systemdNode(kubelet: Kubelet, logDir: string): Promise<TorturedNode> {
  const { cluster, faults } = await controlPlane(logDir);
  const disk = temporaryDir();
  await sh(`mount -t tmpfs -o size=1g tmpfs ${disk} && mkdir ${disk}/machine`);
  onTestFinished(async () => {
    await sh(`umount -l ${disk}`);
  });
  const machine = await Machine.boot(systemdRoots[0]!, join(disk, 'machine'));
  onTestFinished(() => machine.remove());
  onTestFinished(async () => writeFileSync(join(logDir, 'journal.log'), (await machine.run('journalctl')).stdout));

  const caFile = join(dirname(cluster.kubeconfig('admin')), 'certs', 'apiserver.crt');
  const caInside = '/etc/kubernetes/ca.crt';
  const place = await newNode(kubelet, '', caInside);
  const runtimeDir = '/opt/containerd';
  const containerRuntimeEndpoint = `unix://${runtimeDir}/containerd.sock`;
  const config = (fields: object) => place.config(...linesOf({ containerRuntimeEndpoint, ...fields }));
  const takenPort = await freePort();
  const taken = createServer(() => {}).listen(takenPort);
  onTestFinished(() => void taken.close());

  const kubeconfig = readFileSync(cluster.kubeconfig('system:node:node-a'), 'utf8');
  const files = toolsOf(kubeconfig.replace(caFile, caInside));
  const put = (path: string, text: string) => writeFileSync(join(files, path), text);
  for (const shared of ['usr/bin/node', 'opt']) rmSync(join(files, shared), { recursive: true });
  put(caInside, readFileSync(caFile, 'utf8'));
  put('var/lib/kubelet/config.yaml', config({}));
  put('var/lib/kubelet/kubeadm-flags.env', `KUBELET_KUBEADM_ARGS="--hostname-override=node-a --node-ip=${address}"\n`);
  put('etc/systemd/system/containerd.service', containerdUnit + wanted);
  put('etc/systemd/system/prepare.service', prepareUnit + wanted);
  const dropIn = 'usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf';
  // With a token, the kubelet would ask for a certificate.
  put(dropIn, readFileSync(join(files, dropIn), 'utf8').replace(/--bootstrap-kubeconfig=\S+ /, ''));
  await sh(
    `chmod 755 ${files} && cp -a ${files}/. ${machine.root}/ && cp -aL "$(command -v containerd)" ${machine.path('/usr/bin/')}`,
  );
  const runtimeFiles = machine.path(runtimeDir);
  mkdirSync(runtimeFiles);
  const text = readFileSync(containerdConfig(runtimeFiles), 'utf8');
  writeFileSync(join(runtimeFiles, 'containerd.toml'), text.replaceAll(runtimeFiles, runtimeDir));
  await machine.sh('systemctl daemon-reload && systemctl enable -q --now prepare containerd kubelet relet-agent');

  const boot = (how: 'reboot' | 'powerCycle'): BeginFault => {
    return async () => {
      await machine[how]();
      return () => {};
    };
  };
  return {
    description: `${kubelet.version}, relet agent beside it, ${await machine.sh('systemctl --version | head -n 1')}`,
    cluster,
    config,
    badFields: {
      'crash at start': { evictionHard: { 'memory.available': 'bogus' } },
      'port taken': { port: takenPort },
    },
    faults: {
      ...faults,
      ...machineFaults((line) => machine.sh(line)),
      'machine rebooted': boot('reboot'),
      'machine power cut': boot('powerCycle'),
    },
    runs: async () =>
      servedMaxPods(config({}), (await machine.run('pidof', 'kubelet')).stdout.split(/\s+/).filter(Boolean)),
  };
}

/** `relet kubelet` in front of a real kubelet, both on this machine, with a control plane and a containerd of their own. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from '../free-port.js';
import { containerdConfig, type Kubelet, kubeletsOf, newNode } from '../real-kubelet-rig.js';
import { executable } from '../run-relet.js';
import { temporaryDir } from '../temporary-dir.js';
import {
  controlPlane,
  faultInside,
  killOf,
  linesOf,
  pauseOf,
  servedMaxPods,
  sh,
  type TorturedNode,
} from './tortured-node.js';

export async function processNode(kubelet: Kubelet, logDir: string): Promise<TorturedNode> {
  const { cluster, launch, faults } = await controlPlane(logDir);
  const runtimeDir = temporaryDir();
  const containerd = launch('containerd', 'containerd', '--config', containerdConfig(runtimeDir));
  const caFile = join(dirname(cluster.kubeconfig('admin')), 'certs', 'apiserver.crt');
  const place = await newNode(kubelet, cluster.kubeconfig('system:node:node-a'), caFile);
  const endpoint = (socket: string) => ({ containerRuntimeEndpoint: `unix://${join(runtimeDir, socket)}` });
  const config = (fields: object) => place.config(...linesOf({ ...endpoint('containerd.sock'), ...fields }));

  const takenPort = await freePort();
  for (const where of [takenPort, join(runtimeDir, 'silent.sock')]) {
    const server = createServer(() => {}).listen(where);
    onTestFinished(() => void server.close());
  }
  const flags = place.flags.filter((flag) => !flag.startsWith('--container-runtime-endpoint'));
  writeFileSync(flags.find((flag) => flag.startsWith('--config='))!.slice('--config='.length), config({}));
  mkdirSync(place.dir);
  await sh(`mount -t tmpfs -o size=8m,mode=700 tmpfs ${place.dir}`);
  onTestFinished(async () => {
    await sh(`umount -l ${place.dir}`);
  });
  const relet = launch(
    'relet',
    process.execPath,
    ...[executable, 'kubelet', `--kubelet-binary=${kubelet.path}`, `--dynamic-config-dir=${place.dir}`],
    ...['--trial-duration=5s', '--trial-health-deadline=60s', '--metrics-bind-address=0', '--restart-interval=0s'],
    ...flags,
  );
  const kubelets = () => kubeletsOf(place);
  return {
    description: `${kubelet.version} behind relet kubelet`,
    cluster,
    config,
    badFields: {
      'crash at start': { evictionHard: { 'memory.available': 'bogus' } },
      hang: endpoint('silent.sock'),
      'port taken': { port: takenPort },
    },
    faults: {
      ...faults,
      ...relet.faults,
      ...containerd.faults,
      'kubelet kill -9': killOf(kubelets),
      'kubelet SIGSTOP': pauseOf(kubelets),
      'state: full disk': faultInside(sh, `dd if=/dev/zero of=${place.dir}/fill || true`, `rm -f ${place.dir}/fill`),
      'state: read-only': faultInside(sh, `mount -o remount,ro ${place.dir}`, `mount -o remount,rw ${place.dir}`),
    },
    runs: () => servedMaxPods(config({}), kubelets()),
  };
}

/** The whole `relet agent` on a real systemd, booted in a container, with a fake kubelet in the unit: `npm run test:systemd`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { type ClusterRig, createClusterRig } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { config } from './process-rig.js';
import { describeOnSystemd, type Machine } from './systemd-machine.js';
import { SystemdRig, unit } from './systemd-rig.js';

const relet = ['/usr/bin/node', '/opt/relet/bin/relet.cjs'];
const kubeconfig = '/etc/kubernetes/kubelet.conf';

describeOnSystemd('relet agent', (machine) => {
  /** A kubelet's unit with the kubeconfig of a node. */
  async function createNode(): Promise<Node> {
    const rig = await SystemdRig.create(machine(), { restartSec: 1 });
    await rig.driver.close();
    const cluster = await createClusterRig({ boot: false, through: 'NodeConfig' });
    mkdirSync(machine().path('/etc/kubernetes'), { recursive: true });
    writeFileSync(machine().path(kubeconfig), readFileSync(cluster.nodeKubeconfig));
    const flags = `KUBELET_KUBEADM_ARGS="--kubeconfig=${kubeconfig}"\n`;
    writeFileSync(machine().path('/var/lib/kubelet/kubeadm-flags.env'), flags);
    await rig.systemctl('restart', unit);
    await eventually('the NodeConfig is there', () => cluster.seen !== undefined);
    return new Node(machine(), rig, cluster);
  }

  test('finds unit, command line, kubeconfig and node name, and --check changes nothing', async () => {
    const node = await createNode();
    const before = await node.rig.unitFiles();
    const { code, stdout, stderr } = await machine().run(...relet, 'agent', '--check');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`unit:     ${unit}, as kubeadm sets it up\n`);
    expect(stdout).toContain(`node:     node-a\ncluster:  ${kubeconfig}\nkubelet:  /usr/bin/kubelet (v1.32.1)\n`);
    expect(stdout).toContain(`would:    change nothing: the kubelet of ${unit} runs with this config\n`);
    expect(await node.rig.unitFiles()).toBe(before);
  });

  test('a config is switched to, kept, and is there after a reboot of the agent without a restart', async () => {
    const node = await createNode();
    const agent = node.start('--trial-duration=1s');
    await node.assign('good');
    await node.untilActive('good');
    await eventually('kept', () => node.cluster.config?.lastKnownGood?.configMap?.name === 'good', {
      seen: () => agent.output(),
    });
  });
});

class Node {
  constructor(
    readonly machine: Machine,
    readonly rig: SystemdRig,
    readonly cluster: ClusterRig,
  ) {}

  #output = '';

  start(...flags: string[]) {
    const enter = this.machine.enter(...relet, 'agent', '--metrics-bind-address=0', ...flags);
    const child = spawn('nsenter', enter, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    const exit = once(child, 'exit');
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await exit;
    });
    return { child, exit, output: () => this.#output };
  }

  async assign(name: string, ...lines: string[]): Promise<void> {
    await this.cluster.createConfigMap(name, { kubelet: config(this.rig.port, ...lines) });
    await this.cluster.point(name);
  }

  untilActive(name: string | undefined): Promise<unknown> {
    return eventually(`${name} is active`, () => this.cluster.config?.active?.configMap?.name === name, {
      seen: () => [JSON.stringify(this.cluster.seen?.status, null, 1), this.#output],
    });
  }
}

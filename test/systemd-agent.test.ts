/** The whole `relet agent` on a real systemd, booted in a container, with a fake kubelet in the unit: `npm run test:systemd`. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import type { NodeConfigObjectStatus } from '../src/api/node-config.js';
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

  test('a config is switched to and kept, and neither an end, a kill nor a start of the agent restarts the kubelet', async () => {
    const node = await createNode();
    await node.start('--trial-duration=1s');
    await node.assign('good');
    await node.untilKept('good');
    const invocation = await node.invocation();
    await node.kill();
    await node.start();
    await node.until('adopted', () => node.output.includes('kubelet runs'));
    await node.stop();
    expect(await node.machine.sh(`systemctl show --value -p ExecMainStatus ${service}`)).toBe('0');
    expect(await node.invocation()).toBe(invocation);
    expect(await node.rig.unitFiles()).toContain('zz-relet-50-good.conf');
  });

  test('a config with which the kubelet crashes is rolled back, and the reason is reported', async () => {
    const node = await createNode();
    await node.start('--trial-duration=1s');
    await node.assign('good');
    await node.untilKept('good');
    await node.assign('bad', '# exit 3');
    await node.until('rolled back', () => node.conditionOf('ConfigOK')?.reason === 'CrashLoop');
    await node.untilActive('good');
    expect(node.cluster.config).toMatchObject({ lastKnownGood: { configMap: { name: 'good' } } });
  });

  test('an agent in a pod gets its credential from the program on the host that the kubeconfig of the kubelet names', async () => {
    const node = await createNode();
    const seen = await node.usePlugin();
    const inPod = `-E KUBERNETES_SERVICE_HOST=10.0.0.1 -p InaccessiblePaths=${pluginDir}`;
    const mounts = ['/var/lib/kubelet', '/etc/kubernetes', '/run/relet'].map((dir) => `-p BindPaths=${dir}`).join(' ');
    await node.machine.sh('mkdir -p /run/relet');
    const check = `systemd-run --quiet --wait --pipe ${inPod} ${mounts} ${relet.join(' ')} agent --check`;
    expect(await node.machine.sh(check)).toContain(
      'plugin:   node-token, run on the host by systemd: it gave the credential of system:node:node-a',
    );
    await node.startAs(`${inPod} ${mounts}`, '--trial-duration=1s');
    await node.assign('good');
    await node.untilKept('good');
    expect(seen()).toMatch(/^root 77 region=eu unit=from-file info=\{"kind":"ExecCredential","apiVersion":.*\}$/m);
    expect(await node.machine.sh('ls /run/relet/commands')).toBe('');
    expect(node.output).not.toContain('PRIVATE KEY');
  });

  test('a program that fails is reported with its last line, and nothing is restarted for it', async () => {
    const node = await createNode();
    await node.usePlugin('echo no role for this instance >&2; exit 3');
    const invocation = await node.invocation();
    await node.machine.sh('mkdir -p /run/relet');
    const mounts = ['/var/lib/kubelet', '/etc/kubernetes', '/run/relet'].map((dir) => `-p BindPaths=${dir}`).join(' ');
    await node.startAs(`-E KUBERNETES_SERVICE_HOST=10.0.0.1 ${mounts}`);
    await node.until('reported', () => node.output.includes('with exit code 3: no role for this instance'));
    expect(await node.invocation()).toBe(invocation);
  });

  test('a drop-in that an operator reverts is reported, and comes back with relet node retry through the script on the host', async () => {
    const node = await createNode();
    await node.start('--trial-duration=1s');
    await node.assign('good');
    await node.untilKept('good');
    await node.machine.sh('rm /etc/systemd/system/kubelet.service.d/zz-relet-50-good.conf && systemctl daemon-reload');
    await node.until('noticed', () => node.conditionOf('UnitOK')?.reason === 'DropInRemoved');
    expect(node.status).toMatchObject({
      nextStart: 'local',
      config: { active: { configMap: { name: 'good' } } },
    });
    await node.rig.systemctl('restart', unit);
    await node.untilActive(undefined);
    expect(node.conditionOf('ConfigOK')?.reason).toBe('DropInRemoved');
    expect(await node.machine.sh('/var/lib/relet/bin/relet node status')).toContain('DropInRemoved');
    expect(await node.machine.sh('/var/lib/relet/bin/relet node retry')).toMatch(/^retry: done by relet/);
    await node.untilActive('good');
    await node.until('all is well', () => node.conditionOf('UnitOK')?.status === 'True');
  });

  test('a changed flag of the kubelet is found at its next start', async () => {
    const node = await createNode();
    await node.start('--trial-duration=1s');
    await node.untilActive(undefined);
    const flags = `KUBELET_KUBEADM_ARGS="--kubeconfig=${kubeconfig} --v=4"\n`;
    writeFileSync(node.machine.path('/var/lib/kubelet/kubeadm-flags.env'), flags);
    await node.rig.systemctl('restart', unit);
    await node.until('begun again', () => node.output.includes('command line changed'));
    await node.until('reported', () => node.status?.kubeletFlags?.some(({ name }) => name === 'v') === true);
  });

  test('relet detach --host takes everything off the host, with the agent and without it', async () => {
    const node = await createNode();
    const before = await node.rig.unitFiles();
    await node.start('--trial-duration=1s');
    await node.assign('good');
    await node.untilKept('good');
    expect(await node.machine.sh('/var/lib/relet/bin/relet detach --host')).toContain('detached:');
    // But for the socket of the agent that runs.
    expect((await node.rig.unitFiles()).replace(' relet ', ' ')).toBe(before);
    await node.assign('next');
    await node.machine.run(...relet, 'node', 'release');
    await node.untilKept('next');
    await node.stop();
    const { code, stdout, stderr } = await node.machine.run(...relet, 'detach', '--host');
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringContaining('detached:') });
    expect(await node.rig.unitFiles()).toBe(before);
    expect(node.rig.running()).toEqual([undefined]);
    expect((await node.machine.run('ls', '/var/lib/relet')).code).not.toBe(0);
  });

  test('the script takes relet off a host without an agent and without Node.js', async () => {
    const node = await createNode();
    const before = await node.rig.unitFiles();
    await node.start('--trial-duration=1s');
    await node.assign('good');
    await node.untilKept('good');
    await node.kill();
    const script = (words: string) => node.machine.sh(`/var/lib/relet/bin/relet ${words}`);
    expect(await script('node status')).toContain('relet:           not running on this host');
    await script('node use-local');
    await eventually('local', () => node.rig.running()[0] === undefined && node.rig.running().length === 1);
    await node.start();
    await node.until('held', () => node.status?.held !== undefined);
    await node.stop();
    await script('detach --host');
    expect(await node.rig.unitFiles()).toBe(before);
  });

  test('a node moves from relet kubelet to attached mode and back, with its records and one restart each', async () => {
    const node = await createNode();
    const wrapper = '/var/lib/kubelet/dynamic-config';
    const conf = node.machine.path(`/usr/lib/systemd/system/${unit}.d/10-kubeadm.conf`);
    const plain = readFileSync(conf, 'utf8');
    const wrapped = plain.replace(
      'ExecStart=/usr/bin/kubelet $',
      `ExecStart=${relet.join(' ')} kubelet --kubelet-binary=/usr/bin/kubelet --metrics-bind-address=0 --trial-duration=1s --dynamic-config-dir=${wrapper} $`,
    );
    const edit = async (text: string) => {
      writeFileSync(conf, text);
      await node.rig.systemctl('daemon-reload');
    };
    await edit(wrapped);
    await node.rig.systemctl('restart', unit);
    await node.assign('good');
    await node.untilKept('good');
    const refused = await node.machine.run(...relet, 'agent');
    expect({ ...refused, stderr: refused.stderr.replaceAll(/\s+/g, ' ') }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`--import=${wrapper}`),
    });
    await edit(plain);
    const starts = node.rig.starts().length;
    await node.start(`--import=${wrapper}`);
    await node.until('attached', () => node.status?.driver === 'systemd');
    await node.untilKept('good');
    // The config of the records is kept before the kubelet is restarted with it.
    await node.until('restarted', () => node.rig.starts().length > starts);
    await node.untilActive('good');
    expect(node.rig.starts().length - starts).toBe(1);
    await edit(wrapped);
    await node.stop();
    await node.machine.sh(`${relet.join(' ')} agent --export=${wrapper}`);
    await node.rig.systemctl('restart', unit);
    await node.until('back', () => node.status?.driver === 'process');
    await node.untilActive('good');
    expect(node.rig.starts().length - starts).toBe(2);
  });
});

const service = 'relet-agent.service';
const logFile = '/var/log/relet-agent.log';
const pluginDir = '/opt/plugins';

/** The kubelet's unit, the node in the cluster, and the agent as a service beside it. */
class Node {
  constructor(
    readonly machine: Machine,
    readonly rig: SystemdRig,
    readonly cluster: ClusterRig,
  ) {}

  start(...flags: string[]): Promise<void> {
    return this.startAs('', ...flags);
  }

  /** The kubelet's kubeconfig runs a program for its credential. Returns how to read what that has printed about itself. */
  async usePlugin(body = `cat ${pluginDir}/credential.json`): Promise<() => string> {
    const { machine } = this;
    const { clusters, users } = parse(readFileSync(machine.path(kubeconfig), 'utf8'));
    const [{ user }] = users;
    const pem = (field: string) => Buffer.from(user[field], 'base64').toString();
    const apiVersion = 'client.authentication.k8s.io/v1';
    const status = {
      clientCertificateData: pem('client-certificate-data'),
      clientKeyData: pem('client-key-data'),
      expirationTimestamp: new Date(Date.now() + 3_600_000).toISOString(),
    };
    mkdirSync(machine.path(pluginDir), { recursive: true });
    const credential = JSON.stringify({ kind: 'ExecCredential', apiVersion, status });
    writeFileSync(machine.path(`${pluginDir}/credential.json`), credential, { mode: 0o600 });
    const about = `echo "$(id -un) $(umask | tail -c 3) region=$REGION unit=$OF_UNIT info=$KUBERNETES_EXEC_INFO" >> /var/log/plugin`;
    writeFileSync(machine.path(`${pluginDir}/node-token`), `#!/bin/sh\n${about}\n${body}\n`, { mode: 0o755 });
    const dropIn = `[Service]\nEnvironment=PATH=${pluginDir}:/usr/bin:/bin\nEnvironmentFile=/etc/plugin.env\n`;
    writeFileSync(machine.path('/etc/plugin.env'), 'OF_UNIT=from-file\n');
    writeFileSync(machine.path(`/usr/lib/systemd/system/${unit}.d/20-plugin.conf`), dropIn);
    const env = [{ name: 'REGION', value: 'eu' }];
    const exec = { apiVersion, command: 'node-token', env, interactiveMode: 'Never' };
    const context = { cluster: clusters[0].name, user: 'node' };
    const contexts = [{ name: 'node', context }];
    const text = { clusters, contexts, 'current-context': 'node', users: [{ name: 'node', user: { exec } }] };
    writeFileSync(machine.path(kubeconfig), JSON.stringify(text));
    await this.rig.systemctl('daemon-reload');
    await this.rig.systemctl('restart', unit);
    return () => readFileSync(machine.path('/var/log/plugin'), 'utf8');
  }

  async startAs(properties: string, ...flags: string[]): Promise<void> {
    await this.machine.sh(`systemctl reset-failed ${service} 2>/dev/null; rm -f ${logFile}`);
    const how = `--quiet --unit=${service} ${properties} -p StandardOutput=append:${logFile} -p StandardError=append:${logFile}`;
    await this.machine.sh(`systemd-run ${how} ${relet.join(' ')} agent --metrics-bind-address=0 ${flags.join(' ')}`);
    onTestFinished(() => this.stop());
  }

  async stop(): Promise<void> {
    await this.machine.run('systemctl', 'stop', service);
  }

  /** As kill -9. */
  async kill(): Promise<void> {
    await this.machine.run('systemctl', 'kill', '--signal=KILL', service);
    await this.until('killed', async () => (await this.machine.run('systemctl', 'is-active', service)).code !== 0);
  }

  get output(): string {
    const path = this.machine.path(logFile);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  invocation(): Promise<string> {
    return this.rig.systemctl('show', '-p', 'InvocationID', unit);
  }

  get status() {
    return this.cluster.seen?.status as NodeConfigObjectStatus | undefined;
  }

  conditionOf(type: string) {
    return this.status?.conditions?.find((condition) => condition.type === type);
  }

  until(what: string, satisfied: () => boolean | Promise<boolean>): Promise<unknown> {
    return eventually(what, satisfied, { seen: () => [JSON.stringify(this.status, null, 1), this.output] });
  }

  async assign(name: string, ...lines: string[]): Promise<void> {
    await this.cluster.createConfigMap(name, { kubelet: config(this.rig.port, ...lines) });
    await this.cluster.point(name);
  }

  untilActive(name: string | undefined): Promise<unknown> {
    return this.until(
      `${name} is active`,
      () => this.cluster.config !== undefined && this.cluster.config.active?.configMap?.name === name,
    );
  }

  /** Last known good, for the agent and for the host. */
  untilKept(name: string): Promise<unknown> {
    return this.until(`${name} is kept`, async () => {
      const isKept = this.cluster.config?.lastKnownGood?.configMap?.name === name;
      return isKept && (this.status?.driver !== 'systemd' || (await this.rig.unitFiles()).includes('zz-relet-50-good'));
    });
  }
}

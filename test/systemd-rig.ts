/**
 * The systemd driver on a machine of its own: a kubelet's unit in the form of kubeadm, whose kubelet is test/fake-kubelet.mjs or the
 * hollow one. Each rig puts the machine back to how kubeadm left it.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Exit, StartedConfig } from '../src/agent/drivers/driver.js';
import { takeAgentLock } from '../src/agent/drivers/systemd/agent-lock.js';
import { detach } from '../src/agent/drivers/systemd/detach.js';
import {
  openSystemdDriver,
  type SystemdDriver,
  type SystemdDriverOptions,
} from '../src/agent/drivers/systemd/driver.js';
import { hostCommand } from '../src/agent/drivers/systemd/host-command.js';
import { type HostLayout, hostLayout, lockPath } from '../src/agent/drivers/systemd/host-layout.js';
import { OwnFiles } from '../src/agent/drivers/systemd/own-files.js';
import { connectSystemd, type Systemd } from '../src/agent/drivers/systemd/systemd.js';
import { withDropIn } from '../src/agent/embedded-drop-in.js';
import { openDirectory } from '../src/agent/state/directory.js';
import { systemClock } from '../src/clock.js';
import { createLog } from '../src/log.js';
import { systemProcesses } from '../src/proc.js';
import { systemRandom } from '../src/random.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import type { Conduct, DriverRig } from './rig/driver-contract.js';
import type { Machine } from './systemd-machine.js';

export const unit = 'kubelet.service';
/** In the unit of a kubelet inside k3s, or below RKE2. */
export const embeddings = {
  k3s: { program: 'k3s', configDir: '/var/lib/rancher/k3s/agent/etc/kubelet.conf.d' },
  rke2: { program: 'rke2', configDir: '/var/lib/rancher/rke2/agent/etc/kubelet.conf.d' },
} as const;
export const dir = '/var/lib/relet';
const localFile = '/var/lib/kubelet/config.yaml';
export const local: StartedConfig = { source: undefined, file: undefined };

const orders: Record<Conduct | 'hangs' | 'needs', string> = {
  runs: '',
  'exits with 3': '# exit 3',
  'ignores a stop': '# ignore SIGTERM',
  hangs: '# unhealthy',
  needs: '# needs /etc/needed',
};

const baseUnit = (restartSec: number) => `[Unit]
Description=kubelet: The Kubernetes Node Agent
[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=${restartSec}
TimeoutStopSec=5
[Install]
WantedBy=multi-user.target
`;
const kubeadmConf = (port: number) => `[Service]
Environment=FAKE_KUBELET_LOG=/var/log/starts
Environment="KUBELET_CONFIG_ARGS=--config=${localFile}"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS \\
  --healthz-port=${port} $KUBELET_KUBEADM_ARGS
`;

/** As their installers write it; k3s-agent and rke2-agent differ in nothing that counts here. */
const embeddingUnit = (program: string, port: number, restartSec: number) => `[Unit]
Description=Lightweight Kubernetes
[Install]
WantedBy=multi-user.target
[Service]
Type=notify
NotifyAccess=all
KillMode=process
Delegate=yes
TimeoutStartSec=0
TimeoutStopSec=5
Restart=always
RestartSec=${restartSec}
Environment=FAKE_KUBELET_LOG=/var/log/starts
ExecStartPre=-/bin/true
ExecStart=/usr/local/bin/${program} server --healthz-port=${port}
`;

const document = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const hollowKubelet = '#!/bin/sh\nexec /usr/bin/node /opt/relet/bin/relet.cjs hollow-kubelet "$@"\n';

export interface RigOptions {
  /** RestartSec of the unit. Default 10, as kubeadm has it. */
  restartSec?: number;
  healthDeadlineMs?: number;
  /** Default fake. starts() and running() are about that one only. */
  kubelet?: 'fake' | 'hollow';
  /** The program that the kubelet is a part of. Default none. */
  embedding?: keyof typeof embeddings;
}

interface Start {
  pid?: number;
  args?: string[];
  config: string;
  configFile?: string;
}

export class SystemdRig {
  readonly machine: Machine;
  readonly port: number;
  readonly #agentDir = mkdtempSync(join(tmpdir(), 'relet-attached-'));
  readonly unit: string;
  readonly #options: Required<Omit<RigOptions, 'embedding'>> & Pick<RigOptions, 'embedding'>;
  readonly logLines: string[] = [];
  readonly #log = createLog({ format: 'text', level: 'debug', write: (line) => this.logLines.push(line) });
  systemd!: Systemd;
  driver!: SystemdDriver;
  #configs = 0;
  #run: Promise<Exit> | undefined;
  /** Their pids mean other processes now. */
  #startsBeforeBoot = 0;

  private constructor(machine: Machine, port: number, options: RigOptions) {
    this.machine = machine;
    this.port = port;
    this.unit =
      options.embedding === undefined ? unit : `${options.embedding === 'k3s' ? 'k3s' : 'rke2-server'}.service`;
    this.#options = { restartSec: 10, healthDeadlineMs: 60_000, kubelet: 'fake', ...options };
  }

  static async create(machine: Machine, options: RigOptions = {}) {
    const rig = new SystemdRig(machine, await freePort(), options);
    onTestFinished(() => rig.#remove());
    rig.connect();
    await rig.#resetUnit();
    await rig.open();
    return rig;
  }

  /** To the machine as it is now: after a boot its sockets are others. */
  connect(): void {
    this.systemd = connectSystemd({ root: this.machine.root, clock: systemClock, log: this.#log });
  }

  async #resetUnit(): Promise<void> {
    const { machine, unit } = this;
    const { kubelet, embedding } = this.#options;
    await machine.run('systemctl', 'unmask', unit);
    await machine.run('systemctl', 'stop', 'kubelet.service', 'k3s.service', 'rke2-server.service');
    await machine.run('systemctl', 'disable', '-q', 'k3s.service', 'rke2-server.service');
    const flags = '/etc/api-away /etc/exits-with-0';
    await machine.sh(
      `rm -rf ${dir} /var/log/starts ${flags} /etc/systemd/system/${unit}.d /var/lib/kubelet /var/lib/rancher`,
    );
    await detach(this.systemd, new OwnFiles(this.layout, machine.root));
    mkdirSync(machine.path('/var/lib/kubelet'), { recursive: true });
    if (embedding === undefined) this.#installUnit();
    else this.#installEmbedding(embedding);
    if (kubelet === 'hollow') await this.#installHollow();
    else this.replaceBinary('v1.32.1');
    await machine.sh(`systemctl daemon-reload && systemctl enable -q ${unit} && systemctl restart ${unit}`);
    if (kubelet === 'fake') await this.untilRunning(local);
  }

  get layout(): HostLayout {
    const { embedding } = this.#options;
    return hostLayout({ unit: this.unit, dir, embedding: embedding && embeddings[embedding] });
  }

  #installUnit(): void {
    const { machine } = this;
    const unitDir = machine.path('/usr/lib/systemd/system');
    mkdirSync(join(unitDir, `${unit}.d`), { recursive: true });
    writeFileSync(join(unitDir, unit), baseUnit(this.#options.restartSec));
    writeFileSync(join(unitDir, `${unit}.d/10-kubeadm.conf`), kubeadmConf(this.port));
    writeFileSync(machine.path(localFile), document);
  }

  #installEmbedding(program: keyof typeof embeddings): void {
    const text = embeddingUnit(program, this.port, this.#options.restartSec);
    writeFileSync(this.machine.path(`/etc/systemd/system/${this.unit}`), text);
    this.#writeProgram(`/usr/local/bin/${program}`, readFileSync(join(import.meta.dirname, 'fake-k3s.mjs'), 'utf8'));
  }

  async #installHollow(): Promise<void> {
    const { machine } = this;
    const flags = `--address=127.0.0.1 --port=${await freePort()} --read-only-port=0 --cert-dir=/var/lib/kubelet/pki`;
    writeFileSync(machine.path('/var/lib/kubelet/kubeadm-flags.env'), `KUBELET_KUBEADM_ARGS="${flags}"\n`);
    this.#writeProgram('/usr/bin/kubelet', hollowKubelet);
  }

  /** A new agent on the same disk; the one before is closed, as a process that ends. */
  async open(options: Partial<SystemdDriverOptions> = {}): Promise<SystemdDriver> {
    await this.driver?.close();
    this.driver = await this.openAnother(options);
    return this.driver;
  }

  async openAnother(options: Partial<SystemdDriverOptions> = {}): Promise<SystemdDriver> {
    const { state, lock } = openDirectory({
      dir: join(this.#agentDir, 'state'),
      host: systemProcesses,
      log: this.#log,
    });
    lock.release();
    const { systemd, machine } = this;
    const { embedding } = this.#options;
    const { root } = machine;
    const agentLock = await takeAgentLock(machine.path(lockPath));
    const opened = openSystemdDriver({
      unit: this.unit,
      dir,
      embedding: embedding && embeddings[embedding],
      root,
      systemd,
      lock: agentLock,
      command: [this.binary],
      run: hostCommand({ systemd, random: systemRandom, root }),
      trial: { durationMs: 600_000, healthDeadlineMs: this.#options.healthDeadlineMs, failedStarts: 3 },
      fingerprint: (program) => {
        const found = existsSync(this.machine.path(program)) && readFileSync(this.machine.path(program), 'utf8');
        return found === false ? '' : found;
      },
      state,
      clock: systemClock,
      log: this.#log,
      ...options,
    });
    opened.catch(() => agentLock.release());
    return opened;
  }

  /** The machine is booted again, and then a new agent starts. */
  async reboot(how: 'reboot' | 'powerCycle' = 'reboot'): Promise<void> {
    await this.driver.close();
    this.systemd.close();
    this.#startsBeforeBoot = this.starts().length;
    await this.machine[how]();
    this.connect();
    await eventually('a kubelet runs', () => this.running().length === 1);
  }

  /** A config with which the kubelet behaves like this. Each is another one. */
  config(conduct: keyof typeof orders, name = `config-${++this.#configs}`): StartedConfig {
    const parent = mkdtempSync(join(this.#agentDir, 'checkpoint-'));
    const file = join(parent, 'kubelet');
    const text = `# file ${file}\n${orders[conduct]}\n${document}`;
    writeFileSync(file, this.#options.embedding === undefined ? text : withDropIn(document, text));
    chmodSync(file, 0o600);
    const source = { namespace: 'kube-system', name, uid: name, resourceVersion: '1', kubeletConfigKey: 'kubelet' };
    return { source: this.#options.embedding === undefined ? source : { ...source, mergedDigest: name }, file };
  }

  /** Every start so far. */
  starts(): Start[] {
    const path = this.machine.path('/var/log/starts');
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Start).filter(({ args }) => args !== undefined);
  }

  /** The config files of the kubelets that run, as config() named them; undefined for local. */
  running(): (string | undefined)[] {
    return this.starts()
      .slice(this.#startsBeforeBoot)
      .filter(({ pid }) => this.#isRunning(pid!))
      .map(({ config }) => /^# file (.*)$/m.exec(config)?.[1]);
  }

  #isRunning(pid: number): boolean {
    try {
      const stat = readFileSync(this.machine.path(`/proc/${pid}/stat`), 'utf8');
      return stat.includes('(node') && !/\) Z /.test(stat);
    } catch {
      return false;
    }
  }

  /** Starts it; the next stop() waits for its end. */
  begin(config: StartedConfig): void {
    this.#run = this.driver.start(config);
  }

  /** Starts it, after the run before, and waits until it runs. */
  async start(config: StartedConfig): Promise<StartedConfig> {
    await this.stop();
    const { driver } = this;
    this.begin(config);
    const hasPort = async () => (await driver.portOwners([{ host: '127.0.0.1', port: this.port }]))?.[0] === 'kubelet';
    const isHollow = this.#options.kubelet === 'hollow';
    const runs = () => (isHollow ? this.#hasConfig(config) : this.running()[0] === config.file);
    await eventually('the kubelet runs with the config', async () => (await runs()) && hasPort(), {
      seen: () => this.logLines.join(''),
    });
    return config;
  }

  /** By the command line of the main process. */
  async #hasConfig({ file }: StartedConfig): Promise<boolean> {
    const pid = await this.systemctl(`show --value -p MainPID ${this.unit}`);
    const words = readFileSync(this.machine.path(`/proc/${pid}/cmdline`), 'utf8').split('\0');
    const used = words.findLast((word) => word.startsWith('--config='))!.slice('--config='.length);
    const text = readFileSync(this.machine.path(used), 'utf8');
    return text === (file === undefined ? document : readFileSync(file, 'utf8'));
  }

  async stop(): Promise<void> {
    await this.driver.stop();
    await this.#run;
  }

  started(conduct: keyof typeof orders): Promise<StartedConfig> {
    return this.start(this.config(conduct));
  }

  /** The config is switched to, confirmed and kept. */
  async startAndKeep(config: StartedConfig): Promise<StartedConfig> {
    await this.start(config);
    await this.driver.unit.confirmHealthy();
    await this.driver.unit.keep(config);
    return config;
  }

  untilRunning({ file }: StartedConfig): Promise<unknown> {
    return this.until(
      'the kubelet runs with the config',
      () => this.running().length === 1 && this.running()[0] === file,
    );
  }

  untilRestarted(invocation: string): Promise<unknown> {
    return this.until('the kubelet is another one', async () => (await this.invocation()) !== invocation);
  }

  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<unknown> {
    return eventually(what, isSo, { seen: () => [...this.starts(), this.running(), ...this.logLines] });
  }

  untilNotice(reason: string): Promise<unknown> {
    return eventually(`notice ${reason}`, () => this.driver.unit.notices().some((notice) => notice.reason === reason), {
      seen: () => [this.driver.unit.notices(), ...this.logLines],
    });
  }

  systemctl(...args: string[]): Promise<string> {
    return this.machine.sh(`systemctl ${args.join(' ')}`);
  }

  /** InvocationID of the unit's last start. */
  invocation(): Promise<string> {
    return this.systemctl(`show --value -p InvocationID ${this.unit}`);
  }

  /** The timers of relet that have not elapsed. */
  timers(): Promise<string> {
    return this.systemctl('list-timers --no-legend relet-*');
  }

  get localFile(): string {
    return this.machine.path(localFile);
  }

  /** Everything of the unit that an operator sees. */
  unitFiles(): Promise<string> {
    return this.systemctl(`cat --no-pager ${this.unit}`);
  }

  /** Every file but logs and what systemd keeps about the processes of the moment, and every unit that relet could have made. */
  async everything(): Promise<string[]> {
    const prune = ['/var/log', '/run/log', '/run/systemd/units', '/run/systemd/journal', '/tmp', '/var/tmp'];
    const files = await this.machine.sh(
      `find /etc /run /usr /var ${prune.map((path) => `-path ${path} -prune -o`).join(' ')} -print`,
    );
    const units = await this.systemctl("list-units --all --plain --no-legend 'relet-*'");
    return [...files.split('\n').sort(), units];
  }

  /** The program that answers with its version. */
  get binary(): string {
    return this.#options.embedding === 'k3s' ? '/usr/local/bin/k3s' : kubeletOf(this.#options.embedding);
  }

  replaceBinary(version: string): void {
    const { embedding } = this.#options;
    const read = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8');
    const kubelet = read('fake-kubelet.mjs').replace("?? 'v1.32.1'", `?? '${version}'`);
    if (embedding !== 'k3s') {
      this.#writeProgram(this.binary, kubelet);
      return;
    }
    this.#writeProgram(this.binary, read('fake-k3s.mjs').replace("?? 'v1.36.4+k3s1'", `?? '${version}'`));
    this.#writeProgram('/usr/lib/fake-kubelet.mjs', kubelet);
  }

  #writeProgram(program: string, text: string): void {
    const path = this.machine.path(program);
    mkdirSync(dirname(path), { recursive: true });
    rmSync(path, { force: true });
    writeFileSync(path, text);
    chmodSync(path, 0o755);
  }

  async #remove(): Promise<void> {
    await this.driver?.close();
    this.systemd.close();
    rmSync(this.#agentDir, { recursive: true, force: true });
  }
}

const kubeletOf = (embedding: string | undefined) =>
  embedding === 'rke2' ? '/var/lib/rancher/rke2/bin/kubelet' : '/usr/bin/kubelet';

export async function contractRig(machine: Machine, options: RigOptions = {}): Promise<DriverRig> {
  const rig = await SystemdRig.create(machine, { restartSec: 1, ...options });
  return {
    driver: rig.driver,
    restartedDriver: () => rig.open(),
    config: (conduct) => rig.config(conduct),
    running: () => rig.running(),
    until: (satisfied) => eventually('as expected', satisfied, { seen: () => rig.logLines.join('') }),
    kill: (signal) => void rig.systemctl(`kill --signal=${signal} --kill-who=main ${rig.unit}`),
    port: { host: '127.0.0.1', port: rig.port },
    replaceBinary: (version) => rig.replaceBinary(version),
    removeBinary: () => rmSync(machine.path(rig.binary)),
    passGracePeriod: async () => {},
  };
}

/** The interface of a node under faults, and the faults that its drivers share. */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.js';
import { type Cluster, realCluster, tokenOf } from '../cluster/cluster.js';
import { eventually } from '../eventually.js';
import { Program, sendSignal } from '../program.js';
import { address, assets, processesOf } from '../real-kubelet-rig.js';
import { executable } from '../run-relet.js';

/** Begins a fault. Resolves with the function that ends it. */
export type BeginFault = () => Promise<() => unknown>;
type Faults = Record<string, BeginFault>;

export interface TorturedNode {
  description: string;
  cluster: Cluster;
  /** The first word of a name is the target, which has one fault at a time. */
  faults: Faults;
  /** A whole config like the local one, with these fields. */
  config(fields: Record<string, unknown>): string;
  /** Fields with which its kubelet crashes, hangs, finds its port taken or starves the host. */
  badFields: Record<string, Record<string, unknown>>;
  /** maxPods of the kubelet that runs; 110 for local. Throws unless there is one, which answers. */
  runs(): Promise<number>;
}

const run = promisify(execFile);
export const sh = async (line: string): Promise<string> => (await run('/bin/sh', ['-c', line])).stdout;

export const linesOf = (fields: Record<string, unknown>): string[] =>
  Object.entries(fields).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);

/** In /configz of the kubelet with this config; `pids` are those of all kubelets. */
export async function servedMaxPods(config: string, pids: readonly unknown[]): Promise<number> {
  if (pids.length !== 1) throw new Error(`${pids.length} kubelets run: ${pids}`);
  const port = /^port: (\d+)$/m.exec(config)![1];
  const header = `Authorization: Bearer ${tokenOf('admin')}`;
  return JSON.parse(await sh(`curl -sSkm 5 -H '${header}' https://${address}:${port}/configz`)).kubeletconfig.maxPods;
}

export const killOf =
  (pids: () => number[]): BeginFault =>
  async () => {
    for (const pid of pids()) sendSignal(pid, 'SIGKILL');
    return () => {};
  };

export const pauseOf =
  (pids: () => number[]): BeginFault =>
  async () => {
    const stopped = pids();
    for (const pid of stopped) sendSignal(pid, 'SIGSTOP');
    return () => stopped.map((pid) => sendSignal(pid, 'SIGCONT'));
  };

export function apiFaults(cluster: Cluster): Faults {
  const dir = dirname(cluster.kubeconfig('admin'));
  const apiserver = () => processesOf(join(assets, 'kube-apiserver'), `--cert-dir=${join(dir, 'certs')}`);
  return {
    'kube-apiserver down': async () => {
      await killOf(apiserver)();
      await cluster.stop();
      const restart = () => cluster.stop().then(cluster.start);
      // It exits if etcd does not answer meanwhile.
      return () => eventually('kube-apiserver is back', () => restart().then(() => true), { limitMs: 600_000 });
    },
    'kube-apiserver SIGSTOP': pauseOf(apiserver),
    'etcd SIGSTOP': pauseOf(() => processesOf(join(assets, 'etcd'), `--data-dir=${join(dir, 'etcd')}`)),
  };
}

/** A fault in a machine: two lines of shell, which `inside` runs. The machine may be booting when the fault ends. */
export const faultInside =
  (inside: (line: string) => Promise<unknown>, begin: string, end = ':'): BeginFault =>
  async () => {
    const ends = () => eventually(`done: ${end}`, () => inside(end).then(() => true), { limitMs: 600_000 });
    await inside(begin).catch(() => ends());
    return ends;
  };

/** Faults of the services and the disk of a machine of the form that kubeadm makes. */
export function machineFaults(inside: (line: string) => Promise<unknown>): Faults {
  const fault = (begin: string, end?: string) => faultInside(inside, begin, end);
  const readOnly = (dir: string) =>
    fault(
      `mount --bind ${dir} ${dir} && mount -o remount,bind,ro ${dir}`,
      `! mountpoint -q ${dir} || umount -l ${dir}`,
    );
  const services = ['relet-agent', 'kubelet', 'containerd'].map((unit): Faults => {
    const signal = (name: string) => `systemctl kill --kill-who=main --signal=${name} ${unit}`;
    return {
      [`${unit} kill -9`]: fault(signal('KILL')),
      [`${unit} SIGSTOP`]: fault(signal('STOP'), signal('CONT')),
      [`${unit} down`]: fault(`systemctl stop ${unit}`, `systemctl start ${unit}`),
    };
  });
  return {
    ...Object.assign({}, ...services),
    'disk full': fault('dd if=/dev/zero of=/fill bs=4k status=none || true', 'rm -f /fill'),
    'disk: /var/lib/relet read-only': readOnly('/var/lib/relet'),
    'disk: /etc read-only': readOnly('/etc'),
    'systemd daemon-reexec': fault('systemctl daemon-reexec'),
  };
}

/** etcd, kube-apiserver and relet's controller on this machine; `launch` starts more programs, whose logs are in `logDir`. */
export async function controlPlane(logDir: string) {
  const launch = (name: string, command: string, ...args: string[]) => {
    const service = new Service(name, () => new Program(command, args, { logFile: join(logDir, `${name}.log`) }));
    onTestFinished(() => service.down());
    return service;
  };
  const cluster = await realCluster(assets);
  onTestFinished(() => cluster.close());
  await cluster.kubectl('apply', '-k', join(import.meta.dirname, '../../deploy'));
  const identity = cluster.kubeconfig('system:serviceaccount:relet-system:relet-controller');
  const controller = [executable, 'controller', '--kubeconfig', identity, '--leader-elect'];
  const faults = { ...apiFaults(cluster), ...launch('controller', process.execPath, ...controller).faults };
  return { cluster, launch, faults };
}

/** A program that is started again a second after it exited, as systemd does. */
class Service {
  readonly faults: Faults;
  readonly #start: () => Program;
  #program!: Program;
  #isWanted = false;
  #running!: Promise<void>;

  constructor(name: string, start: () => Program) {
    this.#start = start;
    this.#up();
    const pids = () => (this.#program.exit === undefined ? [this.#program.pid] : []);
    this.faults = {
      [`${name} kill -9`]: killOf(pids),
      [`${name} SIGSTOP`]: pauseOf(pids),
      [`${name} down`]: async () => {
        await this.down();
        return () => this.#up();
      },
    };
  }

  #up(): void {
    this.#isWanted = true;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (this.#isWanted) {
      this.#program = this.#start();
      await this.#program.exited;
      if (this.#isWanted) await systemClock.sleep(1000);
    }
  }

  async down(): Promise<void> {
    this.#isWanted = false;
    await this.#program.end();
    await this.#running;
  }
}
